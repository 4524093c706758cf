//! The time for which sub-agents wait for people.

use std::sync::Arc;

use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::{
    RunStream,
    approval::{ApprovalPolicy, Decision},
    journal::MemoryJournal,
    sub_agents::SubAgent,
    tools::{ClientTool, Question},
};
use forgeline_types::{ClientReturn, Message, ToolAnswer};

/// The time for which people are waited for, longer than any limit.
const LONG: Duration = Duration::from_mins(25);

/// The limit of a call of a sub-agent.
const LIMIT: Duration = Duration::from_mins(2);

#[derive(Deserialize, JsonSchema)]
struct Seconds {
    seconds: u64,
}

/// An agent whose tools wait for people in each way, and its first answer.
fn deep(first: ScriptedTurn) -> AgentBuilder {
    let provider = ScriptedProvider::new([first, ScriptedTurn::new().text("Below.")]);
    let ask = tool_fn("ask", "Asks.", async |context: ToolContext, _: Nothing| {
        format!("{:?}", context.ask(Question::form("Who?", json!({ "type": "object" }))).await)
    });
    let works = tool_fn("works", "Works.", async |_: ToolContext, it: Seconds| {
        sleep(Duration::from_secs(it.seconds)).await;
        "worked"
    });
    let risky = tool_fn("risky", "Acts.", async |_: ToolContext, _: Nothing| "acted");
    Agent::builder(provider)
        .approval(ApprovalPolicy::Tools(["risky".into()].into()))
        .approval_timeout(Duration::from_hours(2))
        .client_timeout(Duration::from_hours(2))
        .tool_timeout(Duration::from_hours(2))
        .tool(ask)
        .tool(works)
        .tool(risky)
        .tool(ClientTool::new("pick", "Picks.", json!({ "type": "object" })))
}

fn ask(name: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(name, json!({ "task": "Do it." }))
}

fn middle(deep: SubAgent) -> SubAgent {
    let provider = ScriptedProvider::new([ask("deep"), ScriptedTurn::new().text("Middle.")]);
    let middle = Agent::builder(provider).tool(deep).build().unwrap();
    middle.into_tool("middle", "Helps.").timeout(LIMIT)
}

/// Answers everything that is open, after a long time.
fn answer(stream: &RunStream, after: Duration) -> impl Future<Output = ()> + use<> {
    let (questions, approvals, calls) =
        (stream.questions(), stream.approvals(), stream.client_calls());
    async move {
        sleep(after).await;
        for open in questions.open() {
            questions.answer(&open.question_id, ToolAnswer::Decline).unwrap();
        }
        for open in approvals.open() {
            approvals.answer(&open.approval_id, Decision::Grant).unwrap();
        }
        for open in calls.open() {
            let content = "picked".to_owned();
            calls.complete(&open.client_call_id, ClientReturn::from(content)).unwrap();
        }
    }
}

/// Returns the seconds that a run has left out of its time.
fn waited(journal: &MemoryJournal) -> u64 {
    let lines = journal.lines();
    let waited = lines.iter().filter_map(|line| line.split_once("\"waited_ms\":"));
    let digits =
        |rest: &str| rest.split_once(|it: char| !it.is_ascii_digit()).unwrap().0.to_owned();
    waited.map(|(_, rest)| digits(rest).parse::<u64>().unwrap()).sum::<u64>() / 1_000
}

fn results(messages: &[Arc<Message>]) -> String {
    let results = messages.iter().flat_map(|it| it.tool_results());
    results.map(|result| result.content.clone()).collect()
}

// Rows: N-45
#[tokio::test(start_paused = true)]
async fn a_wait_for_people_two_levels_down_is_not_the_time_of_those_above() {
    let call = |name: &str| ScriptedTurn::new().call(name, json!({}));
    let beside = |seconds: u64| call("ask").call("works", json!({ "seconds": seconds }));
    let (long, in_time) = (LONG.as_secs(), "Middle.");
    let rows = [
        ("a question", call("ask"), long, in_time),
        ("an approval", call("risky"), long, in_time),
        ("a call at the client", call("pick"), long, in_time),
        (
            "all at once",
            call("ask").call("risky", json!({})).call("pick", json!({})),
            long,
            in_time,
        ),
        ("another tool works for a part of it", beside(60), long - 60, in_time),
        ("another tool works for too long", beside(600), 0, "no result after 120s"),
        (
            "none waits",
            ScriptedTurn::new().call("works", json!({ "seconds": 600 })),
            0,
            "no result after 120s",
        ),
    ];
    for (name, turn, want, result) in rows {
        let deep = deep(turn).build().unwrap().into_tool("deep", "Helps.").timeout(2 * LIMIT);
        let provider = ScriptedProvider::new([ask("middle"), ScriptedTurn::new().text("Done.")]);
        let journal = MemoryJournal::default();
        let agent = Agent::builder(provider).tool(middle(deep)).build().unwrap();
        let mut stream = agent.conversation().with_journal(journal.clone()).run_stream("Go.");
        let answered = answer(&stream, LONG);
        tokio::join!(answered, async { while stream.next().await.is_some() {} });
        let outcome = stream.outcome().await.unwrap();
        let results = results(&outcome.messages);
        assert_eq!(outcome.text, "Done.", "{name}");
        assert!(results.contains(result), "{name}: {results}");
        assert_eq!(waited(&journal), want, "{name}");
    }
}

// Rows: N-45
#[tokio::test(start_paused = true)]
async fn a_background_agent_that_waits_for_people_has_its_own_time_left() {
    for (name, seconds, want) in
        [("it waits", 0, "Below."), ("it works", 600, "no result after 120s")]
    {
        let turn = match seconds {
            0 => ScriptedTurn::new().call("ask", json!({})),
            _ => ScriptedTurn::new().call("works", json!({ "seconds": seconds })),
        };
        let deep = deep(turn).build().unwrap().into_tool("deep", "Helps.").timeout(LIMIT);
        let began = json!({ "task": "Do it.", "background": true });
        let report = || json!({ "agent": "deep-1", "wait_seconds": 60 });
        let wait = json!({ "seconds": LONG.as_secs() });
        let provider = ScriptedProvider::new([
            ScriptedTurn::new().call("deep", began),
            ScriptedTurn::new().call("works", wait),
            ScriptedTurn::new().call("deep_result", report()),
            ScriptedTurn::new().text("Done."),
        ]);
        let works = tool_fn("works", "Works.", async |_: ToolContext, it: Seconds| {
            sleep(Duration::from_secs(it.seconds)).await;
            "worked"
        });
        let agent = Agent::builder(provider).tool(works).tools(deep.in_background());
        let agent = agent.tool_timeout(Duration::from_hours(2)).build().unwrap();
        let mut stream = agent.run_stream("Go.");
        let answered = answer(&stream, LONG);
        tokio::join!(answered, async { while stream.next().await.is_some() {} });
        let outcome = stream.outcome().await.unwrap();
        let results = results(&outcome.messages);
        assert!(results.contains(want), "{name}: {results}");
    }
}

/// A run that is dropped while it waits leaves the clock of the call above it running.
#[tokio::test(start_paused = true)]
async fn a_call_that_gives_up_its_waiting_agent_works_again() {
    let turn = ScriptedTurn::new().call("ask", json!({}));
    let below = deep(turn).build().unwrap();
    let tool = tool_fn("tries", "Tries.", move |context: ToolContext, _: Nothing| {
        let tool = below.clone().into_tool("deep", "Helps.");
        async move {
            let arguments = json!({ "task": "Do it." }).into();
            let tried = crate::tools::Tool::execute(&tool, context, arguments);
            let gave_up = timeout(Duration::from_mins(5), tried).await.is_err();
            sleep(Duration::from_mins(5)).await;
            format!("gave up: {gave_up}")
        }
    });
    let turn = ScriptedTurn::new().call("tries", json!({}));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]);
    let agent = Agent::builder(provider).tool(tool).tool_timeout(LIMIT).build().unwrap();
    let (mut stream, began) = (agent.run_stream("Go."), Instant::now());
    while stream.next().await.is_some() {}
    assert_eq!(began.elapsed().as_secs(), (Duration::from_mins(5) + LIMIT).as_secs());
    assert_eq!(stream.outcome().await.unwrap().text, "Done.");
}
