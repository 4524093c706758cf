//! A call, or an array of calls, written as a JSON object.

use std::borrow::Cow;

use compact_str::CompactString;

use super::{
    role::{JsonShape, Layout, Role, Seen},
    value::{Inner, MAX_KEY_BYTES, TOO_LONG, is_known, push_bounded},
};
use crate::{
    json::{Kind, Strictness, Token, Tokenizer},
    llm::parser::{
        RepairSet,
        grammar::reader::{
            Fault, Guard, LONG_NAME, MAX_NAME_BYTES, NO_NAME, PayloadOut, Plain, Reader, Sink,
            give_source, json_to,
        },
    },
    types::{Repair, slice},
};

/// Bytes of the quotes around a name in JSON text.
const QUOTES: usize = 2;

/// Reads a call from JSON text in pieces of any size.
#[derive(Debug)]
pub(crate) struct JsonCall {
    lexer: Tokenizer,
    call: Call,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
struct Call {
    layout: Layout,
    /// Nesting depth of the keys of a call; 0 until the first bracket.
    depth: u32,
    /// Set where the members that follow are the arguments: `{"function":{"_name":…,…}}`.
    rest_is_arguments: bool,
    /// The number of calls that have begun in an array of calls.
    array_calls: Option<usize>,
    /// The depth outside of a `{"function":{…}}` inside the call, which are one deeper.
    outer_depth: u32,
    role: Role,
    key: CompactString,
    text: CompactString,
    has_name: bool,
    seen: Seen,
    inner: Option<Box<Inner>>,
    /// The start of the source of the arguments in the current piece.
    source: Option<usize>,
    /// Repairs of arguments that were a string.
    repairs: RepairSet,
    fault: Option<&'static str>,
}

impl JsonCall {
    /// Creates the reader of a call, or of an array of calls.
    pub(crate) fn new(shape: JsonShape) -> Self {
        let mut call = Self::with(Layout::Shape(shape));
        call.lexer.allow_next();
        call
    }

    /// Creates the reader of the arguments of a call whose name stood before them.
    pub(crate) fn arguments() -> Self {
        Self::with(Layout::ArgumentsOnly)
    }

    fn with(layout: Layout) -> Self {
        let has_name = layout == Layout::ArgumentsOnly;
        let call = Call { layout, has_name, ..Call::default() };
        Self { lexer: Tokenizer::new(Strictness::Lenient), call }
    }

    /// Ignores a name in the call, because one stood before it.
    #[must_use]
    pub(crate) fn named(mut self) -> Self {
        self.call.has_name = true;
        self
    }

    /// Sets whether the ticks of a Markdown fence may follow the payload, and whether it ends where its
    /// JSON ends.
    #[must_use]
    pub(crate) fn ending(mut self, is_fenced: bool, ends_itself: bool) -> Self {
        if is_fenced {
            self.lexer.allow_ticks();
        }
        if ends_itself {
            self.lexer.end_itself();
        }
        self
    }
}

impl Reader for JsonCall {
    fn feed(&mut self, text: &str, out: &mut Sink<'_>) -> usize {
        let Self { lexer, call } = self;
        call.source = call.is_in_arguments().then_some(0);
        let read = lexer.feed(text, &mut |token| call.token(token, text, out));
        if let Some(start) = call.source.take() {
            give_source(slice(text, start..read), out);
        }
        read
    }

    fn plain(&self) -> Plain {
        if self.call.role == Role::Arguments && self.lexer.is_in_plain_string() {
            Plain::JsonString
        } else {
            Plain::Nothing
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.lexer.skip(bytes);
    }

    fn is_whole(&self) -> bool {
        self.lexer.is_whole()
    }

    fn has_failed(&self) -> bool {
        let is_no_object = self.call.layout == Layout::ArgumentsOnly && self.call.fault.is_some();
        self.lexer.has_failed() || is_no_object
    }

    fn guard(&self) -> Guard {
        guard_of(&self.lexer)
    }

    fn repairs(&self) -> RepairSet {
        let mut repairs = self.lexer.repairs();
        repairs.extend(self.call.repairs);
        repairs
    }

    fn close(&mut self, out: &mut Sink<'_>) -> Result<(), Fault> {
        let Self { lexer, call } = self;
        let is_whole = lexer.close_at_end(&mut |token| call.token(token, "", out));
        if !is_whole {
            return Err(lexer.fault());
        }
        let (_, end) = lexer.fault();
        if let Some(reason) = call.fault {
            return Err((reason, end));
        }
        call.end_call(out).map_err(|reason| (reason, end))
    }
}

/// Returns the meaning of a marker where `lexer` stands.
pub(crate) fn guard_of(lexer: &Tokenizer) -> Guard {
    match lexer.string_quote() {
        _ if lexer.is_in_comment() => Guard::Closed,
        Some(b'\'') => Guard::InString("'"),
        Some(_) => Guard::InString("\""),
        None => Guard::Open,
    }
}

/// Decodes a JSON string; almost none has an escape.
fn unquoted(json: &str) -> Option<Cow<'_, str>> {
    match json.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) if !text.contains('\\') => Some(Cow::Borrowed(text)),
        _ => Some(Cow::Owned(serde_json::from_str(json).ok()?)),
    }
}

impl Call {
    fn is_keyed(&self) -> bool {
        self.layout == Layout::Shape(JsonShape::Keyed)
    }

    /// Returns `true` inside a `{"function":{…}}` inside the call.
    fn is_wrapped(&self) -> bool {
        self.depth > self.outer_depth
    }

    fn is_in_arguments(&self) -> bool {
        matches!(self.role, Role::Arguments | Role::StringArguments | Role::WordArguments)
    }

    /// Takes one token; whether marks inside a value that starts are wanted.
    fn token(&mut self, token: Token<'_>, piece: &str, out: &mut Sink<'_>) -> bool {
        match token {
            Token::Text(text) => self.text(text, out),
            Token::KeyStart { depth, at } if self.rest_is_arguments && depth == self.depth => {
                if self.role == Role::Other {
                    out(PayloadOut::Arguments("{"));
                    self.source = Some(at);
                    self.seen = Seen::Arguments;
                    self.role = Role::Arguments;
                }
            }
            Token::KeyStart { depth, .. } if depth == self.depth && !self.is_in_arguments() => {
                self.role = Role::Key;
                self.key.clear();
            }
            Token::KeyEnd { depth, at } if depth == self.depth && self.role == Role::Key => {
                self.role = Role::Other;
                let is_too_long = self.key.ends_with(TOO_LONG);
                if let Some(key) = unquoted(&self.key).filter(|_| !is_too_long) {
                    self.key = key.into_owned().into();
                }
                if self.is_keyed() && !self.has_name && !is_known(&self.key) {
                    let name = self.key.trim();
                    if is_too_long {
                        self.fail(LONG_NAME);
                    } else if !name.is_empty() {
                        out(PayloadOut::Name { name, at });
                        self.has_name = true;
                    }
                }
            }
            Token::ValueStart { depth, kind, at } => {
                self.value_start(depth, kind, at, out);
                return depth < self.depth;
            }
            Token::ValueEnd { depth, at, repairs } => {
                self.repairs.extend(repairs);
                self.value_end(depth, at, piece, out);
            }
            Token::Next { at } => {
                if self.begin_next(at, out) {
                    self.depth = 0;
                    self.array_calls = None;
                }
            }
            Token::KeyStart { .. } | Token::KeyEnd { .. } => {}
        }
        true
    }

    fn text(&mut self, text: &str, out: &mut Sink<'_>) {
        match self.role {
            Role::Other => {}
            Role::Key if self.is_keyed() => {
                push_bounded(&mut self.key, text, MAX_NAME_BYTES + QUOTES);
            }
            Role::Key => push_bounded(&mut self.key, text, MAX_KEY_BYTES),
            Role::Name | Role::Id | Role::Server | Role::WordArguments => {
                push_bounded(&mut self.text, text, MAX_NAME_BYTES + QUOTES);
            }
            Role::Arguments => out(PayloadOut::Arguments(text)),
            Role::StringArguments => {
                if let Some(inner) = &mut self.inner {
                    inner.feed(text, out);
                }
            }
        }
    }

    fn value_start(&mut self, depth: u32, kind: Kind, at: usize, out: &mut Sink<'_>) {
        if self.is_in_arguments() {
            return;
        }
        if self.layout == Layout::ArgumentsOnly {
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
            if kind != Kind::Object {
                self.fail("an item of the array is not a JSON object");
            }
            if begun > 0 {
                self.begin_next(at, out);
            }
            self.array_calls = Some(begun + 1);
            return;
        }
        if depth == self.depth {
            self.member(kind, at);
        }
    }

    /// Begins the call of another object behind a complete one; returns `true` when it did.
    fn begin_next(&mut self, at: usize, out: &mut Sink<'_>) -> bool {
        match self.end_call(out) {
            Ok(()) if self.fault.is_none() => {
                out(PayloadOut::NextCall { at, repairs: self.repairs });
                self.next_call();
                return true;
            }
            Ok(()) => {}
            Err(reason) => self.fail(reason),
        }
        false
    }

    /// Begins a value of a known or unknown key of the call.
    fn member(&mut self, kind: Kind, at: usize) {
        self.text.clear();
        let has_ids = self.layout == Layout::Shape(JsonShape::CallsWithIds);
        let is_keyed = self.is_keyed() && kind != Kind::String;
        self.role = match (self.key.as_str(), kind) {
            ("function", Kind::Object) if !self.is_wrapped() => {
                self.depth += 1;
                Role::Other
            }
            ("name" | "tool_name" | "tool" | "function", Kind::String) if !self.has_name => {
                Role::Name
            }
            ("_name", Kind::String) if self.is_wrapped() && !self.has_name => {
                self.rest_is_arguments = true;
                Role::Name
            }
            ("server_name", Kind::String) => Role::Server,
            ("id" | "tool_call_id", Kind::String) if has_ids => Role::Id,
            ("arguments" | "args" | "parameters" | "input", _) if self.seen == Seen::Nothing => {
                return self.begin_arguments(kind, at);
            }
            (name, _) if is_keyed && !is_known(name) && self.seen == Seen::Nothing => {
                return self.begin_arguments(kind, at);
            }
            _ => Role::Other,
        };
    }

    /// Begins the value of the arguments.
    fn begin_arguments(&mut self, kind: Kind, at: usize) {
        self.text.clear();
        self.source = Some(at);
        self.role = match kind {
            Kind::Object => {
                self.seen = Seen::Arguments;
                Role::Arguments
            }
            Kind::String => {
                self.inner = Some(Box::new(Inner::new()));
                Role::StringArguments
            }
            Kind::Word => Role::WordArguments,
            Kind::Array | Kind::Number => {
                self.fail("the arguments are not a JSON object");
                Role::WordArguments
            }
        };
    }

    fn value_end(&mut self, depth: u32, at: usize, piece: &str, out: &mut Sink<'_>) {
        if self.is_wrapped() && depth == self.outer_depth {
            if self.rest_is_arguments {
                self.rest_is_arguments = false;
                self.role = Role::Other;
                self.end_source(at, piece, out);
            }
            if !self.is_in_arguments() {
                self.depth -= 1;
                return;
            }
        }
        if depth != self.depth || (self.rest_is_arguments && self.role == Role::Arguments) {
            return;
        }
        self.end_source(at, piece, out);
        match self.role {
            Role::Name | Role::Id | Role::Server if self.text.ends_with(TOO_LONG) => {
                self.fail(LONG_NAME);
            }
            Role::Name => {
                let name = self.name_text();
                let has_name = name.is_some();
                if let Some(name) = name {
                    out(PayloadOut::Name { name: name.trim(), at });
                }
                self.has_name = has_name;
            }
            Role::Server | Role::Id => {
                if let Some(text) = self.name_text() {
                    let (text, is_id) = (text.trim(), self.role == Role::Id);
                    out(if is_id { PayloadOut::Id(text) } else { PayloadOut::Server(text) });
                }
            }
            Role::WordArguments if self.text == "null" => self.seen = Seen::Empty,
            Role::WordArguments => self.fail("the arguments are not a JSON object"),
            Role::StringArguments => self.end_string_arguments(out),
            Role::Other | Role::Key | Role::Arguments => {}
        }
        self.role = Role::Other;
    }

    /// Ends the source of the arguments before byte `at`.
    fn end_source(&mut self, at: usize, piece: &str, out: &mut Sink<'_>) {
        if let Some(start) = self.source.take() {
            give_source(slice(piece, start..at), out);
        }
    }

    fn end_string_arguments(&mut self, out: &mut Sink<'_>) {
        let Some(mut inner) = self.inner.take() else { return };
        if !inner.is_object {
            self.seen = Seen::Empty;
            if !matches!(inner.other.trim(), "" | "null") {
                self.fail("the arguments are a string that holds no JSON object");
            }
            return;
        }
        self.seen = Seen::Arguments;
        let closed = inner.json.close(&mut json_to(out));
        self.repairs.extend(inner.json.repairs());
        self.repairs.insert(Repair::StringArguments);
        if closed.is_err() {
            self.fail("the arguments are a string that holds no JSON object");
        }
    }

    /// Decodes the current JSON string, which is a name.
    fn name_text(&self) -> Option<Cow<'_, str>> {
        unquoted(&self.text).filter(|name| !name.trim().is_empty())
    }

    /// Ends the current call: it must have a name; absent arguments are `{}`.
    fn end_call(&mut self, out: &mut Sink<'_>) -> Result<(), &'static str> {
        if self.array_calls == Some(0) {
            return Err("the array holds no call");
        }
        if !self.has_name {
            return Err(NO_NAME);
        }
        if self.seen != Seen::Arguments {
            out(PayloadOut::Arguments("{}"));
        }
        Ok(())
    }

    fn next_call(&mut self) {
        self.has_name = false;
        self.rest_is_arguments = false;
        self.seen = Seen::Nothing;
        self.repairs = RepairSet::default();
        self.key.clear();
    }

    fn fail(&mut self, reason: &'static str) {
        self.fault.get_or_insert(reason);
    }
}
