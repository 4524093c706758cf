//! The inside of one call: its payload, and where it ends.

use std::sync::Arc;

use serde_json::Value;

use super::{
    content::{CallEnd, ParsedContent},
    dialect::{CompiledForm, ToolDialect},
    payload::Payload,
    reader::{Guard, PayloadOut, Plain},
    repairs::RepairSet,
    scan::{NoTrack, Scan, Search},
    suspect::{Suspect, Verdict},
    token::TokenKind,
};
use crate::types::{Repair, Text};

/// What ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Closer,
    /// The grammar itself.
    Grammar,
    /// The next opener, or the end of a stream that may have left the closer out.
    Implicit,
    /// The stream was cut.
    Cut,
}

/// Reads one call from behind its opener to behind its closer.
///
/// A closer inside a string is suspect: it is data when the string goes on to end where a string
/// may, else the string was broken and the call ended at that closer.
#[derive(Debug)]
pub(super) struct Region {
    dialect: ToolDialect,
    form: usize,
    payload: Payload,
    scan: Scan,
    suspect: Option<Suspect>,
    limit: usize,
    /// Bytes of the body of the call at hand, and of those before it in the same payload.
    body_bytes: usize,
    earlier_bytes: usize,
    /// Message text behind a closer that was suspect for a while.
    rest: String,
}

impl Region {
    pub(super) fn new(
        dialect: &ToolDialect,
        form: usize,
        schemas: &Arc<[(Text, Value)]>,
        limit: usize,
    ) -> Self {
        let CompiledForm { grammar, closers, .. } = dialect.compiled().form(form);
        Self {
            dialect: dialect.clone(),
            form,
            payload: Payload::new(grammar, *closers == 0, Arc::clone(schemas)),
            scan: Scan::new(),
            suspect: None,
            limit,
            body_bytes: 0,
            earlier_bytes: 0,
            rest: String::new(),
        }
    }

    /// Begins another call of the same form in the same place.
    pub(super) fn restart(&mut self) {
        self.payload.restart();
        self.suspect = None;
        self.body_bytes = 0;
        self.earlier_bytes = 0;
    }

    pub(super) fn is_of_form(&self, form: usize) -> bool {
        self.form == form
    }

    /// Whether the body has passed its limit; the call has then been ended.
    pub(super) fn is_too_long(&self) -> bool {
        self.earlier_bytes + self.body_bytes > self.limit
    }

    /// Message text that this call had held back.
    pub(super) fn take_rest(&mut self) -> String {
        std::mem::take(&mut self.rest)
    }

    /// Goes on from `*at`; whether the call ended, with `*at` behind its closer.
    pub(super) fn feed(
        &mut self,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        out: &mut dyn FnMut(ParsedContent<'_>),
    ) -> bool {
        let ends_itself = self.dialect.compiled().form(self.form).closers == 0;
        loop {
            if ends_itself && !self.payload.has_failed() {
                let rest = text.get(*at..).unwrap_or_default();
                let read = self.pass(rest, out);
                *at += read;
                if self.payload.has_failed() && self.body_bytes + self.earlier_bytes == 0 {
                    // What failed at once may look like the next opener: it belongs to this call.
                    let first = text.ceil_char_boundary(*at + 1);
                    self.pass(text.get(*at..first).unwrap_or_default(), out);
                    *at = first;
                }
                if self.is_too_long() {
                    return true;
                }
                if !self.payload.has_failed() {
                    let has_ended = self.payload.has_ended();
                    if has_ended || read < rest.len() {
                        self.end(if has_ended { End::Grammar } else { End::Implicit }, out);
                        return true;
                    }
                    return false;
                }
            }
            if let Some(suspect) = &mut self.suspect {
                match suspect.feed(text, at, &self.payload) {
                    Verdict::Unknown => return false,
                    Verdict::Data => self.take_suspect_as_data(out),
                    Verdict::Closer => {
                        self.end_at_suspect(out);
                        return true;
                    }
                }
            }
            let Some(is_closer) = self.next_marker(Some((text, at)), token, out) else {
                return self.is_too_long();
            };
            let behind = self.scan.take_behind();
            if self.is_too_long() || self.at_marker(is_closer, token, out) {
                self.rest.push_str(&behind);
                return true;
            }
            let mut to = 0;
            if !behind.is_empty() && self.feed(&behind, &mut to, token, out) {
                self.rest.push_str(behind.get(to..).unwrap_or_default());
                return true;
            }
        }
    }

    /// What may matter in the next text, and how many bytes may pass without a look.
    pub(super) fn plain(&self) -> (Plain, usize) {
        if self.suspect.is_some() || !self.scan.is_idle() {
            return (Plain::Nothing, 0);
        }
        (self.payload.plain(), self.limit.saturating_sub(self.earlier_bytes + self.body_bytes))
    }

    /// So many bytes passed as they are.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.body_bytes += bytes;
        self.payload.skip(bytes);
    }

    /// Passes the body on up to the next marker; whether that is a closer. Without `text` the stream
    /// has ended.
    fn next_marker(
        &mut self,
        text: Option<(&str, &mut usize)>,
        token: TokenKind,
        out: &mut dyn FnMut(ParsedContent<'_>),
    ) -> Option<bool> {
        let Self { dialect, payload, scan, limit, body_bytes, earlier_bytes, .. } = self;
        let CompiledForm { inside, stops, closers, .. } = dialect.compiled().form(self.form);
        let mut body = Body { payload, limit: *limit, taken: body_bytes, earlier: earlier_bytes };
        let search = Search {
            stops,
            check: |bytes: &[u8], is_last| inside.check_below(usize::MAX, bytes, is_last),
            counts: token.counts(),
        };
        let passed = &mut |text: &str| {
            body.pass(text, out);
        };
        let which = match text {
            Some((text, at)) => scan.next(text, at, &search, &mut NoTrack, passed)?,
            None => scan.finish(&search, &mut NoTrack, passed)?,
        };
        Some(which < *closers)
    }

    /// A marker stands in the payload: whether the call ends here.
    fn at_marker(
        &mut self,
        is_closer: bool,
        token: TokenKind,
        out: &mut dyn FnMut(ParsedContent<'_>),
    ) -> bool {
        let guard = self.payload.guard();
        let is_data = match guard {
            Guard::Open => false,
            Guard::Closed => true,
            // A special token is a marker wherever it stands.
            Guard::InString(_) | Guard::InValue => !is_closer && token != TokenKind::Special,
            Guard::ClosersOnly => !is_closer,
        };
        if is_data {
            let marker = self.scan.found().to_owned();
            self.pass(&marker, out);
            return self.is_too_long();
        }
        if !is_closer {
            // An opener that an earlier piece began cannot be read again from this one.
            self.rest.push_str(self.scan.found());
            self.end(End::Implicit, out);
            return true;
        }
        if token != TokenKind::Special {
            self.suspect = Suspect::new(self.scan.found(), guard);
            if self.suspect.is_some() {
                return false;
            }
        }
        self.end(End::Closer, out);
        out(ParsedContent::Marker(self.scan.found()));
        true
    }

    /// Passes body text on; gives how much of it the payload took.
    pub(super) fn pass(&mut self, text: &str, out: &mut dyn FnMut(ParsedContent<'_>)) -> usize {
        let Self { payload, limit, body_bytes, earlier_bytes, .. } = self;
        Body { payload, limit: *limit, taken: body_bytes, earlier: earlier_bytes }.pass(text, out)
    }

    fn take_suspect_as_data(&mut self, out: &mut dyn FnMut(ParsedContent<'_>)) {
        if let Some(suspect) = self.suspect.take() {
            self.pass(suspect.text(), out);
        }
    }

    /// The suspect closer was one.
    fn end_at_suspect(&mut self, out: &mut dyn FnMut(ParsedContent<'_>)) {
        let Some(suspect) = self.suspect.take() else { return };
        self.rest.push_str(suspect.behind_closer());
        if suspect.is_in_string() {
            let reason = "a string is not closed before the end of the call";
            self.give_end(CallEnd::Malformed { reason, offset: self.body_bytes }, out);
        } else {
            self.end(End::Closer, out);
        }
        out(ParsedContent::Marker(suspect.closer()));
    }

    /// A marker of another kind follows: a suspect closer whose string has ended was the closer.
    /// Whether the call ended.
    pub(super) fn settle(&mut self, out: &mut dyn FnMut(ParsedContent<'_>)) -> bool {
        let is_closer = self.suspect.as_ref().is_some_and(Suspect::has_string_ended);
        if is_closer {
            self.end_at_suspect(out);
        }
        is_closer
    }

    /// Ends the stream; `may_close` when a missing closer is forgiven to a whole payload.
    pub(super) fn finish(&mut self, may_close: bool, out: &mut dyn FnMut(ParsedContent<'_>)) {
        if self.suspect.is_some() {
            return self.end_at_suspect(out);
        }
        while let Some(is_closer) = self.next_marker(None, TokenKind::Unknown, out) {
            let held = self.scan.take_held();
            if self.at_marker(is_closer, TokenKind::Unknown, out) {
                return self.rest.push_str(&held);
            }
            let mut to = 0;
            if self.feed(&held, &mut to, TokenKind::Unknown, out) {
                return self.rest.push_str(held.get(to..).unwrap_or_default());
            }
            if self.suspect.is_some() {
                return self.end_at_suspect(out);
            }
        }
        if !self.is_too_long() {
            self.end(if may_close { End::Implicit } else { End::Cut }, out);
        }
    }

    fn end(&mut self, end: End, out: &mut dyn FnMut(ParsedContent<'_>)) {
        let is_open = match end {
            End::Closer | End::Grammar => false,
            End::Implicit => !self.payload.is_whole(),
            End::Cut => true,
        };
        if is_open && !self.payload.has_failed() {
            return self.give_end(CallEnd::Incomplete, out);
        }
        let closed = self.payload.close(&mut |piece| match piece {
            PayloadOut::Arguments(json) => out(ParsedContent::CallArguments(json)),
            PayloadOut::Name { name, .. } => out(ParsedContent::CallName(name)),
            PayloadOut::Id(id) => out(ParsedContent::CallId(id)),
            PayloadOut::Server(_) | PayloadOut::Source(_) | PayloadOut::NextCall { .. } => {}
        });
        let outcome = match closed {
            Ok(()) => {
                if end == End::Implicit {
                    self.payload.note(Repair::ImplicitClose);
                }
                CallEnd::Complete
            }
            Err((reason, offset)) => CallEnd::Malformed {
                reason,
                offset: offset.saturating_sub(self.earlier_bytes).min(self.body_bytes),
            },
        };
        self.give_end(outcome, out);
    }

    fn give_end(&mut self, outcome: CallEnd, out: &mut dyn FnMut(ParsedContent<'_>)) {
        out(ParsedContent::CallEnd { outcome: &outcome, repairs: self.payload.repairs() });
    }
}

/// What passes body text on to the payload and the reader.
struct Body<'a> {
    payload: &'a mut Payload,
    limit: usize,
    taken: &'a mut usize,
    earlier: &'a mut usize,
}

impl Body<'_> {
    fn pass(&mut self, text: &str, out: &mut dyn FnMut(ParsedContent<'_>)) -> usize {
        let taken = *self.earlier + *self.taken;
        if text.is_empty() || taken > self.limit {
            return text.len();
        }
        let room = text.floor_char_boundary((self.limit - taken).min(text.len()));
        let (text, is_over) = (text.get(..room).unwrap_or_default(), room < text.len());
        let Self { payload, taken: body_bytes, earlier: earlier_bytes, .. } = self;
        let has_failed = payload.has_failed();
        let takes_all = !payload.ends_itself() || has_failed;
        // Body text goes out before what it tells, so that both keep their order at any cut.
        let mut given = 0;
        let read = if has_failed && payload.ends_itself() {
            text.len()
        } else {
            payload.feed(text, &mut |piece| match piece {
                PayloadOut::Name { name, at } => {
                    give_body(text, &mut given, at, body_bytes, out);
                    out(ParsedContent::CallName(name));
                }
                PayloadOut::NextCall { at, repairs } => {
                    give_body(text, &mut given, at, body_bytes, out);
                    out(ParsedContent::CallEnd { outcome: &CallEnd::Complete, repairs });
                    **earlier_bytes += std::mem::take(&mut **body_bytes);
                    out(ParsedContent::CallStart);
                }
                PayloadOut::Id(id) => out(ParsedContent::CallId(id)),
                PayloadOut::Server(name) => out(ParsedContent::CallServer(name)),
                PayloadOut::Arguments(json) => out(ParsedContent::CallArguments(json)),
                PayloadOut::Source(source) => out(ParsedContent::CallSource(source)),
            })
        };
        // Where a closer is awaited, all that stands before it is body.
        let read = if takes_all { text.len() } else { read };
        give_body(text, &mut given, read, body_bytes, out);
        if is_over && read == text.len() {
            let reason = "the call is longer than its limit";
            let offset = **body_bytes;
            let repairs = RepairSet::default();
            out(ParsedContent::CallEnd {
                outcome: &CallEnd::Malformed { reason, offset },
                repairs,
            });
            **body_bytes = self.limit + 1;
        }
        read
    }
}

fn give_body(
    text: &str,
    given: &mut usize,
    to: usize,
    body_bytes: &mut usize,
    out: &mut dyn FnMut(ParsedContent<'_>),
) {
    let body = text.get(*given..to).unwrap_or_default();
    if !body.is_empty() {
        *given = to;
        *body_bytes += body.len();
        out(ParsedContent::CallBody(body));
    }
}
