//! The assembly of one native call from its deltas.

use super::{call::OpenCall, quoted_arguments::ArgumentForm};
use crate::ToolCallDelta;
use forgeline_json::JsonTracker;
use forgeline_types::{AgentEvent, CallOutcome, Repair, Text, ToolCall, private::is_absent};

/// Maximum length of a text that still means absent arguments: `"null"` with some whitespace.
const ABSENT_BYTES: usize = 16;

/// An open native call.
#[derive(Debug)]
pub(super) struct NativeCall {
    /// The provider's number of the call.
    pub(super) key: u32,
    events: OpenCall,
    tracker: JsonTracker,
    form: ArgumentForm,
    /// The first bytes of the arguments, enough to recognize `null` and `"null"`.
    head: Text,
    /// The length of the arguments so far, in bytes.
    bytes: usize,
    /// `true` once the provider has ended the call. If its arguments are incomplete, what follows in the response
    /// shows whether the call was cut off.
    pub(super) has_ended: bool,
}

impl NativeCall {
    pub(super) fn new(key: u32, events: OpenCall) -> Self {
        let (tracker, head) = (JsonTracker::default(), Text::new());
        let form = ArgumentForm::Unknown(String::new());
        Self { key, events, tracker, form, head, bytes: 0, has_ended: false }
    }

    /// Processes one delta; returns `false`, without taking the arguments, if they exceed `max_bytes`.
    pub(super) fn delta(
        &mut self,
        delta: &ToolCallDelta,
        max_bytes: usize,
        emit: &mut impl FnMut(AgentEvent),
    ) -> bool {
        let Self { events, tracker, form, head, .. } = self;
        if let Some(id) = &delta.id {
            events.id(id.clone());
        }
        if let Some(name) = &delta.name {
            events.name(name.trim(), emit);
        }
        if delta.hosted {
            events.hosted();
        }
        if delta.indirect {
            events.indirect();
        }
        let arguments = delta.arguments.as_str();
        self.bytes = self.bytes.saturating_add(arguments.len());
        let is_within = self.bytes <= max_bytes;
        if is_within && !arguments.is_empty() {
            events.body(arguments, emit);
            form.push(arguments, &mut |json| events.arguments(json));
            events.source(arguments);
            if head.len() <= ABSENT_BYTES {
                head.push_str(arguments);
            }
            tracker.push(arguments);
        }
        events.flush(emit);
        is_within
    }

    /// Returns the call's position in the response.
    pub(super) fn index(&self) -> u32 {
        self.events.index()
    }

    /// Emits the start, unless it has already been emitted.
    pub(super) fn start(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        self.events.start(emit);
    }

    /// Returns `true` once the arguments are one complete value.
    pub(super) fn is_whole(&self) -> bool {
        self.tracker.is_whole()
    }

    /// Returns `true` while the arguments are absent, or `null`.
    pub(super) fn is_absent(&self) -> bool {
        is_absent(&self.head)
    }

    /// Ends the call; `cut` if the response was cut off.
    pub(super) fn end(mut self, cut: bool, emit: &mut impl FnMut(AgentEvent)) -> ToolCall {
        let Self { form, events, .. } = &mut self;
        form.finish(&mut |json| events.arguments(json));
        let (outcome, is_absent) = (self.outcome(cut), self.is_absent());
        let is_quoted = matches!(self.form, ArgumentForm::Quoted(_));
        let repairs = is_quoted.then_some(Repair::StringArguments).into_iter().collect();
        self.events.end(outcome, repairs, is_absent, emit)
    }

    fn outcome(&self, cut: bool) -> CallOutcome {
        let is_whole = self.tracker.is_whole();
        if self.is_absent() {
            return if cut { CallOutcome::Incomplete } else { CallOutcome::Complete };
        }
        let is_object = match &self.form {
            ArgumentForm::Quoted(object) => object.is_whole(),
            ArgumentForm::Unknown(_) | ArgumentForm::Plain => {
                self.head.trim_start().starts_with('{')
            }
        };
        if is_whole && is_object {
            return CallOutcome::Complete;
        }
        if is_whole {
            return CallOutcome::malformed("the arguments are not a JSON object", 0);
        }
        if cut {
            return CallOutcome::Incomplete;
        }
        let (reason, offset) = self.tracker.fault();
        CallOutcome::malformed(reason, offset)
    }
}
