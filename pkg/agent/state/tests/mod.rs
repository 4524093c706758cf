//! The state without a driver.

mod approvals;
mod circles;
mod limits;
mod orders;
mod worlds;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    approval::{CallGate, SessionGrant},
    config::{AtLimit, NoToolCall},
    run::{Budget, OutsideSources, RunContext},
};
use forgeline_types::{Json, Message, MessageRole, Part, Text, ToolCall};

/// An agent with the tools `free`, `alone` and `last`, and `client`, which runs at the client; arguments that have `bad` do not fit, and a person is
/// asked about those that have `ask`.
struct Setup([Text; 4]);

impl Setup {
    fn new() -> Self {
        Self(["free", "alone", "last", "client"].map(Text::from))
    }
}

impl RunRules for Setup {
    fn tool(&self, name: &str) -> Option<ToolFacts<'_>> {
        let orders = [CallOrder::Free, CallOrder::Alone, CallOrder::Last, CallOrder::Free];
        let mut tools = self.0.iter().zip(orders);
        let (name, order) = tools.find(|(tool, _)| *tool == name)?;
        let (is_idempotent, is_at_client) = (name == "alone", name == "client");
        Some(ToolFacts {
            name,
            module: None,
            order,
            is_idempotent,
            may_repeat: false,
            is_at_client,
        })
    }

    fn fitted(&self, _call: &ToolCall) -> Option<Json> {
        None
    }

    fn check(&self, _call: &ToolCall, arguments: &Value) -> Result<(), String> {
        let is_bad = arguments.to_string().contains("bad");
        if is_bad { Err("it is bad".to_owned()) } else { Ok(()) }
    }

    fn identity(&self, _call: &ToolCall) -> Option<String> {
        None
    }

    fn gate(&self, call: &ToolCall, grants: &[SessionGrant]) -> CallGate {
        let asks = call.arguments.as_ref().is_some_and(|it| it.as_str().contains("ask"));
        let pattern = self.grant_pattern(call);
        let is_granted = grants.iter().any(|it| it.tool == call.name && it.pattern == pattern);
        if asks && !is_granted { CallGate::Ask } else { CallGate::Run }
    }

    fn asks_after_outside_text(&self, call: &ToolCall, outside: &OutsideSources) -> bool {
        outside.is_any() && call.arguments.as_ref().is_some_and(|it| it.as_str().contains("ask"))
    }

    fn grant_pattern(&self, call: &ToolCall) -> Option<String> {
        call.arguments.as_ref().map(|it| it.as_str().to_owned())
    }

    fn unknown_tool(&self, name: &str, _withheld: &[Text]) -> String {
        format!("no {name}")
    }

    fn has_tools(&self, _withheld: &[Text]) -> bool {
        true
    }
}

fn spec() -> RunSpec {
    RunSpec {
        answer_repairs: 1,
        max_turns: 2,
        budget: Budget::default(),
        at_limit: AtLimit::AskForAnswer,
        no_tool_call: NoToolCall::AcceptAsFinal,
        max_parallel_calls: 2,
        breaker_failures: 3,
        loop_guard: true,
        continue_cut: 1,
    }
}

fn begun(spec: RunSpec) -> RunState {
    RunState::new("run".into(), spec, UnixMillis(1), RunContext::default(), Message::user("Go."))
}

/// An answer that calls these tools with these arguments.
fn calling(calls: &[(&str, &str)]) -> ModelAnswer {
    let call = |(at, (name, key)): (usize, &(&str, &str))| {
        ToolCall::new(format!("call-{at}"), *name, json!({ *key: at }))
    };
    let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
    let parts = calls.iter().cloned().map(Part::ToolCall).collect();
    let message = Some(Arc::new(Message::new(MessageRole::Assistant, parts)));
    ModelAnswer { message, calls, ..ModelAnswer::default() }
}

fn saying(text: &str) -> ModelAnswer {
    ModelAnswer {
        message: Some(Arc::new(Message::assistant(text))),
        text: text.to_owned(),
        ..ModelAnswer::default()
    }
}

fn ended(result: Result<&str, FailureKind>) -> ToolEnd {
    let result = result.map(str::to_owned).map_err(|kind| CallFailure(kind, format!("{kind:?}")));
    ToolEnd { duration_ms: 1, ..ToolEnd::at_once(result) }
}

/// Takes an input at time 1 and returns the effects.
fn step(state: &mut RunState, input: StepInput) -> Vec<RunEffect> {
    let mut effects = Vec::new();
    state.step(&Setup::new(), UnixMillis(1), input, &mut effects);
    effects
}

fn bytes(state: &RunState) -> String {
    serde_json::to_string(state).unwrap()
}

/// Asserts that each call of the messages has its result in the next, in order, and that no result is
/// without its call.
fn assert_whole(state: &RunState) {
    let messages = &state.outcome().messages;
    let mut open: Vec<Text> = Vec::new();
    for message in messages {
        let results: Vec<_> = message.tool_results().map(|it| it.call_id.clone()).collect();
        assert_eq!(results, open, "results follow their calls: {messages:?}");
        assert!(!message.parts.is_empty());
        open = message.tool_calls().map(|call| call.id.clone()).collect();
    }
    assert!(open.is_empty(), "calls without results: {messages:?}");
}
