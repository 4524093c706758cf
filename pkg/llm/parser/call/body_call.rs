//! The current call of a body that may contain several: its length, its name, and its content.

use std::mem;

use crate::{
    content::parsed::{ContentSink, ParseOutcome, ParsedContent},
    grammar::{KnownTools, NO_TOOL_NAME, PayloadFault, PayloadOut, is_name},
};
use forgeline_json::{RepairSet, slice};
use forgeline_types::Repair;

/// The call that is being read.
#[derive(Debug, Default)]
pub(super) struct BodyCall {
    /// Its length so far, and that of the earlier calls in the same body, in bytes.
    pub(super) bytes: usize,
    pub(super) earlier_bytes: usize,
    /// The number of bytes before the first one that the grammar reads.
    pub(super) lead_bytes: usize,
    /// The repairs of its name.
    pub(super) repairs: RepairSet,
    /// The end of a name that no tool can have.
    faulty_name: Option<usize>,
}

impl BodyCall {
    /// Emits the body text from `given` up to `to`.
    pub(super) fn give_body(
        &mut self,
        text: &str,
        given: &mut usize,
        to: usize,
        out: &mut ContentSink<'_>,
    ) {
        let body = slice(text, (*given).min(to)..to);
        if !body.is_empty() {
            *given = to;
            self.bytes += body.len();
            out(ParsedContent::CallBody(body));
        }
    }

    /// Emits content, whose text has been emitted. A name becomes that of the offered tool that it means.
    pub(super) fn give(
        &mut self,
        piece: PayloadOut<'_>,
        tools: &KnownTools,
        out: &mut ContentSink<'_>,
    ) {
        match piece {
            PayloadOut::Name { name, .. } => {
                let meant = tools.meant(name).unwrap_or(name);
                if meant != name {
                    self.repairs.insert(Repair::CorrectedName);
                }
                if !is_name(name) && !tools.may_be_called(name) {
                    self.faulty_name = Some(self.bytes);
                }
                out(ParsedContent::CallName(meant));
            }
            PayloadOut::NextCall { mut repairs, fault, .. } => {
                let outcome = &self.end(fault.map_or(Ok(()), Err));
                repairs.extend(mem::take(&mut self.repairs));
                out(ParsedContent::CallEnd { outcome, repairs });
                self.earlier_bytes += mem::take(&mut self.bytes);
                self.faulty_name = None;
                out(ParsedContent::CallStart);
            }
            PayloadOut::Id { id, .. } => out(ParsedContent::CallId(id)),
            PayloadOut::Server { name, .. } => out(ParsedContent::CallServer(name)),
            PayloadOut::Arguments(json) => out(ParsedContent::CallArguments(json)),
            PayloadOut::Source(source) => out(ParsedContent::CallSource(source)),
        }
    }

    /// Returns the outcome of the call, which its grammar read to the end or not.
    pub(super) fn end(&self, ended: Result<(), PayloadFault>) -> ParseOutcome {
        match (ended, self.faulty_name) {
            (Ok(()), None) => ParseOutcome::Complete,
            (Ok(()), Some(offset)) => ParseOutcome::Malformed { reason: NO_TOOL_NAME, offset },
            (Err((reason, offset)), _) => {
                let offset = (offset + self.lead_bytes).saturating_sub(self.earlier_bytes);
                ParseOutcome::Malformed { reason, offset: offset.min(self.bytes) }
            }
        }
    }
}
