//! Native calls: deltas by the provider's numbers become calls in order.

use std::mem;

use super::{assembler::Assembler, call::OpenCall};
use crate::{
    llm::{ToolCallDelta, parser::JsonTracker},
    types::{AgentEvent, CallOutcome, Text, is_absent},
};

/// Longest text that still stands for absent arguments: `"null"` with some whitespace.
const ABSENT_BYTES: usize = 16;

/// A native call that is open.
#[derive(Debug)]
pub(super) struct NativeCall {
    /// The provider's number.
    key: u32,
    events: OpenCall,
    tracker: JsonTracker,
    /// The first bytes of the arguments, enough to tell `null` and `"null"`.
    head: Text,
}

impl Assembler {
    /// Takes one delta. A number is one call: a delta of a call that ended is dropped.
    pub(super) fn call_delta(&mut self, delta: ToolCallDelta, emit: &mut impl FnMut(AgentEvent)) {
        let known = self.native.iter().position(|call| call.key == delta.index);
        if known.is_none() && self.ended.contains(&delta.index) {
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.end_whole_calls(emit);
            let events = self.begin_native_call(emit);
            self.native.push(NativeCall::new(delta.index, events));
            self.native.len() - 1
        });
        let Some(call) = self.native.get_mut(at) else { return };
        call.delta(&delta, emit);
        if delta.ended {
            let call = self.native.remove(at);
            self.end_call(call, false, emit);
        }
    }

    /// Emits the starts that wait for a name: text follows.
    pub(crate) fn start_native_calls(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        for call in &mut self.native {
            call.events.start(emit);
        }
    }

    /// Ends the calls whose arguments are whole: a later one starts.
    fn end_whole_calls(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        let is_whole = |call: &mut NativeCall| call.tracker.is_whole();
        for call in self.native.extract_if(.., is_whole).collect::<Vec<_>>() {
            self.end_call(call, false, emit);
        }
    }

    /// Ends all native calls; `cut` when the response was cut off.
    pub(super) fn end_native_calls(&mut self, cut: bool, emit: &mut impl FnMut(AgentEvent)) {
        for call in mem::take(&mut self.native) {
            self.end_call(call, cut, emit);
        }
    }

    fn end_call(&mut self, call: NativeCall, cut: bool, emit: &mut impl FnMut(AgentEvent)) {
        self.ended.insert(call.key);
        let outcome = call.outcome(cut);
        let call = call.events.end(outcome, Vec::new(), is_absent(&call.head), emit);
        self.keep_call(call);
    }
}

impl NativeCall {
    fn new(key: u32, events: OpenCall) -> Self {
        Self { key, events, tracker: JsonTracker::default(), head: Text::new() }
    }

    fn delta(&mut self, delta: &ToolCallDelta, emit: &mut impl FnMut(AgentEvent)) {
        let Self { events, tracker, head, .. } = self;
        if let Some(id) = &delta.id {
            events.id(id.clone());
        }
        if let Some(name) = &delta.name {
            events.name(name.trim(), emit);
        }
        let arguments = delta.arguments.as_str();
        if !arguments.is_empty() {
            events.body(arguments, emit);
            events.arguments(arguments);
            events.source(arguments);
            if head.len() <= ABSENT_BYTES {
                head.push_str(arguments);
            }
            tracker.push(arguments);
        }
        events.flush(emit);
    }

    /// Returns what became of the call.
    fn outcome(&self, cut: bool) -> CallOutcome {
        let is_whole = self.tracker.is_whole();
        if is_absent(&self.head) || (is_whole && self.head.trim_start().starts_with('{')) {
            return CallOutcome::Complete;
        }
        if is_whole {
            let reason = "the arguments are no JSON object".into();
            return CallOutcome::Malformed { reason, offset: 0 };
        }
        if cut {
            return CallOutcome::Incomplete;
        }
        let (reason, offset) = self.tracker.fault();
        CallOutcome::Malformed { reason: reason.into(), offset }
    }
}
