//! The runs that all contracts of the loop are tried on.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_core::future::BoxFuture;

use super::*;
use crate::Conversation;
use crate::{
    RunStream,
    approval::{ApprovalContext, ApprovalPolicy, Decision},
    config::{CallMode, CallStart},
    journal::Journal,
    steering::Steering,
    tools::ClientTool,
};
use forgeline_llm::{Provider, StreamChunk, ToolCallDelta};
use forgeline_types::{FinishReason, Json, Preview};

/// A run, from its answers to what the user says meanwhile.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) turns: fn() -> Vec<ScriptedTurn>,
    setup: fn(AgentBuilder) -> AgentBuilder,
    /// The words of the user before the first event.
    pub(super) say: &'static [fn(&Steering)],
}

/// An agent for a scenario, and what its tools do.
pub(super) struct World {
    pub(super) provider: ScriptedProvider,
    pub(super) builder: AgentBuilder,
    pub(super) journal: Option<Arc<dyn Journal>>,
    /// The executions of each call, by its key.
    pub(super) ran: Executions,
    /// The executions under way.
    pub(super) alive: Arc<AtomicUsize>,
}

pub(super) type Executions = Arc<Mutex<BTreeMap<String, usize>>>;

/// The behaviour of a tool before its work.
pub(super) type Fault = fn() -> BoxFuture<'static, ()>;

/// The preview of a call.
pub(super) type Previews = fn() -> BoxFuture<'static, Result<Preview, ToolError>>;

/// A difference from the scenario.
#[derive(Clone, Copy, Default)]
pub(super) struct Twist {
    pub(super) tools: Option<Fault>,
    pub(super) model: Option<fn(ScriptedProvider) -> Arc<dyn Provider>>,
    pub(super) previews: Option<Previews>,
}

/// Counts an execution as alive until it is dropped.
struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Deserialize, JsonSchema)]
struct Work {
    text: String,
}

impl Scenario {
    /// Returns an agent whose model gives these answers, with tools that are alike but for their order.
    pub(super) fn world(&self, turns: Vec<ScriptedTurn>, is_idempotent: bool) -> World {
        self.twisted_world(turns, is_idempotent, Twist::default())
    }

    /// Returns an agent for the whole scenario, with answers for those who say more.
    pub(super) fn long_world(&self) -> World {
        let more = ["More.", "Still more.", "Enough."].map(|text| ScriptedTurn::new().text(text));
        self.world((self.turns)().into_iter().chain(more).collect(), true)
    }

    /// Returns an agent whose tools or model do something else.
    pub(super) fn twisted_world(
        &self,
        turns: Vec<ScriptedTurn>,
        is_idempotent: bool,
        twist: Twist,
    ) -> World {
        let provider = ScriptedProvider::new(turns);
        let (ran, alive) = (Executions::default(), Arc::<AtomicUsize>::default());
        let tool = |name, work: fn(String) -> Result<String, ToolError>| {
            let (ran, alive) = (Arc::clone(&ran), Arc::clone(&alive));
            let tool = tool_fn(name, "Works.", move |context: ToolContext, it: Work| {
                alive.fetch_add(1, Ordering::SeqCst);
                let living = Alive(Arc::clone(&alive));
                *ran.lock().unwrap().entry(context.idempotency_key()).or_default() += 1;
                async move {
                    tokio::task::yield_now().await;
                    if let Some(fault) = twist.tools {
                        fault().await;
                    }
                    drop(living);
                    work(it.text)
                }
            });
            let tool = match twist.previews {
                Some(preview) => tool.previewed_by(move |_: ToolContext, _: Work| preview()),
                None => tool,
            };
            if is_idempotent { tool.idempotent() } else { tool }
        };
        let model: Arc<dyn Provider> = match twist.model {
            Some(wrap) => wrap(provider.clone()),
            None => Arc::new(provider.clone()),
        };
        let builder = Agent::builder(model)
            .system("Be brief.")
            .loop_breaking_tools(true)
            .tool(tool("work", Ok))
            .tool(tool("fail", |text| Err(ToolError::failed(format!("no {text}")))))
            .tool(tool("alone", Ok).alone());
        World { provider, builder: (self.setup)(builder), journal: None, ran, alive }
    }
}

impl World {
    pub(super) fn agent(&self) -> Conversation {
        let conversation = self.builder.clone().build().unwrap().conversation();
        match &self.journal {
            Some(journal) => conversation.with_journal(Arc::clone(journal)),
            None => conversation,
        }
    }

    /// Checks that no task, no tool and no answer goes on.
    pub(super) async fn assert_nothing_is_left(&self) {
        assert_no_task_left().await;
        assert_eq!((self.alive.load(Ordering::SeqCst), self.provider.open_streams()), (0, 0));
    }
}

fn work(turn: ScriptedTurn, text: &str) -> ScriptedTurn {
    turn.call("work", json!({ "text": text }))
}

/// The name of the scenario whose calls begin while their answer goes on.
pub(super) const EARLY: &str = "calls that begin while their answer goes on";

/// The name of the scenario in which a person is asked about each call.
pub(super) const ASKED: &str = "calls that a person allows, changes and refuses";

/// The name of the scenario in which the client runs calls.
pub(super) const AT_CLIENT: &str =
    "calls that the client runs, beside others and behind a question";

/// Adds a call that the provider runs itself, once it is allowed.
pub(super) fn hosted(turn: ScriptedTurn, text: &str) -> ScriptedTurn {
    let arguments = json!({ "text": text }).to_string();
    let mut delta = ToolCallDelta::new(7).id(format!("ask-{text}")).name("docs:ask");
    (delta.arguments, delta.hosted, delta.ended) = (arguments.into(), true, true);
    turn.chunk(StreamChunk::calls([delta]))
}

/// Runs a call as the client does, at once; one that comes again is run again.
pub(super) fn as_client(stream: &RunStream, envelope: &Envelope) {
    if let AgentEvent::ClientToolRequest(request) = &envelope.event {
        let result = format!("client {}", request.arguments);
        // A run that was cancelled meanwhile does not take it.
        drop(stream.complete_client_call(&request.client_call_id, result));
    }
}

/// The answers of the first, where of one only so many calls came.
pub(super) fn early_turns(kept: Option<(usize, usize)>) -> Vec<ScriptedTurn> {
    let turn = |number: usize, before: &str, calls: [(&str, &str); 3], behind: &str| {
        let count = kept.filter(|(turn, _)| *turn == number).map(|(_, calls)| calls);
        let mut turn = ScriptedTurn::new();
        if !before.is_empty() {
            turn = turn.text(before);
        }
        for (name, text) in calls.into_iter().take(count.unwrap_or(calls.len())) {
            turn = turn.call(name, json!({ "text": text }));
        }
        // A native call ends with what comes next that is no part of it: the last with the answer.
        let is_whole = count.is_none_or(|count| count == calls.len());
        if is_whole && !behind.is_empty() { turn.text(behind) } else { turn }
    };
    let first = [("work", "one"), ("work", "two"), ("nope", "")];
    let second = [("work", "three"), ("alone", "b"), ("work", "four")];
    let last = ScriptedTurn::new().text("It is ").text("done.");
    vec![turn(1, "Let me see.", first, " And more."), turn(2, "", second, ""), last]
}

/// The scenarios: each way that a loop goes on, and each way that it ends.
pub(super) const SCENARIOS: [Scenario; 10] = [
    Scenario {
        name: "calls beside each other, refused ones, an end by a tool",
        turns: || {
            let first = ScriptedTurn::new().thinking("Hm, ").thinking("well.").text("Let me ");
            let second = ScriptedTurn::new().call("nope", json!({})).call("work", json!({}));
            let third = work(ScriptedTurn::new(), "a").call("alone", json!({ "text": "b" }));
            let last = ScriptedTurn::new().text("So.");
            vec![
                work(work(first.text("see."), "one"), "two").call("fail", json!({ "text": "way" })),
                second,
                work(third, "c"),
                work(last.call("task_completion", json!({ "result": "It is done." })), "never"),
            ]
        },
        setup: |builder| builder,
        say: &[],
    },
    Scenario {
        name: "calls in text, thinking in tags",
        turns: || {
            let call = r#"<tool_call>{"name": "work", "arguments": {"text": "one"}}</tool_call>"#;
            let other = call.replace("work", "alone");
            vec![
                ScriptedTurn::new().text("<think>Hm.</think>Let me see.\n").text(call),
                ScriptedTurn::new().text(format!("{call}\n{other}")),
                ScriptedTurn::new().text("<think>So.</think>It is ").text("done."),
            ]
        },
        setup: |builder| builder.call_mode(CallMode::Text),
        say: &[],
    },
    Scenario {
        name: "steered twice",
        turns: || {
            vec![
                work(ScriptedTurn::new().text("Let me see."), "one"),
                ScriptedTurn::new().text("It is ").text("done."),
                work(ScriptedTurn::new(), "two"),
                ScriptedTurn::new().text("That too."),
            ]
        },
        setup: |builder| builder,
        say: &[
            |steering| steering.steer("Another way.").unwrap(),
            |steering| steering.follow_up("And then?").unwrap(),
        ],
    },
    Scenario {
        name: "an empty answer, and one that is cut",
        turns: || {
            vec![
                work(ScriptedTurn::new(), "one"),
                ScriptedTurn::new(),
                ScriptedTurn::new().text("It is ").finish(FinishReason::Length),
                ScriptedTurn::new().thinking("So.").text("done."),
            ]
        },
        setup: |builder| builder,
        say: &[],
    },
    Scenario {
        name: "a limit of turns, and one call at a time",
        turns: || {
            vec![
                work(work(work(ScriptedTurn::new(), "one"), "two"), "three"),
                work(ScriptedTurn::new().text("More."), "four"),
                ScriptedTurn::new().text("So ").text("far."),
            ]
        },
        setup: |builder| builder.max_turns(2).max_parallel_calls(1),
        say: &[],
    },
    Scenario {
        name: EARLY,
        turns: || early_turns(None),
        setup: |builder| builder.call_start(CallStart::AsComplete).max_parallel_calls(2),
        say: &[],
    },
    Scenario {
        name: ASKED,
        turns: || {
            let first = work(ScriptedTurn::new().text("Let me see."), "one");
            let first = first.call("alone", json!({ "text": "no" }));
            let second = work(work(ScriptedTurn::new(), "change"), "two");
            vec![first, second, ScriptedTurn::new().text("It is ").text("done.")]
        },
        setup: |builder| {
            builder.approval(ApprovalPolicy::Always).approver(|asked: ApprovalContext| async move {
                tokio::task::yield_now().await;
                match asked.request.arguments.as_str() {
                    r#"{"text":"no"}"# => Decision::reject("not that"),
                    r#"{"text":"change"}"# => Decision::GrantChanged {
                        arguments: Json::from(json!({ "text": "changed" })),
                    },
                    _ => Decision::Grant,
                }
            })
        },
        say: &[],
    },
    Scenario {
        name: AT_CLIENT,
        turns: || {
            let client = |turn: ScriptedTurn, text| turn.call("client", json!({ "text": text }));
            let first = work(ScriptedTurn::new().text("Let me see."), "one");
            let second = client(ScriptedTurn::new(), "four").call("alone", json!({ "text": "b" }));
            let last = ScriptedTurn::new().text("It is ").text("done.");
            vec![client(client(first, "two"), "three"), second, last]
        },
        setup: |builder| {
            let tool = ClientTool::typed::<Work>("client", "Works at the client.");
            builder.tool(tool).approval(ApprovalPolicy::of(["client"])).approver(
                |_: ApprovalContext| async {
                    tokio::task::yield_now().await;
                    Decision::Grant
                },
            )
        },
        say: &[],
    },
    Scenario {
        name: "calls that the provider runs, allowed and refused",
        turns: || {
            let first = work(ScriptedTurn::new().text("Let me see."), "one");
            let last = ScriptedTurn::new().text("It is ").text("done.");
            vec![hosted(first, "yes"), hosted(ScriptedTurn::new(), "no"), last]
        },
        setup: |builder| {
            builder.approver(|asked: ApprovalContext| async move {
                tokio::task::yield_now().await;
                let is_no = asked.request.arguments.as_str().contains("no");
                if is_no { Decision::reject("not that") } else { Decision::Grant }
            })
        },
        say: &[],
    },
    Scenario {
        name: "no answer at all",
        turns: || vec![work(ScriptedTurn::new(), "one"), ScriptedTurn::new(), ScriptedTurn::new()],
        setup: |builder| builder,
        say: &[],
    },
];
