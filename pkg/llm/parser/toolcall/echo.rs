//! Blocks of calls that a model repeats without their opener: framing, not a second run.

use super::{Started, ToolCallParser};
use crate::{
    builder::description::Bare,
    call::{echo::Echo, unmarked::Start},
    content::parsed::{Emit, ParsedContent},
};
use forgeline_json::slice;

impl ToolCallParser {
    /// Returns `true` for the form of Python calls without a marker.
    pub(super) fn is_python(&self, form: usize) -> bool {
        self.dialect.compiled().bare.contains(&(Bare::Python, form))
    }

    /// Holds the calls that have begun without a marker, directly behind marked ones.
    pub(super) fn hold_echo(&mut self, started: &Started) {
        let Some(call) = started.call else { return };
        self.start = Start::Echo(Box::new(Echo::new(call)));
        self.pending.insert_str(0, &started.text);
    }

    /// Processes text that may be an echo.
    pub(super) fn look_at_echo(&mut self, text: &str, at: &mut usize, out: &mut Emit<'_>) {
        for next in slice(text, *at..).chars() {
            *at += next.len_utf8();
            let Start::Echo(echo) = &mut self.start else { return };
            let Some(is_echo) = echo.push(next, self.dialect.compiled()) else { continue };
            if is_echo {
                out(ParsedContent::Marker(&echo.held));
                return self.begin_section(true);
            }
            return self.call_echo(*at, out);
        }
    }

    /// Treats the held text as calls, because no closer follows it.
    pub(super) fn call_echo(&mut self, at: usize, out: &mut Emit<'_>) {
        let Start::Echo(echo) = &mut self.start else { return };
        let Echo { held, call, .. } = std::mem::take(&mut **echo);
        self.start = Start::Past;
        self.begin_unmarked(&held, call, self.taken + at as u64, out);
    }
}
