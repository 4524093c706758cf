#![expect(clippy::print_stdout, reason = "an example: it prints what the model says")]
//! Another agent than `Agent`, from the same parts: it asks, runs the calls of the answer one after
//! the other, and asks again until an answer has none.

use std::{error::Error, io::Write as _, sync::Arc};

use forgeline::{
    agent::tools::{ToolRegistry, validate},
    llm::demo::DemoProvider,
    prelude::*,
};

/// A model may be asked so many times.
const MAX_TURNS: u32 = 8;

/// Answers `prompt` with the help of `tools`.
async fn answer(
    provider: &dyn Provider,
    tools: &ToolRegistry,
    prompt: &str,
    mut on_event: impl FnMut(&AgentEvent),
) -> Result<String, Box<dyn Error>> {
    let mut request = Request::prompt(prompt);
    request.tools = tools.specs().cloned().collect();
    for _turn in 0..MAX_TURNS {
        let chunks = provider.stream_completion(request.clone()).await?;
        // Calls that a model writes as text are found too; their arguments are typed by the schemas.
        let schemas = tools.specs().map(|it| (it.name.clone(), it.parameters.clone()));
        let options = StreamOptions::default().schemas(schemas);
        let completion = process_stream(chunks, &options, |event| on_event(&event)).await;
        if let Some(error) = completion.error {
            return Err(error.into());
        }
        if completion.tool_calls.is_empty() {
            return Ok(completion.text);
        }
        let mut results = Vec::new();
        for call in &completion.tool_calls {
            let (content, is_error) = match run(tools, call).await {
                Ok(output) => (output.content, false),
                Err(error) => (error.to_string(), true),
            };
            let result =
                ToolResult::new(call.id.clone(), call.name.clone(), content).error(is_error);
            results.push(Part::ToolResult(result));
        }
        request.messages.push(completion.into_message());
        request.messages.push(Message::new(MessageRole::Tool, results));
    }
    Err(format!("there is no answer after {MAX_TURNS} turns").into())
}

/// Runs one call; what is wrong with it is told to the model.
async fn run(tools: &ToolRegistry, call: &ToolCall) -> Result<ToolOutput, ToolError> {
    let tool = tools.get(&call.name).ok_or_else(|| ToolError::failed("there is no such tool"))?;
    match (&call.outcome, &call.arguments) {
        (CallOutcome::Complete, Some(arguments)) => {
            validate(&tool.schema(), &arguments.to_value())?;
            tool.execute(ToolContext::default(), arguments.clone()).await
        }
        _ => Err(ToolError::failed("the call is not whole; write it again")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut tools = ToolRegistry::default();
    tools.register(Arc::new(Calculator))?;
    let show = |event: &AgentEvent| {
        print!("{}", event.text());
        std::io::stdout().flush().unwrap_or_default();
    };
    answer(&DemoProvider::new(), &tools, "What is 6 times 7?", show).await?;
    println!();
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use serde_json::json;

    use super::*;

    async fn answered(turns: impl IntoIterator<Item = ScriptedTurn>) -> (String, String) {
        let mut tools = ToolRegistry::default();
        tools.register(Arc::new(Calculator)).unwrap();
        let provider = ScriptedProvider::new(turns);
        let text = answer(&provider, &tools, "6 times 7?", |_| {}).await.unwrap();
        let requests = provider.requests();
        let told = requests.last().and_then(|request| request.messages.last().cloned());
        let result = told.and_then(|told| told.tool_results().next().map(|it| it.content.clone()));
        (text, result.unwrap_or_default())
    }

    #[tokio::test]
    async fn calls_run_however_the_model_writes_them() {
        let call = json!({ "expression": "6 * 7" });
        let written = r#"<tool_call>{"name": "calculator", "arguments": {"expression": "6 * 7"}}</tool_call>"#;
        for turn in
            [ScriptedTurn::new().call("calculator", call), ScriptedTurn::new().text(written)]
        {
            let (text, result) = answered([turn, ScriptedTurn::new().text("It is 42.")]).await;
            assert_eq!((text.as_str(), result.as_str()), ("It is 42.", "42"));
        }
    }

    #[tokio::test]
    async fn a_call_that_cannot_run_is_told_to_the_model() {
        let cases = [
            (ScriptedTurn::new().call("oracle", json!({})), "there is no such tool"),
            (ScriptedTurn::new().call("calculator", json!({})), "`expression` is missing"),
        ];
        for (turn, want) in cases {
            let (_, result) = answered([turn, ScriptedTurn::new().text("Sorry.")]).await;
            assert!(result.contains(want), "{result}");
        }
    }
}
