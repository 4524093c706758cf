//! The beginning of a message or of a section of it: text, or a call without a marker.

use super::{ForeignMarkers, ToolCallParser};
use crate::{
    builder::description::BareCall,
    compiled::bare_call::name_of,
    content::{
        parsed::{ContentSink, ParsedContent},
        token::TokenKind,
    },
};
use forgeline_json::slice;

impl ToolCallParser {
    /// Processes the rest of `text`, the first of a section, if no marker begins in it; returns `false` for other
    /// text. The full search for markers costs ten times as much, and sections usually begin with text.
    pub(super) fn take_beginning(
        &mut self,
        (text, at): (&str, &mut usize),
        token: TokenKind,
        foreign: Option<&ForeignMarkers<'_>>,
        out: &mut ContentSink<'_>,
    ) -> bool {
        let rest = slice(text, *at..);
        let may_pass = self.is_before_text
            && token == TokenKind::Unknown
            && self.scan.is_idle()
            && self.turn_end.is_empty()
            && !rest.trim_ascii_start().is_empty();
        if !may_pass || !self.pass_whole(rest, foreign.map(|foreign| foreign.stops)) {
            return false;
        }
        *at = text.len();
        self.is_before_text = false;
        self.is_behind_call = false;
        self.is_in_block = false;
        out(ParsedContent::Text(rest));
        true
    }

    /// Processes text at the start of a message, where a call may begin without a marker.
    pub(super) fn look_at_start(&mut self, text: &str, at: &mut usize, out: &mut ContentSink<'_>) {
        let start = *at;
        if self.start.ends_before(slice(text, start..), self.dialect.compiled().bare_firsts) {
            return;
        }
        for next in slice(text, *at..).chars() {
            *at += next.len_utf8();
            let Some(started) = self.start.push(next, &self.dialect.compiled().bare) else {
                continue;
            };
            let call =
                started.call.filter(|(_, lead)| self.may_call(slice(&started.text, *lead..)));
            let call = call.filter(|(form, _)| self.counts(*form, &started.text));
            let Some(call) = call else {
                // Nothing was held before this piece, which is read again.
                if started.text.len() == *at - start {
                    *at = start;
                } else {
                    self.pending.push_str(&started.text);
                }
                return;
            };
            let is_line = started.text.ends_with('(') && !self.is_bare(BareCall::Python, call.0);
            let may_echo = self.may_echo && self.is_behind_call;
            if is_line || may_echo && self.is_bare(BareCall::Python, call.0) {
                return self.hold_echo(&started, is_line);
            }
            return self.begin_unmarked(&started.text, call, self.taken + *at as u64, out);
        }
    }

    /// Returns `true` if `text`, a call without a marker, may be one judging by its name.
    fn may_call(&self, text: &str) -> bool {
        let name = name_of(text).filter(|_| self.bare_of_known);
        name.is_none_or(|name| self.tools.may_be_called(name))
    }

    /// Begins a call without a marker in `text`, in this form and after this number of bytes.
    pub(super) fn begin_unmarked(
        &mut self,
        text: &str,
        (form, lead): (usize, usize),
        offset: u64,
        out: &mut ContentSink<'_>,
    ) {
        let (lead, rest) = text.split_at_checked(lead).unwrap_or_default();
        if !lead.is_empty() {
            out(ParsedContent::Marker(lead));
        }
        let ends_itself = self.dialect.compiled().form(form).closers == 0;
        self.begin_call(form, offset);
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
        self.pending.push_str(slice(rest, to..));
    }
}
