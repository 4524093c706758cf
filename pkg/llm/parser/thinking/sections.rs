//! The two kinds of sections, each read up to the marker that ends it.

use std::mem;

use super::{
    MAX_OPENING_BYTES, ThinkingParser, ThinkingPhase,
    pieces::{PieceSink, SectionKind, check_closer, give_message},
    span_closer::ClosedSpan,
};
use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    compiled::thinking::CompiledThinking,
    content::{
        parsed::{ParsedContent, ResponsePiece},
        token::TokenKind,
    },
    scan::search::{MarkerSearch, NoTrack},
    toolcall::ForeignMarkers,
};
use forgeline_json::slice;

impl ThinkingParser {
    /// Reads the answer up to the first marker; returns `true` if there was one. If there is no `text`, the
    /// stream has ended.
    pub(super) fn message(
        &mut self,
        text: Option<(&str, &mut usize)>,
        token: TokenKind,
        out: &mut PieceSink<'_>,
    ) -> bool {
        let Self { dialect, calls, stops, output, message_bytes, mentions, is_in_answer, .. } =
            self;
        let compiled = dialect.compiled();
        let CompiledThinking {
            text: markers,
            openers,
            first_inline,
            first_closer,
            drops_strays,
            ..
        } = compiled;
        let (openers, drops_strays) = (*openers, *drops_strays);
        let (first_inline, first_closer) = (*first_inline, *first_closer);
        let may_close_late = self.may_close_late;
        let foreign = ForeignMarkers {
            markers,
            mentions,
            count: if may_close_late || drops_strays { usize::MAX } else { first_closer },
            min_cut_bytes: compiled.min_cut_bytes,
            openers,
            stops: &stops.in_message,
        };
        let give = &mut |piece: ParsedContent<'_>| {
            give_message(piece, message_bytes, output, out);
        };
        let found = match text {
            Some((text, at)) => calls.parse_until(text, at, token, Some(&foreign), give),
            None => calls.flush_until(self.may_close_calls, Some(&foreign), give),
        };
        let Some(which) = found else { return false };
        let is_inside = output.section == Some(SectionKind::Message) && !calls.is_behind_call();
        let is_typed = markers.is_typeable(which) && token != TokenKind::Special;
        let is_text = if which < openers {
            false
        } else if which >= first_closer {
            mentions.take(compiled.section_of_closer(which))
                || !may_close_late && markers.is_typeable(which)
        } else if !is_typed || which >= first_inline {
            false
        } else if markers.is_hidable(which) {
            // A tag around the answer is at its start.
            is_inside && {
                mentions.note(which);
                true
            }
        } else {
            !*is_in_answer || (openers..first_inline).any(|opener| mentions.take(opener))
        };
        if is_text {
            self.pass_found(out);
        } else if (first_inline..first_closer).contains(&which) {
            out(ResponsePiece::Framing(calls.found()));
            out(ResponsePiece::Inline);
        } else if which == ForeignMarkers::CUT || which >= first_closer && !may_close_late {
            // A special token that closes nothing.
            output.end_section(out);
            out(ResponsePiece::Framing(calls.found()));
        } else if which >= first_closer {
            let span = ClosedSpan::around(calls.code(), *message_bytes);
            self.in_span = span.filter(|_| token != TokenKind::Special);
            if self.in_span.is_none() {
                self.close_late(out);
            }
        } else {
            if which >= openers && is_typed {
                *is_in_answer = markers.is_hidable(which);
            }
            let families = compiled.families_of(which);
            let is_strange = which >= openers && families != 0 && families & self.at_work == 0;
            let is_told = token == TokenKind::Special;
            if is_told || !is_inside || which >= openers && (!is_strange || is_typed) {
                self.open(which, out);
            } else if is_strange && !markers.may_be_mention(which) && self.calls.code().hides_next()
            {
                // The header of a channel in an example.
                self.pass_found(out);
            } else if markers.may_be_mention(which) {
                self.undecided = Some((which, ""));
            } else {
                self.open(which, out);
            }
        }
        let marker = self.calls.found();
        self.skips_blank = marker.ends_with("<|message|>") && marker.contains("|> ");
        // The text that a call held back comes after the marker, before the rest of the text.
        let pending = self.calls.take_pending();
        self.parse_markers(&pending, token, out);
        true
    }

    /// Decides about a special token in the answer whose family has opened nothing: framing before
    /// another token, outside code; otherwise text.
    pub(super) fn decide_on_token(
        &mut self,
        (which, read): (usize, &'static str),
        next: Option<char>,
        at: &mut usize,
        token: TokenKind,
        out: &mut PieceSink<'_>,
    ) {
        if read.is_empty() && next == Some('<') {
            *at += 1;
            self.undecided = Some((which, "<"));
            return;
        }
        let is_before_token = !read.is_empty() && matches!(next, Some('|' | '｜'));
        if is_before_token && !self.calls.code().hides_next() {
            self.open(which, out);
        } else {
            self.pass_found(out);
        }
        self.parse_markers(read, token, out);
    }

    /// Emits the last marker as text.
    pub(super) fn pass_found(&mut self, out: &mut PieceSink<'_>) {
        let Self { calls, output, message_bytes, .. } = self;
        calls.pass_found(&mut |piece| give_message(piece, message_bytes, output, out));
    }

    pub(super) fn thinking(
        &mut self,
        which: Option<usize>,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        out: &mut PieceSink<'_>,
    ) {
        /// The kinds of markers that matter in reasoning.
        const CLOSER: usize = 0;
        const HEADER: usize = 1;
        const OPENER: usize = 2;
        const INLINE: usize = 3;
        let Self { dialect, calls, stops, scan, output, .. } = self;
        let compiled = dialect.compiled().section(which);
        let tools = calls.dialect().compiled();
        let reports_opener = self.reports_opener;
        let newlines = usize::from(compiled.framing.before_closer);
        let closers = &compiled.closers;
        let counts = token.counts();
        let check = |bytes: &[u8], is_last| {
            // Line ends before a special token arrive in ordinary ones.
            let are_line_ends = || bytes.iter().all(|byte| matches!(byte, b'\n' | b'\r'));
            if !counts && (bytes.len() > 2 * newlines || !are_line_ends()) {
                return (MarkerMatch::No, 0);
            }
            let closer = check_closer(closers, newlines, bytes, is_last);
            if closer.0 != MarkerMatch::No {
                return (closer.0, CLOSER);
            }
            let inline = compiled.inline.check_below(usize::MAX, bytes, TextAhead::at_end(is_last));
            if inline.0 != MarkerMatch::No {
                return (inline.0, INLINE);
            }
            let header =
                compiled.headers.check_below(usize::MAX, bytes, TextAhead::at_end(is_last));
            if header.0 != MarkerMatch::No || !reports_opener {
                return (header.0, HEADER);
            }
            (tools.text.check_below(tools.openers, bytes, token.ahead(is_last)).0, OPENER)
        };
        let counts = counts || newlines > 0;
        let search = MarkerSearch { stops: &stops.in_thinking, check, counts };
        let passed = &mut |text: &str| output.give_thinking(text, out);
        let Some(found) = scan.next(text, at, &search, &mut NoTrack, passed) else { return };
        let behind = scan.take_behind();
        if found == CLOSER {
            self.end_thinking(which, out);
            out(ResponsePiece::Framing(self.scan.found()));
        } else if found == HEADER {
            // A marker that begins another section is read again there.
            let header = scan.found().to_owned();
            self.end_thinking(which, out);
            self.framing_left = 0;
            self.parse_markers(&header, token, out);
        } else if found == INLINE {
            out(ResponsePiece::Framing(scan.found()));
            out(ResponsePiece::Inline);
        } else {
            self.reports_opener = false;
            out(ResponsePiece::CallOpener);
            output.give_thinking(scan.found(), out);
        }
        self.parse_markers(&behind, token, out);
    }

    pub(super) fn begin_thinking(&mut self, which: Option<usize>) {
        self.may_close_late = false;
        self.state = ThinkingPhase::Thinking(which);
        self.reports_opener = self.recovers_calls;
        let compiled = self.dialect.compiled();
        if which.is_some_and(|which| !compiled.starts.is_typeable(which)) {
            // A model that begins with a special token may repeat it.
            self.opening = Some(String::new());
        }
        self.framing_left = compiled.section(which).framing.after_opener;
    }

    /// Searches for an opener at the start of a response that is plain words, or that repeats the
    /// prompt's.
    pub(super) fn look_for_opener(
        &mut self,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        out: &mut PieceSink<'_>,
    ) {
        let Some(held) = &mut self.opening else { return };
        let compiled = self.dialect.compiled();
        for next in slice(text, *at..).chars() {
            *at += next.len_utf8();
            held.push(next);
            let rest = held.trim_ascii_start();
            let found = match rest.is_empty() {
                _ if !token.counts() => (MarkerMatch::No, 0),
                true if held.len() <= MAX_OPENING_BYTES => (MarkerMatch::Maybe, 0),
                _ => compiled.starts.check(rest.as_bytes()),
            };
            match found {
                (MarkerMatch::Maybe, _) => {}
                (MarkerMatch::Yes(_), which) => {
                    let held = mem::take(held);
                    self.opening = None;
                    self.output.end_section(out);
                    out(ResponsePiece::Framing(&held));
                    return self.begin_thinking(Some(which));
                }
                (MarkerMatch::No | MarkerMatch::Mention(_), _) => {
                    let held = mem::take(held);
                    self.opening = None;
                    return self.parse_markers(&held, token, out);
                }
            }
        }
    }

    /// Ends reasoning that was emitted as message.
    pub(super) fn close_late(&mut self, out: &mut PieceSink<'_>) {
        self.late_thinking_bytes = self.message_bytes;
        self.end_thinking(None, out);
        out(ResponsePiece::Framing(self.calls.found()));
    }

    fn end_thinking(&mut self, which: Option<usize>, out: &mut PieceSink<'_>) {
        self.output.end_section(out);
        self.state = ThinkingPhase::Message;
        self.may_close_late = false;
        self.calls.begin_section(false);
        self.framing_left = self.dialect.compiled().section(which).framing.after_closer;
    }
}

impl ThinkingParser {
    /// Processes the closer found last as text or as the end of reasoning, and the text held after it.
    pub(super) fn end_span(&mut self, is_text: bool, token: TokenKind, out: &mut PieceSink<'_>) {
        let Some(span) = self.in_span.take() else { return };
        if is_text {
            self.pass_found(out);
        } else {
            self.close_late(out);
        }
        self.parse_markers(&span.held, token, out);
    }
}
