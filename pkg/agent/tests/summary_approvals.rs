//! Conversations that are summed up while a person is asked about a call.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::{whole::assert_history_is_whole, *};
use crate::{
    approval::Decision,
    notice::{CONTEXT_SUMMARIZED, SubAgentEvent},
    tools::ToolEffects,
};
use forgeline_llm::Request;
use forgeline_types::{ApprovalRequest, MessageRole};

const MOST: u64 = 2_400;

fn is_for_summary(request: &Request) -> bool {
    request.system.as_deref().is_some_and(|system| system.starts_with("You shorten"))
}

/// A model that plays `first`, then looks at long things so many times, and answers; it writes short summaries.
fn looking(first: Option<ScriptedTurn>, looks: usize, answer: &'static str) -> ScriptedProvider {
    let (mut first, mut made) = (first, 0);
    ScriptedProvider::from_fn(move |request: &Request| {
        if is_for_summary(request) {
            return ScriptedTurn::new().text("They look.");
        }
        if let Some(first) = first.take() {
            return first;
        }
        made += 1;
        if made > looks {
            return ScriptedTurn::new().text(answer);
        }
        ScriptedTurn::new().call("look", json!({ "text": format!("{made} ").repeat(60) }))
    })
}

/// An agent with a window that is summed up, and a tool that fills it.
fn summed_up(provider: &ScriptedProvider) -> AgentBuilder {
    let look = tool_fn("look", "Looks.", |_: ToolContext, it: Echo| async move { it.text });
    let builder = Agent::builder(provider.clone()).system("Be brief.").max_turns(99);
    builder.tool(look.may_repeat()).max_context_tokens(MOST).summarize_at(60)
}

/// A tool that removes something, which a person is asked about.
fn remove(removed: &Arc<AtomicUsize>) -> impl crate::tools::Tool + use<> {
    let removed = Arc::clone(removed);
    let remove = tool_fn("remove", "Removes it.", move |_: ToolContext, _: Nothing| {
        removed.fetch_add(1, Ordering::SeqCst);
        std::future::ready("removed")
    });
    remove.effects(ToolEffects::Irreversible)
}

/// The request for approval in an event, of this run or of one below.
fn asked(event: &AgentEvent) -> Option<ApprovalRequest> {
    match event {
        AgentEvent::ToolApprovalRequest(request) => Some((**request).clone()),
        event => asked(&SubAgentEvent::read(event)?.envelope.event),
    }
}

fn is_summary(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Custom(CustomEvent { name, .. }) if name == CONTEXT_SUMMARIZED)
}

/// Each request for an answer has the calls of an answer directly before their results, and fits.
fn assert_whole_requests(provider: &ScriptedProvider) {
    for request in provider.requests().iter().filter(|it| !is_for_summary(it)) {
        assert!(forgeline_llm::TokenEstimator::new().request(request) <= MOST);
        let mut open = Vec::new();
        for message in &request.messages {
            let results: Vec<_> = message.tool_results().map(|it| it.call_id.clone()).collect();
            assert_eq!(results, open);
            open = message.tool_calls().map(|it| it.id.clone()).collect();
        }
        assert_eq!(request.messages.messages()[0].role, MessageRole::User);
        let texts = request.messages.iter().map(|message| message.text());
        assert!(texts.collect::<String>().contains("Look at it all."), "what the user wants");
    }
}

/// A call waits for a person while the agent beside it in the same answer goes on, is summed up twice, and ends.
#[tokio::test(start_paused = true)]
async fn a_call_waits_for_approval_while_an_agent_beside_it_is_summed_up() {
    let removed = Arc::<AtomicUsize>::default();
    let below = looking(None, 20, "Looked.");
    let task = json!({ "task": "Look at it all." });
    let first = ScriptedTurn::new().call("remove", json!({})).call("below", task);
    // And the run itself is summed up behind them.
    let above = looking(Some(first), 20, "Done.");
    let helper = summed_up(&below).build().unwrap().into_tool("below", "Helps.");
    let agent =
        summed_up(&above).tool(remove(&removed)).tool(helper).build().unwrap().conversation();
    let mut stream = agent.run_stream("Look at it all.");
    let (approvals, mut open, mut summaries) = (stream.approvals(), None, (0, 0));
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolApprovalRequest(request) = &envelope.event {
            open = Some(request.approval_id.clone());
        }
        if let Some(below) = SubAgentEvent::read(&envelope.event) {
            summaries.0 += usize::from(open.is_some() && is_summary(&below.envelope.event));
            if summaries.0 == 2
                && let Some(id) = open.take()
            {
                assert_eq!((removed.load(Ordering::SeqCst), approvals.open().len()), (0, 1));
                approvals.answer(&id, Decision::Grant).unwrap();
            }
        }
        summaries.1 += usize::from(is_summary(&envelope.event));
        events.push(envelope);
    }
    assert_whole(&events);
    assert_eq!(stream.outcome().await.unwrap().text, "Done.");
    assert!(summaries.0 >= 2 && summaries.1 > 0, "{summaries:?}");
    assert_eq!(removed.load(Ordering::SeqCst), 1, "it ran once, behind the approval");
    let transcript = agent.transcript();
    let results: Vec<_> = transcript.messages()[2].tool_results().map(|it| &*it.content).collect();
    assert_eq!(results, ["removed", "Looked."], "in the order of the calls");
    assert_history_is_whole(&agent);
    assert_whole_requests(&above);
    assert_whole_requests(&below);
    assert_no_task_left().await;
}

/// An agent in the background waits for a person while the run that asked it goes on and is summed up, the call that began
/// the agent included.
#[tokio::test(start_paused = true)]
async fn a_run_is_summed_up_while_an_agent_in_the_background_waits_for_approval() {
    for (decision, want) in [(Decision::Grant, 1), (Decision::reject("no"), 0)] {
        let removed = Arc::<AtomicUsize>::default();
        let below = ScriptedProvider::new([
            ScriptedTurn::new().call("remove", json!({})),
            ScriptedTurn::new().text("It was looked after."),
        ]);
        let helper = Agent::builder(below.clone()).tool(remove(&removed)).build().unwrap();
        let begin = json!({ "task": "Do it.", "background": true });
        let mut first = Some(ScriptedTurn::new().call("below", begin));
        let (mut made, mut has_asked) = (0, false);
        let above = ScriptedProvider::from_fn(move |request: &Request| {
            let last = request.messages.last().map(|it| it.text()).unwrap_or_default();
            if is_for_summary(request) {
                return ScriptedTurn::new().text("`below-1` works, they look.");
            }
            if let Some(first) = first.take() {
                return first;
            }
            made += 1;
            if made <= 30 {
                let text = format!("{made} ").repeat(60);
                return ScriptedTurn::new().call("look", json!({ "text": text }));
            }
            if !std::mem::replace(&mut has_asked, true) {
                let ask = json!({ "agent": "below-1", "wait_seconds": 60 });
                return ScriptedTurn::new().call("below_result", ask);
            }
            assert!(!last.contains("You shorten"));
            ScriptedTurn::new().text("Done.")
        });
        let agent = summed_up(&above).tools(helper.into_tool("below", "Helps.").in_background());
        let agent = agent.build().unwrap().conversation();
        let mut stream = agent.run_stream("Look at it all.");
        let (approvals, mut open, mut during, mut events) =
            (stream.approvals(), None, 0, Vec::new());
        while let Some(envelope) = stream.next().await {
            if let Some(request) = asked(&envelope.event) {
                open = Some(request.approval_id);
            }
            if open.is_some() && is_summary(&envelope.event) {
                during += 1;
                assert_eq!((approvals.open().len(), removed.load(Ordering::SeqCst)), (1, 0));
            }
            if during == 2
                && let Some(id) = open.take()
            {
                approvals.answer(&id, decision.clone()).unwrap();
            }
            events.push(envelope);
        }
        assert_whole(&events);
        assert_eq!(stream.outcome().await.unwrap().text, "Done.");
        assert!(during >= 2, "two summaries in a row while it is open: {during}");
        assert_eq!(removed.load(Ordering::SeqCst), want);
        let result = agent.transcript().iter().flat_map(|it| it.tool_results()).last().cloned();
        assert_eq!(
            result.unwrap().content,
            "It was looked after.",
            "its report comes all the same"
        );
        let read: Vec<_> = below.requests()[1].messages.iter().map(|it| it.role).collect();
        assert_eq!(read, [MessageRole::User, MessageRole::Assistant, MessageRole::Tool]);
        assert_history_is_whole(&agent);
        assert_whole_requests(&above);
        assert_no_task_left().await;
    }
}
