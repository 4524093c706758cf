//! The end of a call at a closer, or before an opener, that was ambiguous.

use super::{
    ambiguous_close::AmbiguousClose,
    end_reason::CallEndReason,
    region::{CallRegion, pass_all},
};
use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    compiled::tools::BodyRole,
    content::{
        parsed::{ContentSink, ParseOutcome, ParsedContent},
        token::TokenKind,
    },
};
use forgeline_json::slice;

/// Openers in elements that were data count from this length of the text on that was held for them, in bytes.
const LONG_INNER_BYTES: usize = 256;
/// The fault of a call in whose open value another call begins.
const NOT_ENDED: &str = "a value is not closed before the next call";

impl CallRegion {
    /// Decides about an opener in a string or an element. If that `is_broken` and a call can follow, the current call
    /// ends before the opener. Returns `true` if the call ended.
    pub(super) fn end_at_opener(&mut self, is_broken: bool, out: &mut ContentSink<'_>) -> bool {
        let Some(opener) = self.ambiguous.take() else { return false };
        let compiled = self.dialect.compiled();
        let front = opener.text().as_bytes();
        let found = compiled.text.check_below(compiled.openers, front, TextAhead::Nothing).0;
        if is_broken && matches!(found, MarkerMatch::Yes(_)) {
            let in_string = "a string is not closed before the next call";
            let reason = if opener.is_in_element() { NOT_ENDED } else { in_string };
            let outcome = self.body.broken(reason);
            self.give_end(outcome, out);
            self.rest.push_str(opener.text());
            return true;
        }
        self.inner_openers += u8::from(opener.text().len() > LONG_INNER_BYTES);
        pass_all(&mut self.body, &mut self.rest, opener.closer(), out);
        self.is_too_long() || self.feed_again(opener.behind_closer(), TokenKind::Unknown, out)
    }

    /// Takes the held text, which begins with a call and ends with a tag, as data of the value that ends with it; the
    /// current call ends too if it `is_broken`. Returns `true` if the call ended.
    pub(super) fn take_inner_call(&mut self, is_broken: bool, out: &mut ContentSink<'_>) -> bool {
        let Some(inner) = self.ambiguous.take() else { return false };
        let text = inner.text();
        let end = text.rfind('<').unwrap_or(text.len());
        self.body.tell(out, |reader, _| reader.begin_inner_call());
        pass_all(&mut self.body, &mut self.rest, slice(text, ..end), out);
        self.body.tell(out, |reader, out| reader.end_inner_call(out));
        pass_all(&mut self.body, &mut self.rest, slice(text, end..), out);
        if is_broken && !self.is_too_long() {
            self.give_end(self.body.broken(NOT_ENDED), out);
        }
        is_broken || self.is_too_long()
    }

    /// Returns `true` if the text behind an opener is a whole call of an offered tool.
    fn is_call(&self, text: &str) -> bool {
        let mut call = self.like();
        let (mut is_offered, mut is_whole) = (None, None);
        call.feed(text, &mut 0, TokenKind::Unknown, &mut |piece| {
            if let ParsedContent::CallName(name) = piece {
                is_offered.get_or_insert(self.body.counts(name));
            } else if let ParsedContent::CallEnd { outcome, .. } = piece {
                is_whole.get_or_insert(*outcome == ParseOutcome::Complete);
            }
        });
        is_offered == Some(true) && is_whole == Some(true)
    }

    pub(super) fn take_ambiguous_as_data(&mut self, out: &mut ContentSink<'_>) {
        if let Some(ambiguous) = self.ambiguous.take() {
            self.body.tell(out, |reader, out| reader.end_inner_call(out));
            pass_all(&mut self.body, &mut self.rest, ambiguous.text(), out);
        }
    }

    /// Ends the call at the ambiguous closer; in a string of a value, that string is broken instead, and the value's
    /// tags decide what the closer means. Returns `true` if the call ended.
    pub(super) fn end_or_break_string(&mut self, out: &mut ContentSink<'_>) -> bool {
        let opener = self.ambiguous.as_ref().filter(|it| it.role() == BodyRole::Opener);
        let is_broken = opener.map(|opener| {
            opener.has_string_ended()
                || opener.is_in_element() && self.is_call(opener.behind_closer())
        });
        if let Some(is_broken) = is_broken {
            return self.end_at_opener(is_broken, out);
        }
        let broken = self.ambiguous.take_if(|ambiguous| ambiguous.is_in_value_string());
        let Some(broken) = broken else { return self.end_at_ambiguous(out) };
        self.body.tell(out, |reader, out| reader.break_string(out));
        let guard = self.body.guard();
        self.ambiguous = AmbiguousClose::new(broken.closer(), broken.role(), guard);
        if self.ambiguous.is_none() {
            self.ambiguous = Some(broken);
            return self.end_at_ambiguous(out);
        }
        self.feed_again(broken.behind_closer(), TokenKind::Unknown, out)
    }

    /// Treats the ambiguous closer as a real one: ends the call there, or the function whose end it was.
    /// Returns `true` if the call ended.
    pub(super) fn end_at_ambiguous(&mut self, out: &mut ContentSink<'_>) -> bool {
        let Some(ambiguous) = self.ambiguous.take() else { return false };
        let behind = ambiguous.behind_closer();
        if ambiguous.is_in_string() {
            let outcome = self.body.broken("a string is not closed before the end of the call");
            self.give_end(outcome, out);
        } else if ambiguous.role() == BodyRole::FunctionEnd {
            self.body.tell(out, |reader, out| reader.end_value(out));
            pass_all(&mut self.body, &mut self.rest, ambiguous.closer(), out);
            if !self.has_ended() {
                return self.feed_again(behind, TokenKind::Unknown, out);
            }
            self.end(CallEndReason::Grammar, out);
            self.rest.push_str(behind);
            return true;
        } else {
            let is_block = ambiguous.role() == BodyRole::BlockCloser;
            self.end(if is_block { CallEndReason::Block } else { CallEndReason::Closer }, out);
        }
        self.rest.push_str(behind);
        out(ParsedContent::Marker(ambiguous.closer()));
        true
    }
}
