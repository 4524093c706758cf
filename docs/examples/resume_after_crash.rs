#![expect(clippy::print_stdout, reason = "an example: it prints what it does")]
//! A run that survives `kill -9`: what it does is in a file before it counts, and the next process goes on from there. A call that may have run does not
//! run twice.

use std::{error::Error, fs::OpenOptions, io::Write as _, path::Path};

use forgeline::{agent::journal::FileJournal, llm::anthropic::Anthropic, prelude::*};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Payment {
    /// The number of the invoice.
    invoice: String,
}

/// Returns a tool that pays an invoice: it adds a line to the ledger of the bank.
fn pay(ledger: &Path) -> impl Tool + use<> {
    // A tool that may run twice would say `.idempotent()`, and would be run again after a crash.
    tool_with("pay", "Pays an invoice.", ledger.to_owned(), async |ledger, run, it: Payment| {
        let bank = OpenOptions::new().create(true).append(true).open(ledger.as_path());
        if let Err(error) = bank.and_then(|mut bank| writeln!(bank, "{}", it.invoice)) {
            return Err(ToolError::failed(format!("the bank does not answer: {error}")));
        }
        run.output("the bank has the payment").await;
        Ok(format!("{} is paid", it.invoice))
    })
}

/// Works on a task in a folder, or goes on with the one that a crash has interrupted there.
async fn work(
    provider: impl Provider + 'static,
    folder: &Path,
    task: &str,
    mut on_event: impl FnMut(&AgentEvent),
) -> Result<String, Box<dyn Error>> {
    let tool = pay(&folder.join("ledger"));
    // It is never ahead of what was shown of it.
    let agent = Agent::builder(provider).tool(tool).event_capacity(1).build()?;
    let journal = FileJournal::new(folder.join("journal"));
    let conversation = agent.conversation().with_journal(journal);
    let mut run = match conversation.resume_stream().await? {
        Some(interrupted) => interrupted,
        None if conversation.transcript().is_empty() => conversation.run_stream(task),
        // It had ended; only its answer was not shown.
        None => {
            return Ok(conversation
                .transcript()
                .iter()
                .last()
                .map(|it| it.text())
                .unwrap_or_default());
        }
    };
    while let Some(envelope) = run.next().await {
        on_event(&envelope.event);
    }
    Ok(run.outcome().await?.text)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join("forgeline-payments");
    std::fs::create_dir_all(&folder)?;
    let show = |event: &AgentEvent| println!("{}", event.kind());
    println!("{}", work(Anthropic::from_env()?, &folder, "Pay the invoice A-17.", show).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        env, fs,
        io::{self, BufRead as _, BufReader},
        path::PathBuf,
        process::{Child, Command, Stdio},
    };

    use forgeline::{
        llm::Request,
        testing::{ScriptedProvider, ScriptedTurn},
    };
    use serde_json::json;

    use super::*;

    const TASK: &str = "Pay the invoice A-17.";

    /// Returns a model that pays the invoice, and then says what it was told of the payment. The same request has the same answer in each process.
    fn model() -> ScriptedProvider {
        ScriptedProvider::from_fn(|request: &Request| {
            let results = request.messages.iter().flat_map(|message| message.tool_results());
            match results.last() {
                Some(result) => {
                    ScriptedTurn::new().text("The bank: ").text(result.content.as_str())
                }
                None => ScriptedTurn::new().call("pay", json!({ "invoice": "A-17" })),
            }
        })
    }

    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("forgeline-crash-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// As a process of its own, it waits for a line of input after each event.
    #[tokio::test]
    async fn a_process_that_is_not_killed_pays_once() {
        let given = env::var_os("FORGELINE_EXAMPLE_FOLDER").map(PathBuf::from);
        let folder = given.clone().unwrap_or_else(|| folder("undisturbed"));
        let step = |event: &AgentEvent| {
            println!("event {}", event.kind());
            if given.is_some() {
                io::stdin().read_line(&mut String::new()).unwrap();
            }
        };
        assert_eq!(work(model(), &folder, TASK, step).await.unwrap(), "The bank: A-17 is paid");
        assert_eq!(fs::read_to_string(folder.join("ledger")).unwrap(), "A-17\n");
        fs::remove_dir_all(folder).unwrap();
    }

    /// Starts this program as a process of its own.
    fn start(folder: &Path) -> Child {
        Command::new(env::current_exe().unwrap())
            .args(["--exact", "tests::a_process_that_is_not_killed_pays_once", "--nocapture"])
            .env("FORGELINE_EXAMPLE_FOLDER", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    #[tokio::test]
    async fn killed_at_any_event_the_next_process_finishes_and_nothing_is_paid_twice() {
        let mut interrupted = 0;
        for moment in 0.. {
            let folder = folder(&moment.to_string());
            let mut child = start(&folder);
            let (mut go, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let lines = BufReader::new(out).lines().map(Result::unwrap);
            let mut events = lines.filter(|line| line.starts_with("event "));
            let reached = events.by_ref().take(moment).filter(|_| writeln!(go).is_ok()).count();
            let Some(event) = events.next().filter(|_| reached == moment) else {
                assert!(child.wait().unwrap().success());
                assert!(moment > 8, "killed at {moment} events only");
                assert!((1..moment).contains(&interrupted), "{interrupted} of {moment}");
                return;
            };
            child.kill().unwrap();
            child.wait().unwrap();

            let answer = work(model(), &folder, TASK, |_| {}).await.unwrap();
            let paid = fs::read_to_string(folder.join("ledger")).unwrap_or_default();
            if answer == "The bank: A-17 is paid" {
                assert_eq!(paid, "A-17\n", "{event}");
            } else {
                interrupted += 1;
                assert!(answer.contains("This call was interrupted"), "{event}: {answer}");
                assert!(["", "A-17\n"].contains(&paid.as_str()), "{event}: {paid}");
            }
            fs::remove_dir_all(folder).unwrap();
        }
    }
}
