#![expect(clippy::print_stdout, reason = "an example: it prints what the model says")]
//! A run that is steered twice: once while its tools work, and once more for when it would end.

use std::error::Error;

use forgeline::{
    agent::{DefaultAgent, RunOutcome, tools::Calculator},
    llm::{Provider, demo::DemoProvider},
    types::AgentEvent,
};

/// Runs `prompt`; says `otherwise` once a tool works, and `then` for the end.
async fn steered(
    provider: impl Provider + 'static,
    [prompt, otherwise, then]: [&str; 3],
) -> Result<RunOutcome, Box<dyn Error>> {
    let agent = DefaultAgent::builder(provider).tool(Calculator).build()?;
    let mut run = agent.run_stream(prompt);
    let steering = run.steering();
    let mut is_said = false;
    while let Some(envelope) = run.next().await {
        if matches!(envelope.event, AgentEvent::ToolCall { .. }) && !is_said {
            steering.steer(otherwise)?;
            steering.follow_up(then)?;
            is_said = true;
        }
    }
    Ok(run.outcome().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let said = ["What is 6 * 7?", "What is 2 + 3?", "What is 1 + 1?"];
    let outcome = steered(DemoProvider::new(), said).await?;
    for message in &outcome.messages {
        println!("{:?}: {}", message.role, message.text());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn both_messages_reach_the_model_in_their_place() {
        let call = json!({ "expression": "6 * 7" });
        let provider = ScriptedProvider::new([
            ScriptedTurn::new().call("calculator", call),
            ScriptedTurn::new().text("In words: forty-two."),
            ScriptedTurn::new().text("You are welcome."),
        ]);
        let outcome = steered(provider, ["6 * 7?", "In words.", "Thanks."]).await.unwrap();
        let texts: Vec<_> = outcome.messages.iter().map(|message| message.text()).collect();
        let want =
            ["6 * 7?", "", "", "In words.", "In words: forty-two.", "Thanks.", "You are welcome."];
        assert_eq!(texts, want);
        assert!(outcome.undelivered.is_empty());
    }

    #[tokio::test]
    async fn the_demo_model_answers_what_was_said_meanwhile() {
        let said = ["What is 6 * 7?", "What is 2 + 3?", "What is 1 + 1?"];
        let outcome = steered(DemoProvider::new(), said).await.unwrap();
        assert!(outcome.text.contains("1 + 1 = 2"), "{}", outcome.text);
        let texts: String = outcome.messages.iter().map(|message| message.text()).collect();
        assert!(texts.contains("2 + 3 = 5"), "{texts}");
        assert!(outcome.undelivered.is_empty());
    }
}
