//! A call, or an array of calls, written as a JSON object.

use std::{borrow::Cow, mem};

use compact_str::CompactString;

use super::{
    current_call::CurrentCall,
    role::{ArgumentsProgress, CallLayout, JsonShape, ValueRole},
    value::{MAX_KEY_BYTES, TOO_LONG, is_known, push_bounded},
};
use crate::grammar::{
    ReadMode,
    reader::{
        LONG_NAME, MAX_NAME_BYTES, MarkerGuard, NO_NAME, PayloadFault, PayloadOut, PayloadReader,
        PayloadSink, PlainText, give_source, is_free_of,
    },
    skip::{ElementSkip, SkipEnd},
};
use forgeline_json::{Kind, RepairSet, Strictness, Token, Tokenizer, slice};

/// The length of the quotes around a name in JSON text, in bytes.
const QUOTES: usize = 2;

/// A reader of a call in JSON text, in pieces of any size.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct JsonCall {
    pub(super) lexer: Tokenizer,
    pub(super) call: CurrentCall,
    /// The search for the next item, after a mistake in an item of an array of calls.
    pub(super) skip: Option<ElementSkip>,
    /// `true` if the array ended after such a mistake.
    has_ended: bool,
    /// `true` if nothing closes the call: its reader looks for the next one after a mistake.
    ends_itself: bool,
}

impl JsonCall {
    /// Creates the reader of a call, or of an array of calls.
    pub(crate) fn new(shape: JsonShape) -> Self {
        let mut call = Self::with(CallLayout::Shape(shape));
        call.lexer.allow_next();
        call
    }

    /// Creates the reader of the arguments of a call whose name came before them.
    pub(crate) fn arguments() -> Self {
        Self::with(CallLayout::ArgumentsOnly)
    }

    fn with(layout: CallLayout) -> Self {
        let has_name = layout == CallLayout::ArgumentsOnly;
        let call = CurrentCall { layout, has_name, ..CurrentCall::default() };
        let lexer = Tokenizer::new(Strictness::Lenient);
        Self { lexer, call, skip: None, has_ended: false, ends_itself: false }
    }

    /// Ignores a name in the call, because one came before it.
    #[must_use]
    pub(crate) fn named(mut self) -> Self {
        self.call.has_name = true;
        self
    }

    /// Sets whether the backticks of a Markdown fence may follow the payload, and whether the payload ends where its
    /// JSON ends.
    #[must_use]
    pub(crate) fn ending(mut self, is_fenced: bool, ends_itself: bool) -> Self {
        if is_fenced {
            self.lexer.allow_ticks();
        }
        if ends_itself {
            self.lexer.end_itself();
        }
        self.ends_itself = ends_itself;
        self
    }
}

impl PayloadReader for JsonCall {
    fn feed(&mut self, text: &str, out: &mut PayloadSink<'_>) -> usize {
        if self.has_ended {
            return 0;
        }
        let mut at = 0;
        if self.skip.is_none() {
            at = self.read_tokens(text, out);
            if self.ends_itself {
                return at;
            }
        }
        while let Some(skip) = &mut self.skip {
            let (read, end) = skip.feed(slice(text, at..));
            self.lexer.skip(read);
            at += read;
            if end != Some(SkipEnd::Element) {
                self.has_ended = end == Some(SkipEnd::List);
                break;
            }
            self.skip = None;
            self.lexer.resume_in_array();
            let behind = at;
            at += self.read_tokens(slice(text, at..), &mut |piece| out(piece.behind(behind)));
            if self.ends_itself {
                break;
            }
        }
        at
    }

    fn plain(&self) -> PlainText {
        let passes = self.call.role == ValueRole::Arguments || self.call.mode == ReadMode::FindEnd;
        if passes && self.lexer.is_in_plain_string() {
            PlainText::JsonString
        } else {
            PlainText::Nothing
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.lexer.skip(bytes);
    }

    fn is_whole(&self) -> bool {
        self.lexer.is_whole() || self.has_ended
    }

    fn has_ended(&self) -> bool {
        // A word or a number may continue.
        self.lexer.is_done() || self.has_ended
    }

    fn ends_with_text(&self) -> bool {
        self.is_whole()
    }

    fn has_failed(&self) -> bool {
        let is_no_object =
            self.call.layout == CallLayout::ArgumentsOnly && self.call.fault.is_some();
        self.lexer.has_failed() || is_no_object
    }

    fn may_recover(&self) -> bool {
        self.skip.is_some()
    }

    fn guard(&self) -> MarkerGuard {
        guard_of(&self.lexer)
    }

    fn repairs(&self) -> RepairSet {
        let mut repairs = self.lexer.repairs();
        repairs.extend(self.call.repairs);
        repairs
    }

    fn close(&mut self, out: &mut PayloadSink<'_>) -> Result<(), PayloadFault> {
        let Self { lexer, call, .. } = self;
        if call.mode == ReadMode::FindEnd {
            let is_whole = lexer.close_at_end(&mut |token| call.bound(token));
            return if is_whole { Ok(()) } else { Err(lexer.fault()) };
        }
        let is_whole = lexer.close_at_end(&mut |token| call.token(token, "", out));
        if !is_whole {
            return Err(lexer.fault());
        }
        let (_, end) = lexer.fault();
        if let Some((reason, at)) = call.fault {
            return Err((reason, at.unwrap_or(end)));
        }
        call.end_call(0, out).map_err(|reason| (reason, end))
    }
}

impl JsonCall {
    /// Reads a piece, up to a mistake in an item of an array, in which each call is independent.
    fn read_tokens(&mut self, text: &str, out: &mut PayloadSink<'_>) -> usize {
        let Self { lexer, call, .. } = self;
        if call.mode == ReadMode::FindEnd {
            return self.find_end(text);
        }
        call.taken = lexer.taken();
        call.source = call.is_in_arguments().then_some(0);
        let mut read = lexer.feed(text, &mut |token| call.token(token, text, out));
        let is_lost = lexer.has_failed() && call.array_calls.is_some();
        if is_lost {
            lexer.rewind_to_fault();
            read = lexer.taken() - call.taken;
        }
        if let Some(start) = call.source.take() {
            give_source(slice(text, start..read), out);
        }
        if is_lost {
            call.give_up_item(lexer.fault(), read, out);
            self.skip = Some(ElementSkip::json(lexer.depth()));
        }
        read
    }
}

/// Returns the meaning of a marker at the position of `lexer`.
pub(crate) fn guard_of(lexer: &Tokenizer) -> MarkerGuard {
    match lexer.string_quote() {
        _ if lexer.is_in_comment() => MarkerGuard::Closed,
        Some(b'\'') => MarkerGuard::InString("'"),
        Some(_) => MarkerGuard::InString("\""),
        None => MarkerGuard::Open,
    }
}

/// Decodes a JSON string; almost none contains an escape.
fn unquoted(json: &str) -> Option<Cow<'_, str>> {
    match json.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) if is_free_of(b'\\', text) => Some(Cow::Borrowed(text)),
        _ => Some(Cow::Owned(serde_json::from_str(json).ok()?)),
    }
}

impl CurrentCall {
    fn is_keyed(&self) -> bool {
        self.layout == CallLayout::Shape(JsonShape::Keyed)
    }

    /// Returns `true` inside a `{"function":{…}}` inside the call.
    pub(super) fn is_wrapped(&self) -> bool {
        self.depth > self.outer_depth
    }

    pub(super) fn is_in_arguments(&self) -> bool {
        matches!(
            self.role,
            ValueRole::Arguments | ValueRole::StringArguments | ValueRole::WordArguments
        )
    }

    /// Processes one token; returns `true` if marks inside a value that starts are needed.
    // Inlined into the tokenizer, where the kind of each token is known, the match reduces to one call.
    #[inline(always)]
    fn token(&mut self, token: Token<'_>, piece: &str, out: &mut PayloadSink<'_>) -> bool {
        match token {
            Token::Text(_) if self.role == ValueRole::Other => {}
            Token::Text(json) if self.role == ValueRole::Arguments => {
                out(PayloadOut::Arguments(json));
            }
            Token::Text(text) => self.text(text, out),
            Token::KeyStart { depth, at, .. } => self.key_start(depth, at, out),
            Token::KeyEnd { depth, at, .. } => self.key_end(depth, at, out),
            Token::ValueStart { depth, kind, at, .. } => {
                self.value_start(depth, kind, at, out);
                return depth < self.depth;
            }
            Token::ValueEnd { depth, at, repairs, .. } => {
                self.repairs.extend(repairs);
                self.value_end(depth, at, piece, out);
            }
            Token::Next { at, .. } => {
                self.begin_next(at, out);
                self.depth = 0;
                self.array_calls = None;
            }
        }
        true
    }

    #[inline(never)]
    fn key_start(&mut self, depth: u32, at: usize, out: &mut PayloadSink<'_>) {
        if depth != self.depth {
            return;
        }
        if self.rest_is_arguments {
            if self.role == ValueRole::Other {
                out(PayloadOut::Arguments("{"));
                self.source = Some(at);
                self.seen = ArgumentsProgress::Arguments;
                self.role = ValueRole::Arguments;
            }
        } else if !self.is_in_arguments() {
            self.role = ValueRole::Key;
            self.key.clear();
            self.key_is_name = false;
        }
    }

    #[inline(never)]
    fn key_end(&mut self, depth: u32, at: usize, out: &mut PayloadSink<'_>) {
        if depth != self.depth || self.role != ValueRole::Key {
            return;
        }
        self.role = ValueRole::Other;
        let is_too_long = self.key.ends_with(TOO_LONG);
        let key = unquoted(&self.key).filter(|_| !is_too_long).map(CompactString::from);
        self.key = key.unwrap_or_else(|| mem::take(&mut self.key));
        if self.is_keyed() && !self.has_name && !is_known(&self.key) {
            let name = self.key.trim();
            if is_too_long {
                self.fail(LONG_NAME);
            } else if !name.is_empty() {
                out(PayloadOut::Name { name, at });
                self.has_name = true;
                self.key_is_name = true;
            }
        }
    }

    #[inline(never)]
    fn text(&mut self, text: &str, out: &mut PayloadSink<'_>) {
        match self.role {
            ValueRole::Other => {}
            ValueRole::Key if self.is_keyed() => {
                push_bounded(&mut self.key, text, MAX_NAME_BYTES + QUOTES);
            }
            ValueRole::Key => push_bounded(&mut self.key, text, MAX_KEY_BYTES),
            ValueRole::Name | ValueRole::Id | ValueRole::Server | ValueRole::WordArguments => {
                push_bounded(&mut self.text, text, MAX_NAME_BYTES + QUOTES);
            }
            ValueRole::Arguments => out(PayloadOut::Arguments(text)),
            ValueRole::StringArguments => {
                if let Some(inner) = &mut self.inner {
                    inner.feed(text, out);
                }
            }
        }
    }

    #[inline(never)]
    fn value_start(&mut self, depth: u32, kind: Kind, at: usize, out: &mut PayloadSink<'_>) {
        if self.is_in_arguments() {
            return;
        }
        if self.layout == CallLayout::ArgumentsOnly {
            return self.begin_arguments(kind, at);
        }
        if self.depth == 0 {
            self.depth = match kind {
                Kind::Object => 1,
                Kind::Array => {
                    self.array_calls = Some(0);
                    2
                }
                Kind::String | Kind::Number | Kind::Word => {
                    self.fail("the payload is not a JSON object");
                    u32::MAX
                }
            };
            self.outer_depth = self.depth;
            return;
        }
        if let Some(begun) = self.array_calls
            && depth == 1
        {
            self.begin_item(begun, at, out);
            if kind != Kind::Object {
                self.fail("an item of the array is not a JSON object");
            }
            return;
        }
        if depth == self.depth {
            self.member(kind, at, out);
        }
    }

    /// Begins an item of an array of calls, after `begun` others.
    fn begin_item(&mut self, begun: usize, at: usize, out: &mut PayloadSink<'_>) {
        if begun > 0 {
            self.begin_next(at, out);
        }
        self.array_calls = Some(begun + 1);
        self.is_in_item = true;
    }

    /// Gives up the rest of an item after a `fault` at `at`, if an item has begun at all.
    fn give_up_item(
        &mut self,
        (reason, place): PayloadFault,
        at: usize,
        out: &mut PayloadSink<'_>,
    ) {
        if !self.is_in_item {
            self.begin_item(self.array_calls.unwrap_or_default(), at, out);
        }
        self.fault.get_or_insert((reason, Some(place)));
        self.role = ValueRole::Other;
        self.inner = None;
        self.depth = self.outer_depth;
    }

    /// Begins the call of another object, which ends the previous one, complete or not.
    fn begin_next(&mut self, at: usize, out: &mut PayloadSink<'_>) {
        if self.fault.is_none()
            && let Err(reason) = self.end_call(at, out)
        {
            self.fail(reason);
        }
        let end = self.taken + at;
        let fault = self.fault.map(|(reason, at)| (reason, at.unwrap_or(end)));
        out(PayloadOut::NextCall { at, repairs: self.repairs, fault });
        self.next_call();
    }

    /// Begins a value of a known or unknown key of the call.
    fn member(&mut self, kind: Kind, at: usize, out: &mut PayloadSink<'_>) {
        self.text.clear();
        let has_ids = self.layout == CallLayout::Shape(JsonShape::CallsWithIds);
        let is_keyed = self.is_keyed();
        self.role = match (self.key.as_str(), kind) {
            _ if self.key_is_name && self.seen == ArgumentsProgress::Nothing => {
                return self.begin_arguments(kind, at);
            }
            ("function", Kind::Object) if !self.is_wrapped() => {
                self.depth += 1;
                ValueRole::Other
            }
            ("name" | "tool_name" | "tool" | "function", Kind::String) if !self.has_name => {
                ValueRole::Name
            }
            ("_name", Kind::String) if self.is_wrapped() && !self.has_name => {
                self.rest_is_arguments = true;
                ValueRole::Name
            }
            ("server_name", Kind::String) => ValueRole::Server,
            ("id" | "tool_call_id", Kind::String) if has_ids => ValueRole::Id,
            ("name" | "tool_name" | "tool", Kind::Object)
                if is_keyed && self.seen == ArgumentsProgress::Nothing =>
            {
                if !self.has_name {
                    out(PayloadOut::Name { name: &self.key, at });
                    self.has_name = true;
                }
                return self.begin_arguments(kind, at);
            }
            ("arguments" | "args" | "parameters" | "input", _)
                if self.seen == ArgumentsProgress::Nothing =>
            {
                let may_be_name = is_keyed && kind == Kind::Object;
                self.keyed_by = may_be_name.then(|| self.key.clone());
                return self.begin_arguments(kind, at);
            }
            _ => ValueRole::Other,
        };
    }

    /// Decodes the current JSON string, which is a name.
    pub(super) fn name_text(&self) -> Option<Cow<'_, str>> {
        unquoted(&self.text).filter(|name| !name.trim().is_empty())
    }

    /// Ends the current call before byte `at`: it must have a name; absent arguments are `{}`.
    fn end_call(&mut self, at: usize, out: &mut PayloadSink<'_>) -> Result<(), &'static str> {
        if self.array_calls == Some(0) {
            return Err("the array holds no call");
        }
        if !self.has_name {
            let name = self.keyed_by.take();
            out(PayloadOut::Name { name: name.as_deref().ok_or(NO_NAME)?, at });
        }
        if self.seen != ArgumentsProgress::Arguments {
            out(PayloadOut::Arguments("{}"));
        }
        Ok(())
    }

    fn next_call(&mut self) {
        self.has_name = false;
        self.rest_is_arguments = false;
        self.seen = ArgumentsProgress::Nothing;
        self.repairs = RepairSet::default();
        self.key.clear();
        self.keyed_by = None;
        self.fault = None;
    }

    pub(super) fn fail(&mut self, reason: &'static str) {
        self.fault.get_or_insert((reason, None));
    }
}
