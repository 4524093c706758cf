#![expect(clippy::print_stdout, reason = "an example: it prints the answer")]
//! A run that is put away, as text, and finished by another one, which may be in another process.

use std::error::Error;

use forgeline::{agent::journal::MemoryJournal, llm::demo::DemoProvider, prelude::*};

/// Returns the conversation of the journal, with an agent that is never ahead of its reader.
fn conversation(
    provider: impl Provider + 'static,
    journal: MemoryJournal,
) -> Result<Conversation, BuildError> {
    let agent = Agent::builder(provider).tool(Calculator).event_capacity(1).build()?;
    Ok(agent.conversation().with_journal(journal))
}

/// Begins a run, and puts it away at the first event of this kind.
async fn put_away(
    provider: impl Provider + 'static,
    prompt: &str,
    kind: &str,
) -> Result<String, BuildError> {
    let journal = MemoryJournal::default();
    let mut run = conversation(provider, journal.clone())?.run_stream(prompt);
    while let Some(envelope) = run.next().await {
        if envelope.event.kind() == kind {
            break;
        }
    }
    drop(run);
    Ok(journal.to_string())
}

/// Finishes the run that was put away.
async fn finish(
    provider: impl Provider + 'static,
    kept: &str,
    mut on_event: impl FnMut(&AgentEvent),
) -> Result<RunOutcome, Box<dyn Error>> {
    let run = conversation(provider, MemoryJournal::from(kept))?.resume_stream().await?;
    let mut run = run.ok_or("the run had ended")?;
    while let Some(envelope) = run.next().await {
        on_event(&envelope.event);
    }
    Ok(run.outcome().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Between the turns, and in the middle of the answer.
    for kind in ["tool_result", "message_content"] {
        let kept = put_away(DemoProvider::new(), "What is 6 * 7?", kind).await?;
        println!("{} lines are kept", kept.lines().count());
        let outcome = finish(DemoProvider::new(), &kept, |_| {}).await?;
        println!("{}", outcome.text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::{
        agent::notice::Notice,
        testing::{ScriptedProvider, ScriptedTurn},
        types::ErrorCode,
    };
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn another_agent_ends_it_as_if_nothing_had_happened() {
        let call = || ScriptedTurn::new().call("calculator", json!({ "expression": "6 * 7" }));
        let answer = || ScriptedTurn::new().text("It is ").text("42.");
        let whole = ScriptedProvider::new([call(), answer()]);
        let whole =
            conversation(whole, MemoryJournal::default()).unwrap().run("6 * 7?").await.unwrap();
        for kind in ["tool_result", "message_content"] {
            let provider = ScriptedProvider::new([call(), answer()]);
            let kept = put_away(provider, "6 * 7?", kind).await.unwrap();
            let mut restarts = 0;
            let note = |event: &AgentEvent| {
                let is_one = matches!(Notice::read(event), Some(Notice::AnswerRestarted(_)));
                restarts += u32::from(is_one);
            };
            let outcome = finish(ScriptedProvider::new([answer()]), &kept, note).await.unwrap();
            assert_eq!(outcome.messages, whole.messages, "{kind}");
            assert_eq!(restarts, 1, "{kind}");
        }
    }

    #[tokio::test]
    async fn the_demo_model_goes_on_from_any_place() {
        for kind in
            ["update_busy", "thinking_content", "tool_call", "tool_result", "message_content"]
        {
            let kept = put_away(DemoProvider::new(), "What is 6 * 7?", kind).await.unwrap();
            let outcome = finish(DemoProvider::new(), &kept, |_| {}).await.unwrap();
            assert_eq!(outcome.text, "6 * 7 = 42", "{kind}");
        }
    }

    #[tokio::test]
    async fn what_was_edited_is_refused() {
        let kept = put_away(DemoProvider::new(), "What is 6 * 7?", "tool_result").await.unwrap();
        let edited = MemoryJournal::from(kept.replacen("6 * 7", "6 * 8", 1).as_str());
        let error = conversation(DemoProvider::new(), edited).unwrap().resume().await.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::Journal);
        assert!(error.to_string().contains("was edited"), "{error}");
    }
}
