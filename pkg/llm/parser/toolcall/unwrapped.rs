//! A call behind text that has lost the markers around it: prose may explain it.

use super::{ToolCallParser, UnwrappedCall};
use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    call::unmarked::MessageStart,
    content::parsed::{ContentSink, ParsedContent},
    dialects::dialect::ToolDialect,
};
use forgeline_json::slice;

/// Maximum length of the text held from the opener of such a call on, in bytes; a longer one is a call.
const MAX_HELD_BYTES: usize = 64 << 10;

impl UnwrappedCall {
    pub(super) fn new(opener: &str, dialect: &ToolDialect) -> Self {
        let calls = ToolCallParser::finding_ends(dialect).calls_in_code(true);
        let calls = Box::new(ToolCallParser { start: MessageStart::Past, ..calls });
        let dialect = dialect.clone();
        let mut call = Self { held: String::new(), dialect, calls, tag_end: 0, end: None };
        call.push(opener);
        call
    }

    /// Reads text from `*at` until it is known whether it is a call.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize) -> Option<bool> {
        while *at < text.len() {
            if self.held.len() >= MAX_HELD_BYTES {
                return Some(true);
            }
            let rest = slice(text, *at..);
            let is_behind_tag = self.tag_end == self.held.len();
            let tag = memchr::memchr(b'>', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
            let next = if self.end.is_some() || is_behind_tag {
                rest.ceil_char_boundary(1)
            } else {
                rest.floor_char_boundary(tag.min(MAX_HELD_BYTES - self.held.len()))
                    .max(rest.ceil_char_boundary(1))
            };
            let next = slice(rest, ..next);
            *at += next.len();
            self.push(next);
            if let Some(is_call) = self.is_call() {
                return Some(is_call);
            }
        }
        None
    }

    fn push(&mut self, text: &str) {
        self.held.push_str(text);
        if self.end.is_some() {
            return;
        }
        if text.ends_with('>') {
            self.tag_end = self.held.len();
        }
        let mut has_ended = false;
        self.calls.parse(text, &mut |content| {
            has_ended |= matches!(content, ParsedContent::CallEnd { .. });
        });
        if has_ended {
            self.end = Some(self.tag_end);
        }
    }

    /// Decides by the text after the call: a marker of the dialect, or other text.
    fn is_call(&self) -> Option<bool> {
        let behind = slice(&self.held, self.end?..).trim_ascii_start();
        if behind.is_empty() {
            return None;
        }
        let markers = &self.dialect.compiled().text;
        match markers.check_below(usize::MAX, behind.as_bytes(), TextAhead::Any).0 {
            MarkerMatch::Yes(_) => Some(true),
            MarkerMatch::Maybe => None,
            MarkerMatch::No | MarkerMatch::Mention(_) => Some(false),
        }
    }
}

impl ToolCallParser {
    /// Processes the text held from an opener without markers around its call on: as a call that is read now, or as
    /// text, up to the end of the call.
    pub(super) fn settle_unwrapped(&mut self, is_call: bool, out: &mut ContentSink<'_>) {
        let Some(call) = self.unwrapped.take() else { return };
        let UnwrappedCall { held, end, .. } = *call;
        if is_call {
            self.is_certain = true;
            return self.pending.insert_str(0, &held);
        }
        let (text, rest) = held.split_at(end.unwrap_or(held.len()).min(held.len()));
        self.code.pass(text.as_bytes());
        out(ParsedContent::Text(text));
        self.pending.insert_str(0, rest);
    }
}
