//! Calls without a marker, at the start of a message.

use std::mem;

use crate::llm::parser::{description::Bare, marker::Found, unmarked::looks_like_call};

/// Longest text at the start of a message that is held because it may be a call.
const MAX_START_BYTES: usize = 512;

/// The start of a message, where a call may begin without a marker.
#[derive(Debug)]
pub(super) enum Start {
    /// The dialect has no such calls, or text has come before.
    Past,
    /// The text so far may be the start of a call; with the end of another call before it.
    Open { held: String, after_call: bool },
}

/// The text that was held at the start of a message.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) text: String,
    /// The form of the call that begins in it, and the bytes before that call.
    pub(super) call: Option<(usize, usize)>,
}

impl Start {
    /// Takes the next character; returns the held text once it is known what it is.
    pub(super) fn push(&mut self, next: char, forms: &[(Bare, usize)]) -> Option<Started> {
        let Self::Open { held, after_call } = self else { return None };
        held.push(next);
        let mut call = None;
        let mut is_open = false;
        for (kind, form) in forms {
            match looks_like_call(*kind, held, *after_call) {
                Found::Yes(lead) => call = call.or(Some((*form, lead))),
                Found::Maybe => is_open = true,
                Found::No => {}
            }
        }
        let is_settled = call.is_some() || !is_open || held.len() > MAX_START_BYTES;
        let text = is_settled.then(|| mem::take(held))?;
        *self = Self::Past;
        Some(Started { text, call })
    }
}
