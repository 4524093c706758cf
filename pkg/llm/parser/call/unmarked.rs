//! Calls without a marker at the start of a message: JSON and Python that look like a call.

use std::mem;

use compact_str::CompactString;

use crate::{
    ahead::found::MarkerMatch,
    builder::description::BareCall,
    call::echo::CallEcho,
    compiled::{bare_call::looks_like_call, tools::CompiledTools},
};

/// Maximum length of the text at the start of a message that is held because it may be a call.
const MAX_START_BYTES: usize = 512;

/// The start of a message, where a call may begin without a marker.
#[derive(Debug)]
pub(crate) enum MessageStart {
    /// The dialect has no such calls, or text has come before.
    Past,
    /// The text so far may be the start of a call, possibly after the end of another call.
    Open { held: CompactString, after_call: bool },
    /// Calls have begun that may be an echo of those before.
    Echo(Box<CallEcho>),
}

/// The text that was held at the start of a message.
#[derive(Debug)]
pub(crate) struct HeldStart {
    pub(crate) text: CompactString,
    /// The form of the call that begins in the text, and the number of bytes before that call.
    pub(crate) call: Option<(usize, usize)>,
}

impl MessageStart {
    /// Returns the start of a message in `dialect`; with `after_call`, directly after another call.
    pub(crate) fn new(dialect: &CompiledTools, after_call: bool) -> Self {
        if dialect.bare.is_empty() {
            return Self::Past;
        }
        Self::Open { held: CompactString::const_new(""), after_call }
    }

    /// Ends if the first character of `text` after its whitespace shows that no call begins there, because it is
    /// not one of `firsts`. Returns `false` if more text is needed.
    pub(crate) fn ends_before(&mut self, text: &str, firsts: u128) -> bool {
        let Self::Open { held, after_call: false } = self else { return false };
        let first = text.trim_ascii_start().bytes().next();
        let has_ended = held.is_empty()
            && first.is_some_and(|first| first.is_ascii() && firsts >> first & 1 == 0);
        if has_ended {
            *self = Self::Past;
        }
        has_ended
    }

    /// Adds the next character; returns the held text once its meaning is known.
    pub(crate) fn push(&mut self, next: char, forms: &[(BareCall, usize)]) -> Option<HeldStart> {
        let Self::Open { held, after_call } = self else { return None };
        held.push(next);
        if held.bytes().all(|byte| byte.is_ascii_whitespace()) && held.len() <= MAX_START_BYTES {
            // Whitespace decides nothing, and there are many forms.
            return None;
        }
        let mut call = None;
        let mut is_open = false;
        for (kind, form) in forms {
            match looks_like_call(*kind, held, *after_call) {
                MarkerMatch::Yes(lead) => call = call.or(Some((*form, lead))),
                MarkerMatch::Maybe => is_open = true,
                MarkerMatch::No | MarkerMatch::Mention(_) => {}
            }
        }
        let is_settled = call.is_some() || !is_open || held.len() > MAX_START_BYTES;
        let text = is_settled.then(|| mem::take(held))?;
        *self = Self::Past;
        Some(HeldStart { text, call })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolDialect;

    #[test]
    fn a_first_character_that_ends_the_start_begins_no_call() {
        let mut ended = 0;
        for dialect in ToolDialect::all() {
            let compiled = dialect.compiled();
            for first in (0..128).map(char::from).filter(|it| !it.is_ascii_whitespace()) {
                let mut start = MessageStart::new(compiled, false);
                if !start.ends_before(&format!(" \n{first}x"), compiled.bare_firsts) {
                    continue;
                }
                let mut slow = MessageStart::new(compiled, false);
                assert!(slow.push(' ', &compiled.bare).is_none(), "{}", dialect.name());
                let started = slow.push(first, &compiled.bare);
                let call = started.unwrap_or_else(|| panic!("{first:?} is held")).call;
                assert_eq!(call, None, "{first:?} in {}", dialect.name());
                ended += 1;
            }
        }
        assert!(ended > 100, "{ended} characters");
        let mut held = MessageStart::new(ToolDialect::AUTO.compiled(), true);
        assert!(!held.ends_before("x", 0), "behind a call, a semicolon may stand first");
    }

    // Found: F2
}
