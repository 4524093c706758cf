#![expect(clippy::print_stdout, reason = "an example: it prints the answer")]
//! A run that is put away while a person is asked, answered by a second process, and finished by a third. What
//! goes from one to the next is text.

use std::error::Error;

use forgeline::{agent::journal::MemoryJournal, llm::demo::DemoProvider, prelude::*};

/// Returns the conversation of the journal, with an agent that is never ahead of its reader.
fn conversation(
    provider: impl Provider + 'static,
    journal: MemoryJournal,
) -> Result<Conversation, BuildError> {
    let builder = Agent::builder(provider).tool(Calculator).approval(ApprovalPolicy::Always);
    Ok(builder.event_capacity(1).build()?.conversation().with_journal(journal))
}

/// Begins a run, and puts it away at the first request for approval.
async fn ask(
    provider: impl Provider + 'static,
    prompt: &str,
) -> Result<(String, ApprovalRequest), Box<dyn Error>> {
    let journal = MemoryJournal::default();
    let mut run = conversation(provider, journal.clone())?.run_stream(prompt);
    while let Some(envelope) = run.next().await {
        if let AgentEvent::ToolApprovalRequest(request) = envelope.event {
            drop(run);
            return Ok((journal.to_string(), *request));
        }
    }
    Err("nothing was to be approved".into())
}

/// Answers the request of this id, and puts the run away once the call has its result.
async fn answer(
    provider: impl Provider + 'static,
    kept: &str,
    approval_id: &str,
    decision: Decision,
) -> Result<String, Box<dyn Error>> {
    let journal = MemoryJournal::from(kept);
    let run = conversation(provider, journal.clone())?.resume_stream().await?;
    let mut run = run.ok_or("the run had ended")?;
    let approvals = run.approvals();
    let mut decision = Some(decision);
    while let Some(envelope) = run.next().await {
        match envelope.event.kind() {
            "tool_approval_request" => {
                let decision = decision.take().ok_or("asked twice")?;
                approvals.answer(approval_id, decision)?;
            }
            "tool_result" | "tool_result_error" => break,
            _ => {}
        }
    }
    drop(run);
    Ok(journal.to_string())
}

/// Finishes the run.
async fn finish(provider: impl Provider + 'static, kept: &str) -> Result<String, Box<dyn Error>> {
    let outcome = conversation(provider, MemoryJournal::from(kept))?.resume().await?;
    Ok(outcome.ok_or("the run had ended")?.text)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (kept, request) = ask(DemoProvider::new(), "What is 6 * 7?").await?;
    let kept = answer(DemoProvider::new(), &kept, &request.approval_id, Decision::Grant).await?;
    println!("{}", finish(DemoProvider::new(), &kept).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use serde_json::json;

    use super::*;

    fn model(turns: impl IntoIterator<Item = ScriptedTurn>) -> ScriptedProvider {
        ScriptedProvider::new(turns)
    }

    fn call() -> ScriptedTurn {
        ScriptedTurn::new().call("calculator", json!({ "expression": "6 * 7" }))
    }

    #[tokio::test]
    async fn three_processes_do_what_one_would_do() {
        let said = || ScriptedTurn::new().text("It is 42.");
        for (decision, result) in
            [(Decision::Grant, "42"), (Decision::reject("no sums today"), "no sums today")]
        {
            let (kept, request) = ask(model([call()]), "6 * 7?").await.unwrap();
            assert_eq!(request.arguments.as_str(), r#"{"expression":"6 * 7"}"#);
            let kept = answer(model([]), &kept, &request.approval_id, decision).await.unwrap();
            let third = model([said()]);
            assert_eq!(finish(third.clone(), &kept).await.unwrap(), "It is 42.");
            let requests = third.requests();
            let results = requests[0].messages.iter().flat_map(|it| it.tool_results());
            assert!(results.map(|it| &it.content).all(|text| text.contains(result)));
        }
    }

    #[tokio::test]
    async fn an_answer_to_another_request_is_refused() {
        let (kept, _) = ask(model([call()]), "6 * 7?").await.unwrap();
        let (_, other) = ask(model([call()]), "6 * 7?").await.unwrap();
        let error = answer(model([]), &kept, &other.approval_id, Decision::Grant).await;
        assert!(error.is_err());
    }

    #[tokio::test]
    async fn the_demo_model_goes_on_in_three_processes() {
        let (kept, request) = ask(DemoProvider::new(), "What is 6 * 7?").await.unwrap();
        let grant = Decision::Grant;
        let kept = answer(DemoProvider::new(), &kept, &request.approval_id, grant).await.unwrap();
        assert_eq!(finish(DemoProvider::new(), &kept).await.unwrap(), "6 * 7 = 42");
    }
}
