//! Runs three deep that are cancelled, dropped and steered wherever they stand, with a process and a server at the bottom.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::whole::{assert_history_is_whole, assert_whole};
use super::*;
use forgeline_agent::{
    OutcomeKind, RunOutcome, RunStream, notice::SubAgentEvent, steering::Steering,
    sub_agents::Places, tools::CommandTool,
};
use forgeline_types::{AgentEvent, Envelope, ErrorCode, ToolCallEvent};

const SAID: &str = "Otherwise.";

/// An act upon a run.
#[derive(Clone, Copy)]
enum Act {
    Cancel,
    Drop,
    Say(fn(&Steering)),
    SayAndCancel,
}

const ACTS: [Act; 6] = [
    Act::Cancel,
    Act::Drop,
    Act::Say(|steering| drop(steering.steer(SAID))),
    Act::Say(|steering| drop(steering.steer_now(SAID))),
    Act::Say(|steering| drop(steering.follow_up(SAID))),
    Act::SayAndCancel,
];

/// The part that never ends by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hangs {
    Nothing,
    Command,
    Server,
}

/// A chat, two agents below each other, and at the bottom one with a command and a server.
struct Nested {
    agent: Conversation,
    providers: [ScriptedProvider; 3],
    places: Places,
    /// The calls that the server works on.
    open: Arc<AtomicUsize>,
    /// Marks the process by its arguments.
    mark: String,
}

fn ask(name: &str) -> ScriptedTurn {
    ScriptedTurn::new().text("Ask.").call(name, json!({ "task": "Go." }))
}

fn text(text: &'static str) -> ScriptedTurn {
    ScriptedTurn::new().text(text)
}

impl Nested {
    async fn new(hangs: Hangs, has_command: bool) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        // More seconds than any test waits, which tell this process from others.
        let mark = format!("61.{:06}{number:06}", std::process::id());
        let seconds = if hangs == Hangs::Command { mark.as_str() } else { "0" };
        let (servers, scripted) = greeted(json!({ "command": "x" })).await;
        let open = Arc::<AtomicUsize>::default();
        tokio::spawn(serve(scripted, Arc::clone(&open), hangs != Hangs::Server));
        let places = Places::new(2);
        let command = ScriptedTurn::new()
            .text("Now.")
            .call("command.run", json!({ "command": ["sleep", seconds] }));
        let call = ScriptedTurn::new().call("mcp.s.f", json!({}));
        // Before the call: what a server says takes permissions back.
        let turns = has_command.then_some(command).into_iter().chain([call, text("Third.")]);
        let third = ScriptedProvider::new(turns);
        let second = ScriptedProvider::new([ask("third"), text("Second.")]);
        let more = ["More.", "Still more."].map(text);
        let first = ScriptedProvider::new([ask("second"), text("First.")].into_iter().chain(more));
        let deep = Agent::builder(third.clone())
            .tool(CommandTool::new(std::env::temp_dir(), ["sleep"]).unwrap())
            .tool_source(servers)
            .grant(["mcp.s.f", "command.run"]);
        let deep = deep.build().unwrap().into_tool("third", "").places(&places);
        let middle = Agent::builder(second.clone()).tool(deep).build().unwrap();
        let middle = middle.into_tool("second", "").places(&places);
        let agent = Agent::builder(first.clone()).tool(middle).build().unwrap().conversation();
        Self { agent, providers: [first, second, third], places, open, mark }
    }

    /// Reads the events of a run, and does something behind the event of this number. Returns `None` when the run is
    /// over before.
    async fn run(&self, at: usize, act: Act, is_at_work: impl Fn(&Self) -> bool) -> Option<()> {
        let mut stream = self.agent.run_stream("Go.");
        let mut events = Vec::new();
        while events.len() < at {
            events.push(stream.next().await?);
        }
        until(|| is_at_work(self)).await;
        let (steering, cancel) = (stream.steering(), stream.cancel_token());
        match act {
            Act::Drop => {
                drop(stream);
                return Some(());
            }
            Act::Cancel => cancel.cancel(),
            Act::Say(say) => say(&steering),
            Act::SayAndCancel => {
                drop(steering.steer(SAID));
                cancel.cancel();
            }
        }
        while let Some(envelope) = timeout(LONG, stream.next()).await.expect("the run hangs") {
            events.push(envelope);
        }
        self.check(act, &events, &outcome(stream).await);
        Some(())
    }

    fn check(&self, act: Act, events: &[Envelope], outcome: &RunOutcome) {
        assert_whole(events);
        assert_history_is_whole(&self.agent);
        let is_cancelled = matches!(act, Act::Cancel | Act::SayAndCancel);
        if let OutcomeKind::Failed { error, .. } = &outcome.reason {
            assert!(is_cancelled && error.code == ErrorCode::Cancelled, "{error}");
        }
        let here = outcome.messages.iter().filter(|message| message.text() == SAID).count();
        let back = outcome.undelivered.iter().filter(|message| message.text() == SAID).count();
        assert!(here + back <= 1, "it is said once");
        let last = outcome.messages.last().map(|message| message.text()).unwrap_or_default();
        assert!(is_cancelled || last != SAID, "an answer follows");
    }

    /// Checks that nothing goes on: no answer, no call of the server, no process, and, without the agent, no task.
    async fn assert_nothing_is_left(self) {
        let Self { agent, providers, places, open, mark } = self;
        until(|| {
            let answers: usize = providers.iter().map(ScriptedProvider::open_streams).sum();
            (answers, places.free(), open.load(Ordering::SeqCst)) == (0, 2, 0)
        })
        .await;
        until(|| !is_running(&mark)).await;
        drop(agent);
        until(|| tokio::runtime::Handle::current().metrics().num_alive_tasks() == 0).await;
    }
}

async fn outcome(stream: RunStream) -> RunOutcome {
    match stream.outcome().await {
        Ok(outcome) => outcome,
        Err(failed) => *failed.outcome,
    }
}

/// Answers calls, unless they are cancelled first; those that it never answers must be.
async fn serve(mut scripted: Scripted, open: Arc<AtomicUsize>, answers: bool) {
    while let Ok(Some(line)) = scripted.lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let result = match request["method"].as_str() {
            Some("tools/list") => json!({ "tools": [listed("f")] }),
            Some("tools/call") => {
                open.fetch_add(1, Ordering::SeqCst);
                let work = async {
                    if !answers {
                        std::future::pending::<()>().await;
                    }
                    for _ in 0..16 {
                        tokio::task::yield_now().await;
                    }
                };
                let heard = tokio::select! {
                    biased;
                    heard = scripted.lines.next_line() => Some(heard),
                    () = work => None,
                };
                open.fetch_sub(1, Ordering::SeqCst);
                match heard {
                    None => json!({ "content": [{ "type": "text", "text": "done" }] }),
                    Some(Ok(Some(line))) => {
                        assert!(line.contains("notifications/cancelled"), "{line}");
                        continue;
                    }
                    Some(_) => return,
                }
            }
            _ => continue,
        };
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        if scripted.to.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Waits until this is so.
async fn until(is_so: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "it is never so");
        tokio::task::yield_now().await;
    }
}

/// Returns `true` while there is a process with this mark in its arguments.
fn is_running(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|arguments| arguments.windows(mark.len()).any(|part| part == mark.as_bytes()))
}

/// Returns how many events a run has until the tool of this name begins; of the whole run, when none does.
async fn events_until(nested: &Nested, tool: &str) -> usize {
    let mut stream = nested.agent.run_stream("Go.");
    let mut count = 0;
    while let Some(envelope) = stream.next().await {
        count += 1;
        let mut event = envelope.event;
        while let Some(below) = SubAgentEvent::read(&event) {
            event = below.envelope.event;
        }
        if matches!(&event, AgentEvent::ToolCall(ToolCallEvent { tool_name, .. }) if tool_name == tool)
        {
            break;
        }
    }
    count
}

async fn everywhere(has_command: bool) {
    let whole = Nested::new(Hangs::Nothing, has_command).await;
    let count = events_until(&whole, "").await;
    whole.assert_nothing_is_left().await;
    assert!(count > 50, "{count} events");
    for act in ACTS {
        for at in 0..count {
            let nested = Nested::new(Hangs::Nothing, has_command).await;
            // A run may have fewer events than another one of its kind: answers beside each other are joined.
            nested.run(at, act, |_| true).await;
            nested.assert_nothing_is_left().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nested_runs_are_cancelled_dropped_and_steered_at_every_event() {
    Box::pin(everywhere(false)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nested_runs_are_cancelled_dropped_and_steered_at_every_event_on_several_threads() {
    Box::pin(everywhere(true)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_process_and_a_request_at_the_bottom_end_with_the_run_above() {
    for (hangs, tool) in [(Hangs::Command, "command.run"), (Hangs::Server, "mcp.s.f")] {
        let whole = Nested::new(hangs, true).await;
        let count = events_until(&whole, tool).await;
        whole.assert_nothing_is_left().await;
        let is_at_work = move |nested: &Nested| match hangs {
            Hangs::Command => is_running(&nested.mark),
            Hangs::Server | Hangs::Nothing => nested.open.load(Ordering::SeqCst) == 1,
        };
        for act in [Act::Cancel, Act::Drop, Act::SayAndCancel] {
            let nested = Nested::new(hangs, true).await;
            nested.run(count, act, is_at_work).await.unwrap();
            nested.assert_nothing_is_left().await;
        }
    }
}
