#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example: it prints")]
//! The server half of a calculator in the page; the browser half is `client_tool/page.js`.
//! Lines of JSON go both ways, events out and results in, where a service has HTTP.

use std::{
    error::Error,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    thread,
};

use forgeline::{
    agent::{access::AllowList, run::Surface, tools::ClientTool},
    llm::demo::DemoProvider,
    prelude::*,
    types::ClientReturn,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the page reads it")]
struct Calculate {
    /// Numbers and `+ - * /`, which are pressed from left to right.
    expression: String,
}

#[derive(Deserialize)]
struct Answer {
    client_call_id: String,
    #[serde(flatten)]
    result: ClientReturn,
}

/// Runs `prompt` with the tools of a page, which reads events and writes results.
async fn serve(
    provider: impl Provider + 'static,
    prompt: &str,
    mut page: impl Write,
    results: impl BufRead + Send + 'static,
) -> Result<RunOutcome, Box<dyn Error>> {
    let tool = |name, what| ClientTool::typed::<Calculate>(name, what).module("tools");
    let agent = Agent::builder(provider)
        .tool(tool("calculator", "Calculates, in the page of the user."))
        .tool(tool("calculator.keep", "Keeps a result in the calculator's memory."))
        .authorizer(AllowList::default().on_page("calculator", ["calculator"]))
        .build()?;
    let input = RunInput::from(prompt).surface(Surface::FullPage).page("calculator");
    let mut run = agent.run_stream(input);
    let calls = run.client_calls();
    thread::spawn(move || {
        let take = |line: &str| -> Result<(), Box<dyn Error>> {
            let Answer { client_call_id, result } = serde_json::from_str(line)?;
            Ok(calls.complete(&client_call_id, result)?)
        };
        for line in results.lines().map_while(Result::ok) {
            take(&line).unwrap_or_else(|error| eprintln!("a result was refused: {error}"));
        }
    });
    while let Some(envelope) = run.next().await {
        writeln!(page, "{}", serde_json::to_string(&envelope)?)?;
        page.flush()?;
    }
    Ok(run.outcome().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut page = Command::new("node");
    page.arg("docs/examples/client_tool/page.js").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut page = page.spawn()?;
    let (events, results) = page.stdin.take().zip(page.stdout.take()).ok_or("no pipes")?;
    let outcome = serve(DemoProvider::new(), "What is 6 * 7?", events, BufReader::new(results));
    println!("{}", outcome.await?.text);
    page.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{env, io};

    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use serde_json::json;

    use super::*;

    fn provider(calls: ScriptedTurn) -> ScriptedProvider {
        ScriptedProvider::new([calls, ScriptedTurn::new().text("Done.")])
    }

    fn results(outcome: &RunOutcome) -> Vec<String> {
        let results = outcome.messages.iter().flat_map(|message| message.tool_results());
        results.map(|result| result.content.clone()).collect()
    }

    #[tokio::test]
    async fn the_page_calculates_and_says_what_it_cannot() {
        let node = Command::new("node")
            .arg("docs/examples/client_tool/page.js")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut page) = node else {
            assert!(env::var_os("FORGELINE_REQUIRE_NODE").is_none(), "`node` does not start");
            println!("SKIPPED: `node` does not start, so the browser half was not run");
            return;
        };
        let (events, answers) = page.stdin.take().zip(page.stdout.take()).unwrap();
        let calls = ScriptedTurn::new()
            .call("calculator", json!({ "expression": "6 * 7" }))
            .call("calculator", json!({ "expression": "6 of 7" }));
        let outcome = serve(provider(calls), "6 * 7?", events, BufReader::new(answers)).await;
        let results = results(&outcome.unwrap());
        assert_eq!(results[0], "42");
        assert!(results[1].contains("`6 of 7` is not a calculation"), "{results:?}");
        assert!(page.wait().unwrap().success());
    }

    #[tokio::test]
    async fn a_call_that_the_page_does_not_have_is_denied_and_not_sent() {
        let calls = ScriptedTurn::new().call("calculator.keep", json!({ "expression": "42" }));
        let mut events = Vec::new();
        let outcome = serve(provider(calls), "Keep it.", &mut events, io::empty()).await.unwrap();
        let results = results(&outcome);
        assert!(results[0].contains("was denied") && results[0].contains("not on the list"));
        let events = String::from_utf8(events).unwrap();
        assert!(!events.contains("client_tool_request"), "{events}");
    }
}
