#![expect(clippy::print_stdout, reason = "an example: it prints what the model says")]
//! A run that is steered twice: once while its tools work, and once more for when it would end.

use std::{error::Error, sync::Arc};

use forgeline::{agent::tools::ToolFuture, llm::demo::DemoProvider, prelude::*, types::Json};
use serde_json::Value;
use tokio::sync::Semaphore;

/// A calculator that takes its time: it waits until the user has spoken.
struct SlowCalculator(Arc<Semaphore>);

impl Tool for SlowCalculator {
    fn name(&self) -> &'static str {
        "calculator"
    }

    fn description(&self) -> &'static str {
        "Calculates an expression."
    }

    fn schema(&self) -> Value {
        Calculator.schema()
    }

    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture {
        let has_spoken = Arc::clone(&self.0);
        Box::pin(async move {
            // Calls are tasks of their own and do not wait for the reader of the run's events.
            let _spoken = has_spoken.acquire().await;
            Calculator.execute(context, arguments).await
        })
    }
}

/// Runs `prompt`; says `otherwise` while a tool works, and `then` for the end.
async fn steered(
    provider: impl Provider + 'static,
    [prompt, otherwise, then]: [&str; 3],
) -> Result<RunOutcome, Box<dyn Error>> {
    let has_spoken = Arc::new(Semaphore::new(0));
    let tool = SlowCalculator(Arc::clone(&has_spoken));
    let agent = Agent::builder(provider).tool(tool).build()?;
    let mut run = agent.run_stream(prompt);
    let steering = run.steering();
    while let Some(envelope) = run.next().await {
        if matches!(envelope.event, AgentEvent::ToolCall(_)) && !has_spoken.is_closed() {
            steering.steer(otherwise)?;
            steering.follow_up(then)?;
            has_spoken.close();
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

    // Rows: N-48
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn both_messages_reach_the_model_in_their_place() {
        for round in 0..200 {
            let call = json!({ "expression": "6 * 7" });
            let provider = ScriptedProvider::new([
                ScriptedTurn::new().call("calculator", call),
                ScriptedTurn::new().text("In words: forty-two."),
                ScriptedTurn::new().text("You are welcome."),
            ]);
            // A task of the runtime: the run moves between its threads, as in a service.
            let run = tokio::spawn(async {
                steered(provider, ["6 * 7?", "In words.", "Thanks."]).await.unwrap()
            });
            let outcome = run.await.unwrap();
            let texts: Vec<_> = outcome.messages.iter().map(|message| message.text()).collect();
            #[rustfmt::skip]
            let want = ["6 * 7?", "", "", "In words.", "In words: forty-two.", "Thanks.", "You are welcome."];
            assert_eq!(texts, want, "round {round}");
            assert!(outcome.undelivered.is_empty());
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn the_demo_model_answers_what_was_said_meanwhile() {
        let said = ["What is 6 * 7?", "What is 2 + 3?", "What is 1 + 1?"];
        let outcome = steered(DemoProvider::new(), said).await.unwrap();
        assert!(outcome.text.contains("1 + 1 = 2"), "{}", outcome.text);
        let texts: String = outcome.messages.iter().map(|message| message.text()).collect();
        assert!(texts.contains("2 + 3 = 5"), "{texts}");
        assert!(outcome.undelivered.is_empty());
    }
}
