//! Calls without a closer, which their grammar ends.

use super::{end_reason::CallEndReason, region::CallRegion};
use crate::{
    content::parsed::ContentSink,
    grammar::{MarkerGuard, is_free_of},
};
use forgeline_json::slice;

impl CallRegion {
    /// Returns `true` if no opener of another call begins in `text` or before it.
    #[inline]
    pub(super) fn is_free_of_openers(&self, text: &str) -> bool {
        let form = self.dialect.compiled().form(self.form);
        !form.has_openers() || (self.scan.is_idle() && form.stops().are_absent(text))
    }

    /// Returns `true` if all of `text`, in which no marker begins, belongs to the open string of a call that ends itself.
    pub(super) fn is_in_string(&self, text: &str) -> bool {
        let MarkerGuard::InString(quote) = self.body.guard() else { return false };
        let is_open = !self.body.has_failed() && !self.body.is_lost();
        is_open && quote.bytes().next().is_some_and(|quote| is_free_of(quote, text))
    }

    /// Returns how much of `text` surely belongs to the open string of a call that ends itself, in which an opener may
    /// begin another call; or the one byte that may end the string.
    pub(super) fn end_of_string(&self, text: &str) -> Option<usize> {
        if text.is_empty() {
            return None;
        }
        let MarkerGuard::InString(quote) = self.body.guard() else { return None };
        let quote = *quote.as_bytes().first().filter(|_| self.body.has_begun())?;
        let end = memchr::memchr(quote, text.as_bytes()).unwrap_or(text.len());
        Some(end.max(1))
    }

    /// Returns the front of `text` up to the first quote, if an opener may follow it.
    fn before_string(text: &str) -> &str {
        let quote = memchr::memchr2(b'"', b'\'', text.as_bytes());
        quote.map_or(text, |quote| slice(text, ..=quote))
    }

    /// Continues in a call without a closer; returns `None` after a mistake, after which the call ends
    /// at a marker.
    pub(super) fn feed_to_own_end(
        &mut self,
        text: &str,
        at: &mut usize,
        is_free: bool,
        out: &mut ContentSink<'_>,
    ) -> Option<bool> {
        let rest = slice(text, *at..);
        let rest = if is_free { rest } else { Self::before_string(rest) };
        let read = self.body.pass(rest, out);
        *at += read;
        if self.body.is_empty_list() {
            return Some(self.body.end_blank(out));
        }
        if self.body.has_failed() && self.body.is_empty() {
            // Text that failed immediately may look like the next opener, but belongs to this call.
            let first = text.ceil_char_boundary(text.len().min(*at + 1));
            self.body.pass(slice(text, *at..first), out);
            *at = first;
        }
        if self.is_too_long() {
            return Some(true);
        }
        if self.body.has_failed() {
            return None;
        }
        let has_ended = self.body.has_ended();
        if has_ended || read < rest.len() {
            self.end(if has_ended { CallEndReason::Grammar } else { CallEndReason::Implicit }, out);
            return Some(true);
        }
        Some(false)
    }
}
