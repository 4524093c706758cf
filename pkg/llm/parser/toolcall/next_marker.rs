//! The search for the next marker in message text: an own one, another parser's, or a token truncated at the end.

use std::{cell::Cell, ptr};

use super::{CUT, FOREIGN, ForeignMarkers, ToolCallParser};
use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    builder::role::MarkerRole,
    content::{parsed::ContentSink, token::TokenKind},
    scan::{
        code_spans::CodeSpans,
        search::{CodeTrack, MarkerSearch},
    },
};
use forgeline_json::slice;

impl ToolCallParser {
    /// Emits text up to the next marker; returns the number of a foreign one. If there is no `text`,
    /// the stream has ended and held text is read.
    pub(super) fn next_marker(
        &mut self,
        text: Option<(&str, &mut usize)>,
        token: TokenKind,
        foreign: Option<&ForeignMarkers<'_>>,
        out: &mut ContentSink<'_>,
    ) -> Option<usize> {
        let Self { dialect, scan, code, hidden_calls, stops, is_behind_call, turn_end, .. } = self;
        let (own_mentions, is_before_text) = (&mut self.mentions, &mut self.is_before_text);
        let compiled = dialect.compiled();
        let may_hide = token != TokenKind::Special;
        let (hides_calls, breaks) = (may_hide && !self.calls_in_code, self.breaks);
        let min_cut_bytes = foreign.map_or(compiled.min_cut_bytes, |it| it.min_cut_bytes);
        let is_in_prose = self.is_in_prose;
        let mut track = CodeTrack {
            code,
            on_text: |which, is_hidden| match which {
                FOREIGN.. => {
                    if let Some(foreign) = foreign {
                        foreign.mentions.note(which - FOREIGN);
                    }
                }
                _ if is_hidden && matches!(compiled.role(which), MarkerRole::Call(_)) => {
                    *hidden_calls += u32::from(!is_in_prose);
                }
                _ if which < compiled.openers => *own_mentions = own_mentions.saturating_add(1),
                _ => {}
            },
            is_hidden: |which, code: CodeSpans| {
                if which < FOREIGN {
                    let is_opener = which < compiled.openers && compiled.text.is_hidable(which);
                    return hides_calls && is_opener && code.is_in_fence_of_opener();
                }
                may_hide
                    && foreign.is_some_and(|foreign| foreign.markers.is_hidable(which - FOREIGN))
            },
        };
        let end = match (*is_behind_call, self.may_unwrap) {
            (true, _) => usize::MAX,
            (false, true) => compiled.first_orphan,
            (false, false) => compiled.first_closer,
        };
        let is_directly_behind = *is_behind_call;
        let is_behind_block = is_directly_behind && self.is_in_wrapper && compiled.drops_strays();
        let block = CallBlock::new(self.is_in_block, scan.is_idle(), text.as_ref());
        let check = |bytes: &[u8], is_last| {
            let ahead = if is_last && breaks { TextAhead::Break } else { token.ahead(is_last) };
            if let Some(foreign) = foreign {
                let (found, which) = foreign.markers.check_below(foreign.count, bytes, ahead);
                if found != MarkerMatch::No {
                    let header = if let MarkerMatch::Yes(length) = found
                        && which >= foreign.openers
                    {
                        compiled.longer_header(length, bytes, ahead)
                    } else {
                        None
                    };
                    return header.unwrap_or((found, which + FOREIGN));
                }
            }
            let in_text = if ahead == TextAhead::More && block.goes_on(bytes) {
                TextAhead::Block
            } else {
                ahead
            };
            let found = compiled.text.check_below(end, bytes, in_text);
            if is_behind_block && ahead == TextAhead::Nothing && compiled.is_cut_closer(bytes) {
                return (MarkerMatch::Yes(bytes.len()), CUT);
            }
            // Otherwise the beginning of a token is text.
            let is_of_markers = is_directly_behind || memchr::memchr(b'>', bytes).is_some();
            let may_be_cut =
                is_of_markers && ahead == TextAhead::Nothing && bytes.len() >= min_cut_bytes;
            let is_stray = || compiled.role(found.1) == MarkerRole::Stray;
            if !may_be_cut || found.0 != MarkerMatch::No && !is_stray() {
                return found;
            }
            match foreign {
                _ if compiled.text.is_cut_token(bytes) => (MarkerMatch::Yes(bytes.len()), CUT),
                Some(foreign) if foreign.markers.is_cut_token(bytes) => {
                    (MarkerMatch::Yes(bytes.len()), ForeignMarkers::CUT)
                }
                _ => found,
            }
        };
        let stops = foreign.map_or(&**stops, |foreign| foreign.stops);
        let search = MarkerSearch { stops, check, counts: token.counts() };
        let passed = &mut |text: &str| {
            let is_blank = text.trim_ascii_start().is_empty();
            *is_behind_call &= is_blank;
            *is_before_text &= is_blank;
            block.pass(text);
            turn_end.pass(text, out);
        };
        let (which, at) = match text {
            Some((text, at)) => (scan.next(text, at, &search, &mut track, passed), *at),
            None => (scan.finish(&search, &mut track, passed), 0),
        };
        self.is_in_block = block.is_open.get();
        let which = which?;
        self.pending.insert_str(0, &self.scan.take_behind());
        self.at_marker(which, at, hides_calls, out)
    }

    /// Processes marker `which`, found before byte `at`; returns the number of a foreign one.
    fn at_marker(
        &mut self,
        which: usize,
        at: usize,
        hides_calls: bool,
        out: &mut ContentSink<'_>,
    ) -> Option<usize> {
        if which == ForeignMarkers::CUT {
            return Some(which);
        }
        let compiled = self.dialect.compiled();
        let role = if which == CUT { MarkerRole::Stray } else { compiled.role(which) };
        let found = self.scan.found();
        let behind = (self.may_unwrap, self.is_behind_call);
        if which < FOREIGN && self.turn_end.take(found, role, behind, out) {
            self.code.pass(found.as_bytes());
            return None;
        }
        self.turn_end.release(out);
        if which >= FOREIGN {
            return Some(which - FOREIGN);
        }
        self.take_marker(which, at, hides_calls, out);
        None
    }
}

/// A block of calls in which only whitespace has been read.
struct CallBlock<'t> {
    is_open: Cell<bool>,
    /// The text that is being read; empty if the text being read was held back before it.
    text: &'t [u8],
}

impl<'t> CallBlock<'t> {
    fn new(is_open: bool, is_idle: bool, text: Option<&(&'t str, &mut usize)>) -> Self {
        let text = text.filter(|_| is_idle).map_or("", |(text, at)| slice(text, **at..));
        Self { is_open: Cell::new(is_open), text: text.as_bytes() }
    }

    fn pass(&self, text: &str) {
        if self.is_open.get() {
            self.is_open.set(text.trim_ascii_start().is_empty());
        }
    }

    /// Returns `true` if `bytes`, which are part of the text, are the first in the block.
    fn goes_on(&self, bytes: &[u8]) -> bool {
        let first = || self.text.trim_ascii_start().as_ptr();
        self.is_open.get() && (self.text.is_empty() || ptr::eq(first(), bytes.as_ptr()))
    }
}
