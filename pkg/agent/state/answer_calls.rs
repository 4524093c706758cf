//! The calls of one answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    AnswerId, CallFailure, CallId, CallOrder, CallResult, FailureKind, RunEffect, RunRules,
    ToolEnd,
    after_calls::AfterCalls,
    breaker::FailureBreaker,
    ending_call::outcome_of_call,
    repeats::{EndedCall, RepeatGuard},
};
use crate::approval::{CallGate, SessionGrant};
use crate::{
    prompts::feedback,
    run::{OutcomeKind, OutsideSources},
};
use forgeline_types::{
    AgentEvent, Json, Part, Text, TextOrigin, ToolCall, ToolResult, ToolResultEvent,
};

/// The calls of one answer, in its order, and their results.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct AnswerCalls {
    list: Vec<RunCall>,
    /// The results of the settled calls: those before the first open call.
    results: Vec<ToolResult>,
    /// The reason for the end of the run, once a loop-breaking call has succeeded.
    ended_by: Option<OutcomeKind>,
    /// The reason to end the run: a tool failed too often, or the calls go round in circles.
    broken: Option<String>,
    /// The next step, when the answer did not complete: no further call starts.
    then: Option<AfterCalls>,
}

/// The results of calls that have all ended, and the next step.
pub(super) struct ClosedCalls {
    pub(super) results: Vec<ToolResult>,
    /// The reason for the end of the run, once a loop-breaking call has succeeded.
    pub(super) ended_by: Option<OutcomeKind>,
    /// The reason to end the run before the task is done.
    pub(super) broken: Option<String>,
    pub(super) then: Option<AfterCalls>,
}

/// One call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunCall {
    pub(super) made: ToolCall,
    /// The number of bytes of the call that arrived.
    pub(super) body_bytes: usize,
    /// The digest of the call's identity, which two equal calls share, once it has been computed.
    digest: u64,
    /// The delay before the call runs.
    pause: Duration,
    /// `true` when a person changed the arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_changed: bool,
    pub(super) state: CallState,
}

/// The stage of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallState {
    /// Waiting: the call runs alone or last, or the limit of parallel calls is reached.
    Held,
    /// Waiting for a person's answer to the request with this id.
    Asked(Text),
    Running,
    /// At the client, which was asked with this id.
    AtClient(Text),
    /// Ended, while an earlier call has not.
    Ended(ToolEnd),
    /// Added to the results.
    Settled,
}

impl RunCall {
    /// Returns the calls of an answer; `body_bytes` contains the bytes of each call by its index.
    pub(super) fn all(calls: Vec<ToolCall>, body_bytes: &[usize]) -> Vec<Self> {
        let bytes = |index: u32| body_bytes.get(index as usize).copied().unwrap_or_default();
        calls.into_iter().map(|call| Self::new(bytes(call.index), call)).collect()
    }

    /// Returns the call as the model made it.
    pub(super) fn made(&self) -> &ToolCall {
        &self.made
    }

    pub(super) fn new(body_bytes: usize, call: ToolCall) -> Self {
        let state = CallState::Held;
        let (digest, pause) = (0, Duration::ZERO);
        Self { made: call, body_bytes, digest, pause, is_changed: false, state }
    }

    /// Replaces the arguments.
    pub(super) fn change(&mut self, arguments: Json) {
        self.is_changed |= self.made.arguments.as_ref() != Some(&arguments);
        self.made.arguments = Some(arguments);
    }

    /// Starts the call if its checks passed; otherwise ends it.
    pub(super) fn start(
        &mut self,
        digest: u64,
        checked: Result<Text, CallFailure>,
        place: usize,
        around: &CallPolicy<'_>,
        out: &mut Vec<RunEffect>,
    ) {
        self.digest = digest;
        match checked {
            Ok(_) if self.made.hosted => self.allow(out),
            Ok(name) => {
                self.pause = around.pause(&name, digest);
                let is_at_client = around.rules.tool(&name).is_some_and(|it| it.is_at_client);
                self.made.name = name;
                let id = CallId { answer: around.answer, place };
                if is_at_client {
                    return self.send(around.run_id, id, out);
                }
                self.state = CallState::Running;
                out.push(RunEffect::Run(id));
            }
            Err(refusal) => self.end(ToolEnd::refused(refusal), out),
        }
    }

    /// Records the end of the call and emits its events.
    pub(super) fn end(&mut self, mut end: ToolEnd, out: &mut Vec<RunEffect>) {
        if let Some(arguments) = self.made.arguments.as_ref().filter(|_| self.is_changed) {
            let (Ok(text) | Err(CallFailure(_, text))) = &mut end.result;
            *text = feedback::changed(arguments.as_str(), text);
        }
        let (id, tool_name) = (self.made.id.clone(), self.made.name.clone());
        let duration_ms = end.duration_ms;
        out.extend(
            end.result.as_ref().err().map(|CallFailure(failure, _)| RunEffect::Failed(*failure)),
        );
        out.push(RunEffect::Emit(Box::new(match &end.result {
            Ok(content) => AgentEvent::ToolResult(
                ToolResultEvent::new(id, tool_name, content.clone()).duration_ms(duration_ms),
            ),
            Err(CallFailure(_, text)) => {
                let content = feedback::brief(text.clone());
                AgentEvent::ToolResultError(
                    ToolResultEvent::new(id, tool_name, content).duration_ms(duration_ms),
                )
            }
        })));
        if let Err(CallFailure(failure, text)) = &end.result {
            self.audit(*failure, text, out);
        }
        self.state = CallState::Ended(end);
    }
}

impl AnswerCalls {
    /// Adds a call of an answer in progress.
    pub(super) fn push(&mut self, call: RunCall) {
        self.list.push(call);
    }

    /// Adds the calls that were not yet known at the end of the answer, given all calls of that answer.
    pub(super) fn complete(&mut self, calls: Vec<RunCall>) {
        let known = self.list.len();
        self.list.extend(calls.into_iter().skip(known));
    }

    /// Prevents further calls from starting.
    pub(super) fn then(&mut self, then: AfterCalls) {
        self.then = Some(then);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &RunCall> {
        self.list.iter()
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut RunCall> {
        self.list.get_mut(place)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of calls that have not ended.
    pub(super) fn open(&self) -> usize {
        let has_ended =
            |call: &&RunCall| matches!(call.state, CallState::Ended(_) | CallState::Settled);
        self.list.len() - self.list.iter().filter(has_ended).count()
    }

    /// Returns the places of the running calls.
    pub(super) fn running(&self) -> impl Iterator<Item = usize> {
        (0..self.list.len()).filter(|place| self.is_running(*place))
    }

    pub(super) fn is_running(&self, place: usize) -> bool {
        self.list.get(place).is_some_and(|call| call.state == CallState::Running)
    }

    pub(super) fn get(&self, place: usize) -> Option<&ToolCall> {
        self.list.get(place).map(|call| &call.made)
    }

    /// Returns the delay before a call runs.
    pub(super) fn pause(&self, place: usize) -> Duration {
        self.list.get(place).map_or(Duration::ZERO, |call| call.pause)
    }

    /// Records the end of a call and emits its events: results are kept in the order of the calls, and reported as they arrive.
    pub(super) fn end(&mut self, place: usize, end: ToolEnd, out: &mut Vec<RunEffect>) {
        if let Some(call) = self.list.get_mut(place) {
            call.end(end, out);
        }
    }

    /// Returns the first call that has not started, with its place.
    fn first_held(&self) -> Option<(usize, &RunCall)> {
        let mut open = self.list.iter().enumerate().skip(self.results.len());
        open.find(|(_, call)| call.state == CallState::Held)
    }

    /// Ends the calls that have not started.
    fn refuse_held(&mut self, why: &str, out: &mut Vec<RunEffect>) {
        for (place, call) in self.list.iter_mut().enumerate() {
            call.withdraw(place, out);
            if call.state == CallState::Held {
                call.end(not_run(why), out);
            }
        }
    }

    /// Ends the calls that were running when the run was suspended, and returns the places of those that run again.
    pub(super) fn interrupt(
        &mut self,
        rules: &dyn RunRules,
        is_cancelled: bool,
        out: &mut Vec<RunEffect>,
    ) -> Vec<usize> {
        let mut again = Vec::new();
        for (place, call) in self.list.iter_mut().enumerate() {
            if call.state != CallState::Running {
                continue;
            }
            let facts = rules.tool(&call.made.name);
            if !is_cancelled && facts.is_some_and(|facts| facts.is_idempotent) {
                again.push(place);
            } else {
                call.end(not_run(feedback::INTERRUPTED), out);
            }
        }
        again
    }

    /// Ends all calls that have not ended.
    pub(super) fn abandon(&mut self, out: &mut Vec<RunEffect>) {
        self.refuse_held(feedback::NOT_RUN, out);
        self.recall(out);
        for call in &mut self.list {
            if call.state == CallState::Running {
                call.end(not_run(feedback::INTERRUPTED), out);
            }
        }
    }

    pub(super) fn close(self) -> ClosedCalls {
        let Self { results, ended_by, broken, then, .. } = self;
        ClosedCalls { results, ended_by, broken, then }
    }
}

/// The stage of a run that has calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPhase {
    /// The answer is in progress: its calls start, but do not settle.
    Early,
    /// The answer has ended.
    Answered,
    /// The run is cancelled: no further call starts.
    Cancelled,
}

/// The parts of a run that its calls depend on.
pub(super) struct CallPolicy<'a> {
    pub(super) rules: &'a dyn RunRules,
    pub(super) run_id: &'a str,
    pub(super) answer: AnswerId,
    pub(super) grants: &'a [SessionGrant],
    /// The sources of the text from outside in the conversation.
    pub(super) outside: &'a OutsideSources,
    /// The names of the tools that the run may not use.
    pub(super) withheld: &'a [Text],
    /// Maximum number of calls that run at the same time.
    pub(super) most: usize,
    pub(super) stage: CallPhase,
    /// `true` where the denial of a call holds when the same call is made again.
    pub(super) keeps_denials: bool,
    pub(super) breaker: &'a mut FailureBreaker,
    pub(super) guard: &'a mut RepeatGuard,
}

impl CallPolicy<'_> {
    fn order(&self, call: &ToolCall) -> CallOrder {
        self.rules.tool(&call.name).map_or(CallOrder::Free, |facts| facts.order)
    }

    /// Passes a call that has ended to the guard; returns the reason to end the run, if there is one.
    fn circle(&mut self, call: &RunCall, result: &CallResult, parts: &[Part]) -> Option<String> {
        let facts = self.rules.tool(&call.made.name);
        let may_repeat = facts.is_some_and(|facts| facts.may_repeat);
        let (tool, turn) = (&call.made.name, self.answer.turn);
        if result.is_ok() {
            self.guard.succeeded();
        }
        let (call, keeps_denials) = (call.digest, self.keeps_denials);
        self.guard.keep(&EndedCall { tool, call, result, parts, may_repeat, turn, keeps_denials });
        let is_new = !matches!(result, Err(CallFailure(FailureKind::NotRun, _)));
        if is_new { self.guard.look(turn) } else { None }
    }

    /// Returns the delay before a call runs.
    fn pause(&self, name: &Text, digest: u64) -> Duration {
        let repeats = self.rules.tool(name).is_some_and(|facts| facts.may_repeat);
        if repeats { self.guard.pause(digest) } else { Duration::ZERO }
    }
}

impl AnswerCalls {
    /// Starts and settles calls as far as possible; returns `true` once none is open.
    ///
    /// Calls settle in their order, and after each one the calls that may start are determined
    /// again: neither results nor refusals depend on the order in which calls end.
    pub(super) fn go_on(&mut self, around: &mut CallPolicy<'_>, out: &mut Vec<RunEffect>) -> bool {
        loop {
            self.begin(around, out);
            if !self.settle_one(around, out) {
                return self.results.len() == self.list.len();
            }
        }
    }

    /// Starts the calls that may start.
    pub(super) fn begin(&mut self, around: &CallPolicy<'_>, out: &mut Vec<RunEffect>) {
        if around.stage == CallPhase::Cancelled || self.broken.is_some() || self.then.is_some() {
            let goes_on = around.stage == CallPhase::Answered && self.broken.is_none();
            let then = self.then.as_ref().filter(|_| goes_on);
            let why = then.map_or(feedback::NOT_RUN, AfterCalls::why).to_owned();
            self.refuse_held(&why, out);
        }
        if around.stage == CallPhase::Cancelled || matches!(self.then, Some(AfterCalls::Fail(_))) {
            self.recall(out);
        }
        while let Some((place, held)) = self.first_held() {
            if !self.may_begin(around, place, &held.made) {
                break;
            }
            let Some(held) = self.list.get_mut(place) else { break };
            held.fit(around.rules);
            let (digest, checked) = around.check(held);
            match checked {
                Ok(name) if around.gate(&held.made) == CallGate::Ask => {
                    held.made.name = name;
                    if around.keeps_denials {
                        held.digest = digest;
                    }
                    held.ask(around.run_id, CallId { answer: around.answer, place }, out);
                }
                checked => held.start(digest, checked, place, around, out),
            }
        }
    }

    /// Returns `true` when the first held call may start.
    fn may_begin(&self, around: &CallPolicy<'_>, place: usize, call: &ToolCall) -> bool {
        let settled = self.results.len();
        if around.order(call) != CallOrder::Free {
            return place == settled && around.stage != CallPhase::Early;
        }
        let mut open = self.list.iter().take(place).skip(settled);
        place - settled < around.most
            && open.all(|before| around.order(&before.made) == CallOrder::Free)
    }

    /// Adds the result of the first open call, if it has ended.
    fn settle_one(&mut self, around: &mut CallPolicy<'_>, out: &mut Vec<RunEffect>) -> bool {
        let Some(first) = self.list.get_mut(self.results.len()) else { return false };
        if !matches!(first.state, CallState::Ended(_)) {
            return false;
        }
        let ended = std::mem::replace(&mut first.state, CallState::Settled);
        let CallState::Ended(end) = ended else { return false };
        let ToolEnd { result, parts, origin, source, found, .. } = end;
        let call = &first.made;
        let circle = around.circle(first, &result, &parts);
        match &result {
            Ok(content) => {
                around.breaker.succeeded(&call.name);
                if around.order(call) == CallOrder::Last {
                    let arguments = call.arguments.as_ref();
                    let reason = outcome_of_call(&call.name, arguments, content);
                    let why = feedback::after_loop_break(&call.name);
                    self.ended_by = Some(reason);
                    self.refuse_held(&why, out);
                }
            }
            Err(CallFailure(failure, _)) => {
                self.broken = self.broken.take().or(around.breaker.failed(&call.name, *failure));
            }
        }
        self.broken = self.broken.take().or(circle);
        self.add_result(result, parts, (origin, source, found));
        true
    }

    fn add_result(
        &mut self,
        result: CallResult,
        parts: Vec<Part>,
        (origin, source, found): (TextOrigin, Option<Text>, Box<[Text]>),
    ) {
        let Some(settled) = self.list.get(self.results.len()) else { return };
        let (id, tool_name) = (settled.made.id.clone(), settled.made.name.clone());
        let is_error = result.is_err();
        let content = result.unwrap_or_else(|CallFailure(_, text)| feedback::brief(text));
        let result = ToolResult::new(id, tool_name, content).error(is_error);
        self.results.push(result.parts(parts).origin(origin).source(source).found(found));
    }
}

/// Returns the `ToolEnd` of a call that did not run.
fn not_run(why: &str) -> ToolEnd {
    ToolEnd::refused(CallFailure(FailureKind::NotRun, why.to_owned()))
}
