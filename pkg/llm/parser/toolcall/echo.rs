//! Blocks of calls that a model repeats without their opener: framing, not a second run.

use super::{HeldStart, ToolCallParser};
use crate::{
    builder::description::BareCall,
    call::{
        echo::{CallEcho, HeldCalls},
        unmarked::MessageStart,
    },
    content::parsed::{ContentSink, ParsedContent},
};
use forgeline_json::slice;

impl ToolCallParser {
    /// Returns `true` for the form of calls of this `kind`.
    pub(super) fn is_bare(&self, kind: BareCall, form: usize) -> bool {
        self.dialect.compiled().bare.contains(&(kind, form))
    }

    /// Holds the calls that have begun without a marker: directly behind marked ones, or one that must be a whole line.
    pub(super) fn hold_echo(&mut self, started: &HeldStart, is_line: bool) {
        let Some(call) = started.call else { return };
        self.start = MessageStart::Echo(Box::new(CallEcho::new(call, is_line)));
        self.pending.insert_str(0, &started.text);
    }

    /// Processes text that may be an echo.
    pub(super) fn look_at_echo(&mut self, text: &str, at: &mut usize, out: &mut ContentSink<'_>) {
        for next in slice(text, *at..).chars() {
            *at += next.len_utf8();
            let MessageStart::Echo(echo) = &mut self.start else { return };
            match echo.push(next, self.dialect.compiled()) {
                HeldCalls::Unknown => {}
                HeldCalls::Echo => {
                    out(ParsedContent::Marker(&echo.held));
                    return self.begin_section(true);
                }
                HeldCalls::Calls => return self.call_echo(*at, out),
                HeldCalls::Text => {
                    self.pending.insert_str(0, &std::mem::take(&mut echo.held));
                    self.start = MessageStart::Past;
                    return;
                }
            }
        }
    }

    /// Treats the held text as calls, because no closer follows it.
    pub(super) fn call_echo(&mut self, at: usize, out: &mut ContentSink<'_>) {
        let MessageStart::Echo(echo) = &mut self.start else { return };
        let CallEcho { held, call, .. } = std::mem::take(&mut **echo);
        self.start = MessageStart::Past;
        self.begin_unmarked(&held, call, self.taken + at as u64, out);
    }
}
