//! Calls without a marker, at the start of a message.

use std::mem;

use super::ToolCallParser;
use crate::llm::parser::{
    content::{Emit, ParsedContent},
    marker::Found,
    token::TokenKind,
    unmarked::looks_like_call,
};

/// Whether a call may begin here without a marker.
#[derive(Debug)]
pub(super) enum Start {
    /// No: the dialect has no such calls, or text has come before.
    Past,
    /// The text so far may be the start of a call; with the end of another call before it.
    Open { held: String, after_call: bool },
}

/// Longest text at the start of a message that is held because it may be a call.
const MAX_START_BYTES: usize = 512;

impl ToolCallParser {
    /// At the start of a message: text that may still become a call is held.
    pub(super) fn look_at_start(&mut self, text: &str, at: &mut usize, out: &mut Emit<'_>) {
        let Start::Open { held, after_call } = &mut self.start else { return };
        let compiled = self.dialect.compiled();
        for next in text.get(*at..).unwrap_or_default().chars() {
            *at += next.len_utf8();
            held.push(next);
            let mut found = None;
            let mut is_open = false;
            for (kind, form) in &compiled.bare {
                match looks_like_call(*kind, held, *after_call) {
                    Found::Yes(lead) => found = found.or(Some((*form, lead))),
                    Found::Maybe => is_open = true,
                    Found::No => {}
                }
            }
            if let Some((form, lead)) = found {
                let held = mem::take(held);
                let (lead, rest) = held.split_at_checked(lead).unwrap_or_default();
                self.start = Start::Past;
                let offset = self.taken + *at as u64;
                if !lead.is_empty() {
                    out(ParsedContent::Marker(lead));
                }
                let ends_itself = compiled.form(form).closers == 0;
                self.begin_call(form, offset, out);
                let mut to = rest.len();
                if let Some(region) = &mut self.region {
                    if ends_itself {
                        to = 0;
                        if region.feed(rest, &mut to, TokenKind::Unknown, out) {
                            self.leave_call();
                        }
                    } else {
                        region.pass(rest, out);
                    }
                }
                self.pending.push_str(rest.get(to..).unwrap_or_default());
                return;
            }
            if !is_open || held.len() > MAX_START_BYTES {
                self.pending.push_str(held);
                self.start = Start::Past;
                return;
            }
        }
    }
}
