//! Native calls: deltas by the provider's numbers become calls in order.

use std::collections::HashSet;

use super::{call::OpenCall, writer::EventWriter};
use crate::{
    llm::{ToolCallDelta, native_calls::NativeArguments},
    types::AgentEvent,
};

/// The native calls that are open.
#[derive(Debug, Default)]
pub(super) struct NativeCalls {
    open: Vec<NativeCall>,
    /// The numbers of the calls that have ended: what a provider still says of one is no new call.
    ended: HashSet<u32>,
}

#[derive(Debug)]
struct NativeCall {
    /// The provider's number.
    key: u32,
    events: OpenCall,
    arguments: NativeArguments,
}

impl NativeCalls {
    /// Takes one delta.
    pub(super) fn delta(
        &mut self,
        delta: ToolCallDelta,
        writer: &mut EventWriter,
        emit: &mut impl FnMut(AgentEvent),
    ) {
        let known = self.open.iter().position(|call| call.key == delta.index);
        if known.is_none() && self.ended.contains(&delta.index) {
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.end_whole(writer, emit);
            let events = writer.begin_call(emit);
            let arguments = NativeArguments::default();
            self.open.push(NativeCall { key: delta.index, events, arguments });
            self.open.len() - 1
        });
        let Some(call) = self.open.get_mut(at) else { return };
        if let Some(id) = delta.id {
            call.events.id(id);
        }
        if let Some(name) = delta.name {
            call.events.name(name.trim(), emit);
        }
        if !delta.arguments.is_empty() {
            call.events.body(&delta.arguments, emit);
            call.events.arguments(&delta.arguments);
            call.events.source(&delta.arguments);
            call.arguments.push(&delta.arguments);
        }
        call.events.flush(emit);
        if delta.ended {
            self.ended.insert(delta.index);
            self.open.remove(at).end(false, writer, emit);
        }
    }

    /// Text follows: the starts go out before it, with or without a name.
    pub(super) fn start_all(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        for call in &mut self.open {
            call.events.start(emit);
        }
    }

    /// A later call starts: those whose arguments are whole have ended.
    fn end_whole(&mut self, writer: &mut EventWriter, emit: &mut impl FnMut(AgentEvent)) {
        for call in self.open.extract_if(.., |call| call.arguments.is_whole()) {
            self.ended.insert(call.key);
            call.end(false, writer, emit);
        }
    }

    /// The response ended (`cut` when it was cut off), and so do its calls.
    pub(super) fn end_all(
        &mut self,
        cut: bool,
        writer: &mut EventWriter,
        emit: &mut impl FnMut(AgentEvent),
    ) {
        for call in self.open.drain(..) {
            call.end(cut, writer, emit);
        }
    }
}

impl NativeCall {
    fn end(self, cut: bool, writer: &mut EventWriter, emit: &mut impl FnMut(AgentEvent)) {
        let Self { events, arguments, .. } = self;
        let outcome = arguments.outcome(cut);
        let raw = if writer.keeps_content() { events.raw().to_owned() } else { String::new() };
        let call = events.end(outcome, Vec::new(), |_| arguments.value(&raw), emit);
        writer.keep_call(call);
    }
}
