//! The guard against calls that go round in circles.

use std::{collections::VecDeque, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallFailure, CallResult, FailureKind};
use crate::{prompts::feedback, support::digest};
use forgeline_types::{Part, Text, ToolCall};

/// Number of recent calls that are examined.
const WINDOW: usize = 16;

/// Maximum length of a detected pattern, in calls.
const MAX_PERIOD: usize = 4;

/// Number of equal calls with an equal result after which the model is warned.
const TOLD_TIMES: usize = 3;

/// Number of consecutive equal calls with an equal result that ends the run.
const MAX_SAME_CALLS: usize = 5;

/// Delay before the second run of a call whose tool may repeat; it doubles each time the result is
/// the same.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Maximum delay before a repeated call.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The last calls of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RepeatGuard {
    /// Enables the search for circles; delays and certain failures are tracked regardless.
    looks: bool,
    recent: VecDeque<SeenCall>,
    /// The message to give the model before its next answer.
    untold: Option<String>,
}

/// A call that has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SeenCall {
    tool: Text,
    /// The digest of the call.
    call: u64,
    /// The digest of the call and its result.
    result: u64,
    kind: CallWeight,
    /// The turn after which the model was warned about this call.
    told: Option<u32>,
    /// The words that the model has read about a call that was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    denial: Option<Box<str>>,
}

/// The weight of a call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CallWeight {
    /// A call that may be part of a circle.
    Counts,
    /// A call that may be part of a circle, and would fail again.
    Fails,
    /// A call that may be repeated: its tool allows that, or its failure may be transient.
    Repeats,
}

/// A detected circle of calls.
struct RepeatedCalls {
    /// The positions in the window at which the model may have been warned of the cycle, newest first.
    looked_at: Vec<usize>,
    /// The number of different calls.
    period: usize,
    is_over: bool,
}

/// An ended call, as passed to the guard.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct EndedCall<'a> {
    pub(super) tool: &'a Text,
    /// The digest of the call.
    pub(super) call: u64,
    pub(super) result: &'a CallResult,
    /// The images and documents of the result.
    pub(super) parts: &'a [Part],
    pub(super) may_repeat: bool,
    pub(super) turn: u32,
    /// `true` where the denial of a call holds when the same call is made again.
    pub(super) keeps_denials: bool,
}

/// Returns the digest of a call, made from its tool and its identity: `identity`, or else its `arguments`.
pub(super) fn digest_of(
    tool_name: &str,
    call: &ToolCall,
    arguments: Option<&Value>,
    identity: Option<String>,
) -> u64 {
    let mut same = vec![];
    match (identity, arguments) {
        (Some(identity), _) => same.extend(identity.bytes()),
        (None, Some(arguments)) => canonical(arguments, &mut same),
        (None, None) => same.extend(call.arguments_raw.bytes()),
    }
    digest(tool_name.as_bytes().iter().chain(&[0]).chain(&same))
}

/// Returns the bytes by which parts of results are compared.
fn data(part: &Part) -> &[u8] {
    match part {
        Part::Text { text, .. } => text.as_bytes(),
        Part::Image { data, .. } | Part::Document { data, .. } => data.as_bytes(),
        Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) | Part::ProviderItem(_) => {
            &[]
        }
        Part::Framing { .. } | _ => &[],
    }
}

/// Writes a value with the members of objects sorted by name.
fn canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push(b'{');
            for (name, value) in members {
                canonical(&Value::from(name.as_str()), out);
                canonical(value, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for item in items {
                canonical(item, out);
            }
            out.push(b']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.extend(value.to_string().bytes());
            out.push(b',');
        }
    }
}

impl RepeatGuard {
    pub(super) fn new(looks: bool) -> Self {
        Self { looks, recent: VecDeque::new(), untold: None }
    }

    /// Allows calls that failed before to be made again.
    pub(super) fn succeeded(&mut self) {
        for seen in &mut self.recent {
            if seen.kind == CallWeight::Fails {
                seen.kind = CallWeight::Counts;
            }
        }
    }

    /// Returns what the model reads when the same call has failed since the last success and would fail again: for a
    /// call that was denied, who denied it and why.
    pub(super) fn would_fail(&self, call: u64, tool_name: &str) -> Option<String> {
        let is_it = |seen: &&SeenCall| seen.call == call && seen.kind == CallWeight::Fails;
        let denial = self.recent.iter().find(is_it)?.denial.as_deref();
        Some(denial.map_or_else(|| feedback::repeated(tool_name), feedback::denied_again))
    }

    /// Returns the delay before a call of a tool that may repeat.
    pub(super) fn pause(&self, call: u64) -> Duration {
        let mut before = self.recent.iter().filter(|seen| seen.call == call);
        let Some(last) = before.next() else { return Duration::ZERO };
        let same = before.take_while(|seen| seen.result == last.result).count();
        // The window bounds the exponent.
        FIRST_PAUSE.saturating_mul(1 << same).min(MAX_PAUSE)
    }

    /// Records a call that has ended.
    pub(super) fn keep(&mut self, ended: &EndedCall<'_>) {
        let kind = match ended.result {
            Err(CallFailure(FailureKind::NotRun, _)) => return,
            Err(CallFailure(failure, _)) if failure.is_certain() => CallWeight::Fails,
            Err(CallFailure(FailureKind::Transient | FailureKind::TimedOut, _)) => {
                CallWeight::Repeats
            }
            _ if ended.may_repeat => CallWeight::Repeats,
            _ => CallWeight::Counts,
        };
        let (content, failed) = match ended.result {
            Ok(content) => (content, 0),
            Err(CallFailure(_, content)) => (content, 1),
        };
        let call = ended.call.to_le_bytes();
        let parts = ended.parts.iter().flat_map(data);
        let result = digest(call.iter().chain(&[failed]).chain(content.as_bytes()).chain(parts));
        // The result of a call that was not repeated already tells the model so.
        let is_repeated = matches!(ended.result, Err(CallFailure(FailureKind::Repeated, _)));
        let told = is_repeated.then_some(ended.turn);
        self.recent.truncate(WINDOW - 1);
        let tool = ended.tool.clone();
        let denial = ended
            .result
            .as_ref()
            .err()
            .filter(|CallFailure(failure, _)| ended.keeps_denials && failure.is_denial());
        let denial = denial.map(|CallFailure(_, text)| feedback::brief(text.clone()).into());
        self.recent.push_front(SeenCall { tool, call: ended.call, result, kind, told, denial });
    }

    /// Looks for a cycle that the last call completes. The model is warned of it before its next answer; the
    /// returned value is the reason to end the run when the cycle continues after the model was warned.
    pub(super) fn look(&mut self, turn: u32) -> Option<String> {
        if !self.looks || self.recent.front()?.kind == CallWeight::Repeats {
            return None;
        }
        let circle = self.row().or_else(|| self.scattered())?;
        let told = circle.looked_at.iter().filter_map(|at| self.recent.get(*at)?.told).min();
        let names: Vec<_> = circle.looked_at.iter().take(circle.period).rev().collect();
        let names = names.into_iter().filter_map(|at| Some(self.recent.get(*at)?.tool.as_str()));
        match told {
            Some(told) if told < turn && circle.is_over => {
                let names = names.collect::<Vec<_>>().join("`, `");
                return Some(feedback::circle_stopped(&names));
            }
            Some(_) => {}
            None => {
                self.untold = Some(feedback::circle(&names.collect::<Vec<_>>()));
                self.recent.front_mut()?.told = Some(turn);
            }
        }
        None
    }

    /// Returns the message to give the model before its next answer.
    pub(super) fn take_untold(&mut self) -> Option<String> {
        self.untold.take()
    }

    /// Returns the positions of the calls that count, newest first.
    fn counting(&self) -> Vec<usize> {
        let counts =
            |at: &usize| self.recent.get(*at).is_some_and(|it| it.kind != CallWeight::Repeats);
        (0..self.recent.len()).filter(counts).collect()
    }

    fn result(&self, place: usize) -> Option<u64> {
        self.recent.get(place).map(|seen| seen.result)
    }

    /// Returns the shortest pattern that the last calls follow without interruption.
    fn row(&self) -> Option<RepeatedCalls> {
        let places = self.counting();
        (1..=MAX_PERIOD).find_map(|period| {
            let pairs = places.iter().zip(places.iter().skip(period));
            let same = pairs.take_while(|(new, old)| self.result(**new) == self.result(**old));
            let length = period + same.count();
            let (least, most) = match period {
                1 => (TOLD_TIMES, MAX_SAME_CALLS),
                _ => (2 * period, 3 * period),
            };
            let is_circle = length >= least;
            let looked_at = || places.iter().take(length).copied().collect();
            is_circle.then(|| RepeatedCalls {
                looked_at: looked_at(),
                period,
                is_over: length >= most,
            })
        })
    }

    /// Returns the circle of calls that equal the last one and had the same result, whatever calls lie between them.
    fn scattered(&self) -> Option<RepeatedCalls> {
        let looked_at = self.counting();
        let last = self.result(*looked_at.first()?);
        let times = looked_at.iter().filter(|at| self.result(**at) == last).count();
        let is_over = times > WINDOW / 2;
        (times >= TOLD_TIMES).then_some(RepeatedCalls { looked_at, period: 1, is_over })
    }
}
