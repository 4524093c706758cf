//! One call, from after its opener to after its closer.

use super::{
    ambiguous_close::AmbiguousClose, body::CallBody, close_verdict::CloseVerdict,
    end_reason::CallEndReason,
};
use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    builder::role::MarkerRole,
    compiled::tools::{BodyRole, CompiledForm},
    content::{
        parsed::{ContentSink, ParseOutcome, ParsedContent},
        token::TokenKind,
    },
    dialects::dialect::ToolDialect,
    grammar::{KnownTools, MarkerGuard, PlainText},
    scan::search::{MarkerScan, MarkerSearch, NoTrack},
};
use forgeline_json::slice;
use forgeline_types::Repair;

/// Maximum number of openers in the elements of one call that are held at length.
const MAX_INNER_OPENERS: u8 = 8;

/// A reader of one call, from after its opener to after its closer.
///
/// A closer inside a string is ambiguous: it is data if the string continues to an end at which a string
/// may end; otherwise the string was broken and the call ended at that closer.
#[derive(Debug)]
pub(crate) struct CallRegion {
    pub(super) dialect: ToolDialect,
    pub(super) form: usize,
    /// `true` if a function in tags may be the call.
    pub(super) has_functions: bool,
    pub(super) body: CallBody,
    pub(super) scan: MarkerScan,
    pub(super) ambiguous: Option<AmbiguousClose>,
    /// The number of openers in elements that were data although much text was held to find that out.
    pub(super) inner_openers: u8,
    /// Message text after a closer that was ambiguous for a while.
    pub(super) rest: String,
}

impl CallRegion {
    /// Creates the reader of a call in form number `form` of `dialect`.
    pub(crate) fn new(
        dialect: &ToolDialect,
        form: usize,
        tools: &KnownTools,
        max_bytes: usize,
    ) -> Self {
        let compiled = dialect.compiled().form(form);
        let CompiledForm { grammar, closers, .. } = compiled;
        Self {
            dialect: dialect.clone(),
            form,
            has_functions: compiled.has_functions(),
            body: CallBody::new(grammar, *closers == 0, tools.clone(), max_bytes),
            scan: MarkerScan::new(),
            ambiguous: None,
            inner_openers: 0,
            rest: String::new(),
        }
    }

    /// Creates a reader of another call of the same form and tools.
    pub(super) fn like(&self) -> Self {
        let (tools, max_bytes) = self.body.settings();
        Self::new(&self.dialect, self.form, tools, max_bytes)
    }

    /// Begins another call of the same form.
    pub(crate) fn restart(&mut self) {
        self.body.restart();
        self.ambiguous = None;
        self.inner_openers = 0;
    }

    /// Returns `true` for the reader of calls in form number `form`.
    pub(crate) fn is_of_form(&self, form: usize) -> bool {
        self.form == form
    }

    /// Returns `true` for a call that is ended by a marker.
    pub(crate) fn has_closers(&self) -> bool {
        self.dialect.compiled().form(self.form).closers > 0
    }

    /// Returns `true` if the body has exceeded its limit; the call has then been ended.
    pub(crate) fn is_too_long(&self) -> bool {
        self.body.is_too_long()
    }

    /// Takes the message text that was held back during this call.
    pub(crate) fn take_rest(&mut self) -> String {
        std::mem::take(&mut self.rest)
    }

    /// Continues from `*at`; returns `true` if the call ended, with `*at` after its closer.
    pub(crate) fn feed(
        &mut self,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        out: &mut ContentSink<'_>,
    ) -> bool {
        loop {
            if let Some(ambiguous) = &mut self.ambiguous {
                let form = self.dialect.compiled().form(self.form);
                let is_opener = ambiguous.role() == BodyRole::Opener;
                let has_ended = match ambiguous.feed(text, at, &self.body, form) {
                    CloseVerdict::Unknown => return false,
                    CloseVerdict::Value => self.take_inner_call(false, out),
                    CloseVerdict::Broken => self.take_inner_call(true, out),
                    verdict if is_opener => {
                        self.end_at_opener(verdict == CloseVerdict::Closer, out)
                    }
                    CloseVerdict::Data => {
                        self.take_ambiguous_as_data(out);
                        self.is_too_long()
                    }
                    CloseVerdict::Closer => self.end_or_break_string(out),
                };
                if has_ended {
                    return true;
                }
                continue;
            }
            let rest = slice(text, *at..);
            let ends_itself = !self.has_functions && self.body.ends_itself();
            let is_free = !ends_itself || self.is_free_of_openers(rest);
            let string = if is_free { None } else { self.end_of_string(rest) };
            if string.is_none()
                && ends_itself
                && !self.body.has_failed()
                && !self.body.is_lost()
                && let Some(has_ended) = self.feed_to_own_end(text, at, is_free, out)
            {
                if has_ended || *at == text.len() {
                    return has_ended;
                }
                continue;
            }
            let read = slice(text, ..string.map_or(text.len(), |bytes| *at + bytes));
            let found = self.next_marker(Some((read, at)), token, out);
            if self.end_behind_function(found.is_some(), out) {
                return true;
            }
            let Some(role) = found else {
                if self.is_too_long() || *at == text.len() {
                    return self.is_too_long();
                }
                continue;
            };
            let behind = self.scan.take_behind();
            if self.is_too_long() || self.at_marker(role, token, out) {
                self.rest.push_str(&behind);
                return true;
            }
            if !behind.is_empty() && self.feed_again(&behind, token, out) {
                return true;
            }
        }
    }

    /// Reads held text again; returns `true` if the call ended in it.
    pub(super) fn feed_again(
        &mut self,
        held: &str,
        token: TokenKind,
        out: &mut ContentSink<'_>,
    ) -> bool {
        let mut to = 0;
        let has_ended = self.feed(held, &mut to, token, out);
        if has_ended {
            self.rest.push_str(slice(held, to..));
        }
        has_ended
    }

    /// Returns `true` if the function that forms the call has ended.
    pub(super) fn has_ended(&self) -> bool {
        let is_looked_for = self.has_functions && self.body.ends_itself();
        (is_looked_for || self.body.is_lost()) && self.body.has_ended()
    }

    /// Ends the call if its function has ended; a marker found after it becomes text again.
    fn end_behind_function(&mut self, has_found: bool, out: &mut ContentSink<'_>) -> bool {
        let has_ended = self.has_ended();
        if has_ended {
            if has_found {
                self.rest.push_str(self.scan.found());
            }
            self.rest.push_str(&self.scan.take_behind());
            self.rest.push_str(&self.scan.take_held());
            self.end(CallEndReason::Grammar, out);
        }
        has_ended
    }

    /// Returns which text may be [skipped](Self::skip), and how many bytes of it.
    pub(crate) fn plain(&self) -> (PlainText, usize) {
        if self.ambiguous.is_some() || !self.scan.is_idle() {
            return (PlainText::Nothing, 0);
        }
        let (plain, room) = self.body.plain();
        if plain == PlainText::Nothing {
            return (plain, room);
        }
        let form = self.dialect.compiled().form(self.form);
        let is_tail = plain == PlainText::MarkupTail;
        let unmarked = form.unmarked(if is_tail { PlainText::MarkupRules } else { plain });
        (if is_tail && unmarked != PlainText::Nothing { plain } else { unmarked }, room)
    }

    /// Returns `true` if no marker begins in `text`.
    pub(crate) fn is_unmarked(&self, text: &str) -> bool {
        self.dialect.compiled().form(self.form).stops().are_absent(text)
    }

    /// Reads text in which no marker begins, within the limit, after `skipped` bytes that were passed on
    /// without being examined. Returns `false`, and reads nothing, if text is held or the grammar may end the call.
    pub(crate) fn pass_unmarked(
        &mut self,
        skipped: usize,
        text: &str,
        out: &mut ContentSink<'_>,
    ) -> bool {
        let may_end = self.body.ends_itself() && !self.is_in_string(text);
        let is_read = self.body.has_begun() && !may_end;
        if is_read {
            let Self { body, rest, .. } = self;
            if skipped > 0 {
                body.skip(skipped);
            }
            pass_all(body, rest, text, out);
        }
        is_read
    }

    /// Emits text of a value that is `plain` and in which no marker begins, apart from bytes that must be
    /// examined: if the value continues, it may be [skipped](Self::skip). Returns which of the following text may pass,
    /// or `None`, emitting nothing, for other text.
    pub(crate) fn pass_plain(
        &mut self,
        plain: PlainText,
        text: &str,
        out: &mut ContentSink<'_>,
    ) -> Option<PlainText> {
        let is_markup = plain.is_markup() || plain == PlainText::MarkupTail;
        if plain == PlainText::Nothing
            || !is_markup && !plain.passes_between_markers(text.as_bytes())
        {
            return None;
        }
        if !is_markup {
            out(ParsedContent::CallVerbatim(text));
            return Some(plain);
        }
        let json = &mut |json: &str| out(ParsedContent::CallArguments(json));
        let next = self.body.pass_escaped(text, json)?;
        out(ParsedContent::CallSource(text));
        out(ParsedContent::CallBody(text));
        Some(next)
    }

    /// Returns the meaning of a marker at the current position.
    pub(crate) fn guard(&self) -> MarkerGuard {
        self.body.guard()
    }

    /// Counts text that was passed on without being examined.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.body.skip(bytes);
    }

    /// Emits the body up to the next marker, whose role it returns. If there is no `text`, the stream has
    /// ended.
    fn next_marker(
        &mut self,
        text: Option<(&str, &mut usize)>,
        token: TokenKind,
        out: &mut ContentSink<'_>,
    ) -> Option<BodyRole> {
        let Self { dialect, body, scan, rest, .. } = self;
        let form = dialect.compiled().form(self.form);
        let search = MarkerSearch {
            stops: form.stops(),
            check: |bytes: &[u8], is_last| {
                form.inside.check_below(usize::MAX, bytes, TextAhead::at_end(is_last))
            },
            counts: token.counts(),
        };
        let passed = &mut |text: &str| pass_all(body, rest, text, out);
        let which = match text {
            Some((text, at)) => scan.next(text, at, &search, &mut NoTrack, passed)?,
            None => scan.finish(&search, &mut NoTrack, passed)?,
        };
        Some(form.role(which))
    }

    /// Decides about a marker in the body; returns `true` if the call ends there.
    fn at_marker(&mut self, role: BodyRole, token: TokenKind, out: &mut ContentSink<'_>) -> bool {
        let guard = self.body.guard();
        let is_closer = matches!(role, BodyRole::Closer | BodyRole::BlockCloser);
        // A special token is a marker anywhere.
        let is_special = token == TokenKind::Special;
        let is_opener = role == BodyRole::Opener;
        let may_begin = match guard {
            MarkerGuard::InString(_) => true,
            MarkerGuard::InElement => self.inner_openers < MAX_INNER_OPENERS,
            MarkerGuard::Open
            | MarkerGuard::Closed
            | MarkerGuard::ClosersOnly
            | MarkerGuard::BehindName
            | MarkerGuard::InValueString(_)
            | MarkerGuard::InLine
            | MarkerGuard::InValue => false,
        };
        if is_opener && !is_special && may_begin {
            self.ambiguous = AmbiguousClose::new(self.scan.found(), role, guard);
            return false;
        }
        if role == BodyRole::Opener && guard == MarkerGuard::BehindName && self.found_own_opener() {
            self.body.begin_key(self.scan.found(), out);
            return self.is_too_long();
        }
        let is_data = match (guard, role) {
            (MarkerGuard::Closed, _) => true,
            (MarkerGuard::InValue | MarkerGuard::InValueString(_), BodyRole::FunctionEnd) => false,
            (_, BodyRole::FunctionEnd) => true,
            (MarkerGuard::InString(_), BodyRole::BlockCloser) => !is_special,
            (
                MarkerGuard::InString(_) | MarkerGuard::InValueString(_) | MarkerGuard::InValue,
                _,
            ) => !is_closer && !is_special,
            (MarkerGuard::ClosersOnly | MarkerGuard::InElement, _) => !is_closer,
            (MarkerGuard::InLine, _) => !is_closer && !is_special,
            (MarkerGuard::Open | MarkerGuard::BehindName, _) => false,
        };
        if is_data {
            pass_all(&mut self.body, &mut self.rest, self.scan.found(), out);
            if role == BodyRole::Opener && guard == MarkerGuard::InValue {
                self.body.tell(out, |reader, _| reader.begin_inner_call());
            }
            let has_ended = self.has_ended();
            if has_ended {
                self.end(CallEndReason::Grammar, out);
            }
            return has_ended || self.is_too_long();
        }
        let is_blank = self.body.end_blank(out);
        if role == BodyRole::Opener {
            // An opener that began in an earlier piece cannot be read again from this one.
            self.rest.push_str(self.scan.found());
            if !is_blank {
                self.end(CallEndReason::Implicit, out);
            }
            return true;
        }
        if is_blank {
            out(ParsedContent::Marker(self.scan.found()));
            return true;
        }
        if guard != MarkerGuard::InElement {
            self.ambiguous = AmbiguousClose::new(self.scan.found(), role, guard);
        }
        if self.ambiguous.is_some() {
            return is_special && self.end_at_ambiguous(out);
        }
        self.end(
            if role == BodyRole::Closer { CallEndReason::Closer } else { CallEndReason::Block },
            out,
        );
        out(ParsedContent::Marker(self.scan.found()));
        true
    }

    /// Returns `true` if the marker found last opens calls of this form.
    fn found_own_opener(&self) -> bool {
        let compiled = self.dialect.compiled();
        let found = self.scan.found().as_bytes();
        let (found, which) = compiled.text.check_below(compiled.openers, found, TextAhead::Any);
        matches!(found, MarkerMatch::Yes(_)) && compiled.role(which) == MarkerRole::Call(self.form)
    }

    /// Emits an opener that is the beginning of the body.
    pub(crate) fn pass(&mut self, text: &str, out: &mut ContentSink<'_>) {
        self.body.pass(text, out);
    }

    /// Ends the call because content of another kind follows: if that `is_outside` a call, or
    /// after an ambiguous closer whose string has ended. Returns `true` if the call ended.
    pub(crate) fn settle(&mut self, is_outside: bool, out: &mut ContentSink<'_>) -> bool {
        if is_outside {
            self.finish(true, out);
            return true;
        }
        let is_closer = self.ambiguous.as_ref().is_some_and(AmbiguousClose::has_string_ended);
        is_closer && self.end_or_break_string(out)
    }

    /// Ends the stream; with `may_close`, a complete payload may lack its closer.
    pub(crate) fn finish(&mut self, may_close: bool, out: &mut ContentSink<'_>) {
        loop {
            let is_cut_value =
                !may_close && self.ambiguous.as_ref().is_some_and(|it| !it.is_in_string());
            let is_in_element = self.ambiguous.as_ref().is_some_and(AmbiguousClose::is_in_element);
            if !may_close && is_in_element {
                if self.end_at_opener(false, out) {
                    return;
                }
                continue;
            }
            if is_cut_value {
                self.take_ambiguous_as_data(out);
            } else if self.ambiguous.is_some() {
                if self.end_or_break_string(out) {
                    return;
                }
                continue;
            }
            let found = self.next_marker(None, TokenKind::Unknown, out);
            if self.end_behind_function(found.is_some(), out) {
                return;
            }
            let Some(role) = found else { break };
            let held = self.scan.take_held();
            if self.at_marker(role, TokenKind::Unknown, out) {
                return self.rest.push_str(&held);
            }
            if self.feed_again(&held, TokenKind::Unknown, out) {
                return;
            }
        }
        if self.body.is_empty_list() {
            self.body.end_blank(out);
        } else if !self.is_too_long() {
            let end = match may_close {
                _ if self.body.ends_itself() && self.body.ends_with_text() => {
                    CallEndReason::Grammar
                }
                true => CallEndReason::Implicit,
                false => CallEndReason::Cut,
            };
            self.end(end, out);
        }
    }

    pub(super) fn end(&mut self, end: CallEndReason, out: &mut ContentSink<'_>) {
        self.body.begin(out);
        let is_open = match end {
            CallEndReason::Closer | CallEndReason::Grammar => false,
            CallEndReason::Implicit => !self.body.is_whole(),
            CallEndReason::Block => !self.body.is_whole_in_block(),
            CallEndReason::Cut => true,
        };
        if is_open && !self.body.has_failed() {
            return self.give_end(ParseOutcome::Incomplete, out);
        }
        if matches!(end, CallEndReason::Implicit | CallEndReason::Block) {
            self.body.tell(out, |reader, _| reader.end_without_closer());
        }
        let outcome = self.body.close(out);
        if outcome == ParseOutcome::Complete
            && matches!(end, CallEndReason::Implicit | CallEndReason::Block)
        {
            self.body.note(Repair::ImplicitClose);
        }
        self.give_end(outcome, out);
    }

    pub(super) fn give_end(&mut self, outcome: ParseOutcome, out: &mut ContentSink<'_>) {
        out(ParsedContent::CallEnd { outcome: &outcome, repairs: self.body.repairs() });
    }
}

/// Emits text of the body; text after its end is added to `rest`.
pub(super) fn pass_all(
    body: &mut CallBody,
    rest: &mut String,
    text: &str,
    out: &mut ContentSink<'_>,
) {
    let mut read = body.pass(text, out);
    while read < text.len() && !body.has_ended() {
        // After a mistake, everything up to the end of the call is body.
        read += body.pass(slice(text, read..), out);
    }
    if read < text.len() {
        rest.push_str(slice(text, read..));
    }
}
