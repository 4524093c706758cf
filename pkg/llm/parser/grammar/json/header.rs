//! Calls whose name is in a header before their arguments.

use compact_str::CompactString;

use super::{
    header_style::{HeaderField, HeaderPayload, HeaderStyle},
    unnamed::{UnnamedArguments, is_mere_id},
};
use crate::grammar::{
    json::{JsonCall, JsonShape},
    line_end::LineEnd,
    reader::{
        LONG_NAME, MAX_NAME_BYTES, MarkerGuard, NO_NAME, PayloadFault, PayloadOut, PayloadReader,
        PayloadSink, PlainText, give_source, json_to,
    },
    schema::KnownTools,
};
use forgeline_json::{RepairSet, escape_into, slice};
use forgeline_types::Repair;

/// Maximum length of a header, in bytes: a name, an id, and the text around them.
const MAX_HEADER_BYTES: usize = 2048;

/// A reader of a header that contains the name, followed by the arguments as JSON.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct HeaderCall {
    style: HeaderStyle,
    state: HeaderPhase,
    /// The current field, or the text before the arguments; bounded by [`MAX_HEADER_BYTES`].
    text: CompactString,
    has_name: bool,
    /// The number of bytes before the arguments.
    header_bytes: usize,
    arguments: Option<Box<JsonCall>>,
    ends_itself: bool,
    tools: KnownTools,
    /// The line end at the end of arguments that are text, which may be framing.
    line_end: LineEnd,
    /// The first and the last letter of that text.
    edges: Option<[char; 2]>,
    /// The arguments so far, if they must determine the tool.
    unnamed: Option<Box<UnnamedArguments>>,
    repairs: RepairSet,
    fault: Option<PayloadFault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderPhase {
    /// In this field, which is ended by this text.
    Field(HeaderField, &'static str),
    /// After the last field: whitespace, or the line that opens a fence.
    Lookahead,
    Arguments,
    /// In arguments that are text.
    Text,
    Failed,
}

impl HeaderCall {
    /// Creates the reader of a call that `ends_itself` if no closer follows the arguments; a missing
    /// name is found among `tools`.
    pub(crate) fn new(style: HeaderStyle, ends_itself: bool, tools: KnownTools) -> Self {
        let [(field, end), _] = style.fields;
        Self {
            style,
            state: HeaderPhase::Field(field, end),
            text: CompactString::const_new(""),
            has_name: false,
            header_bytes: 0,
            arguments: None,
            ends_itself,
            tools,
            line_end: LineEnd::None,
            edges: None,
            unnamed: None,
            repairs: RepairSet::default(),
            fault: None,
        }
    }

    /// Reads one more character before the arguments, which ends before byte `at`.
    fn header_char(&mut self, next: char, at: usize, out: &mut PayloadSink<'_>) {
        if self.text.len() + next.len_utf8() > MAX_HEADER_BYTES {
            return self.fail(LONG_NAME);
        }
        self.text.push(next);
        if let HeaderPhase::Field(HeaderField::FirstWord, _) = self.state {
            if next.is_whitespace() && !self.text.trim().is_empty() {
                let text = std::mem::take(&mut self.text);
                self.end_field(HeaderField::FirstWord, &text, at, out);
            }
            return;
        }
        if let HeaderPhase::Field(field, end) = self.state
            && let Some(text) = self.text.strip_suffix(end)
        {
            let text = CompactString::from(text);
            self.text.clear();
            self.end_field(field, &text, at, out);
        }
    }

    /// Reads the word at the beginning of `text`, which neither ends a field nor begins the arguments; returns its length.
    fn take_word(&mut self, text: &str) -> usize {
        let HeaderPhase::Field(_, end) = self.state else { return 0 };
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let bytes = text.as_bytes().iter().take_while(|byte| is_word(byte)).count();
        let ends_with_word = end.as_bytes().last().is_none_or(is_word);
        if ends_with_word || self.text.len() + bytes > MAX_HEADER_BYTES {
            return 0;
        }
        self.text.push_str(slice(text, ..bytes));
        self.header_bytes += bytes;
        bytes
    }

    /// Processes a complete field, which was ended by its text.
    fn end_field(&mut self, field: HeaderField, text: &str, at: usize, out: &mut PayloadSink<'_>) {
        let [_, (next, end)] = self.style.fields;
        let is_last = end.is_empty() || self.state == HeaderPhase::Field(next, end);
        self.state = if is_last { HeaderPhase::Lookahead } else { HeaderPhase::Field(next, end) };
        match field {
            HeaderField::NameOrWord(word) if text.trim() == word => {}
            HeaderField::NameOrWord(_) => {
                self.state = HeaderPhase::Lookahead;
                self.name(text, at, out);
            }
            HeaderField::Id => self.end_early(field, text, at, out),
            HeaderField::CallId => out(PayloadOut::Id { id: text.trim(), at }),
            HeaderField::Recipient => self.name(recipient(text), at, out),
            HeaderField::Name { behind } => {
                self.name(text.strip_prefix(behind).unwrap_or(text), at, out);
            }
            HeaderField::NameAndId(_) | HeaderField::Elements | HeaderField::FirstWord => {
                self.end_early(field, text, at, out);
            }
            HeaderField::Ignored => {}
        }
    }

    /// Processes a field that was ended by something other than its text: the part that was read is the name.
    fn end_early(&mut self, field: HeaderField, text: &str, at: usize, out: &mut PayloadSink<'_>) {
        match field {
            HeaderField::Ignored | HeaderField::CallId => {}
            HeaderField::Elements => {
                let (front, name) = text.split_once("<tool_name>").unwrap_or_default();
                let server = front.split_once("<server_name>").unwrap_or_default().1;
                if let Some((name, _)) = server.split_once("</server_name>") {
                    out(PayloadOut::Server { name: name.trim(), at });
                }
                self.name(name, at, out);
            }
            HeaderField::NameAndId(separator) => {
                let (name, id) = text.split_once(separator).unwrap_or((text, ""));
                let id = id.trim();
                if !id.is_empty() {
                    out(PayloadOut::Id { id, at });
                }
                self.name(name, at, out);
            }
            HeaderField::Id => {
                let id = text.trim();
                out(PayloadOut::Id { id, at });
                self.name_of_id(id, at, out);
            }
            HeaderField::Name { .. }
            | HeaderField::NameOrWord(_)
            | HeaderField::FirstWord
            | HeaderField::Recipient => self.name(text, at, out),
        }
    }

    /// Reads the name in an id; an id without one means the only tool, or the only one that fits.
    fn name_of_id(&mut self, id: &str, at: usize, out: &mut PayloadSink<'_>) {
        let name = name_in_id(id);
        if self.tools.may_be_called(name) || !is_mere_id(name) {
            return self.name(name, at, out);
        }
        self.unnamed = Some(Box::default());
        if let Some(only) = self.tools.only(|_| true).map(CompactString::from) {
            self.repairs.insert(Repair::InferredName);
            self.name(&only, at, out);
        }
    }

    /// Names the tool that the arguments name or fit.
    fn infer_name(&mut self, out: &mut PayloadSink<'_>) {
        let Some(mut unnamed) = self.unnamed.take() else { return };
        let name = match (unnamed.inner_call(&self.tools), unnamed.tool(&self.tools)) {
            (Some(inner), None) => {
                out(PayloadOut::Arguments(&inner.arguments));
                self.repairs.extend(inner.repairs);
                Some(inner.name)
            }
            (inner, fitting) => {
                unnamed.pass(out);
                // If they both contain a call and fit a tool, neither is meant for certain.
                fitting.filter(|_| inner.is_none()).map(CompactString::from)
            }
        };
        if let Some(name) = name.filter(|_| !self.has_name) {
            out(PayloadOut::Name { name: &name, at: 0 });
            self.has_name = true;
            self.repairs.insert(Repair::InferredName);
        }
    }

    fn name(&mut self, name: &str, at: usize, out: &mut PayloadSink<'_>) {
        let name = name.trim();
        if name.len() > MAX_NAME_BYTES {
            return self.fail(LONG_NAME);
        }
        if !name.is_empty() {
            out(PayloadOut::Name { name, at });
            self.has_name = true;
            self.tools.call(name);
        }
    }

    /// Begins the arguments, whatever was missing before them.
    fn begin_arguments(&mut self, at: usize, out: &mut PayloadSink<'_>) {
        let is_fenced = if let HeaderPhase::Field(field, end) = self.state
            && field != HeaderField::Ignored
        {
            self.state = HeaderPhase::Lookahead;
            let text = std::mem::take(&mut self.text);
            // The word before the name was itself the name.
            let first = self.style.fields[0];
            if let HeaderField::NameOrWord(word) = first.0
                && text.is_empty()
                && first != (field, end)
            {
                self.end_early(field, word, at, out);
            } else {
                self.end_early(field, &text, at, out);
            }
            false
        } else {
            self.text.contains('`')
        };
        let arguments = match self.style.payload {
            HeaderPayload::Call if self.has_name => JsonCall::new(JsonShape::Calls).named(),
            HeaderPayload::Call => JsonCall::new(JsonShape::Calls),
            HeaderPayload::Json | HeaderPayload::Text | HeaderPayload::Body => {
                JsonCall::arguments()
            }
        };
        self.arguments = Some(Box::new(arguments.ending(is_fenced, self.ends_itself)));
        if self.state != HeaderPhase::Failed {
            self.state = HeaderPhase::Arguments;
        }
    }

    fn fail(&mut self, reason: &'static str) {
        self.fault.get_or_insert((reason, self.header_bytes));
        self.state = HeaderPhase::Failed;
    }

    /// Returns `true` if the arguments begin with `byte`.
    fn begins_arguments(&self, byte: u8) -> bool {
        match self.state {
            HeaderPhase::Field(field, _) => byte == b'{' && field != HeaderField::Recipient,
            HeaderPhase::Lookahead if byte == b'{' => true,
            // The word after the backticks of a fence is text, up to the end of its line.
            HeaderPhase::Lookahead => {
                let lead = self.text.trim_start();
                let is_fence = lead.starts_with('`') && lead.contains('\n');
                let is_blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'`');
                (lead.is_empty() || is_fence) && !is_blank
            }
            HeaderPhase::Arguments | HeaderPhase::Text | HeaderPhase::Failed => false,
        }
    }

    /// Processes arguments that are text.
    fn argument_text(&mut self, text: &str, out: &mut PayloadSink<'_>) {
        if self.state == HeaderPhase::Lookahead {
            self.state = HeaderPhase::Text;
            let key = match self.style.payload {
                HeaderPayload::Body => self.tools.schema().key_of_text(),
                HeaderPayload::Text | HeaderPayload::Json | HeaderPayload::Call => Some("text"),
            };
            let Some(key) = key else {
                return self.fail("the tool takes no argument as text");
            };
            out(PayloadOut::Arguments("{\""));
            escape_into(key, &mut json_to(out));
            out(PayloadOut::Arguments("\":\""));
        }
        if self.style.payload == HeaderPayload::Body {
            let [earlier, body] = self.line_end.next(text);
            let mut letters = text.chars().filter(|letter| !letter.is_whitespace());
            if let Some(first) = letters.next() {
                let last = letters.next_back().unwrap_or(first);
                self.edges = Some([self.edges.map_or(first, |edges| edges[0]), last]);
            }
            escape_into(earlier, &mut json_to(out));
            escape_into(body, &mut json_to(out));
        } else {
            escape_into(text, &mut json_to(out));
        }
        give_source(text, out);
    }

    /// Begins arguments that are text, with the whitespace before it, after the line end of the header.
    fn begin_body(&mut self, out: &mut PayloadSink<'_>) {
        let before = std::mem::take(&mut self.text);
        let indent = before.strip_prefix('\r').unwrap_or(&before);
        self.argument_text(indent.strip_prefix('\n').unwrap_or(&before), out);
    }

    /// Returns `true` if only the arguments may be missing.
    fn may_be_whole(&self) -> bool {
        self.has_name || self.unnamed.is_some() || self.style.payload == HeaderPayload::Call
    }

    fn arguments(&self) -> Option<&JsonCall> {
        self.arguments.as_deref()
    }
}

impl PayloadReader for HeaderCall {
    fn feed(&mut self, text: &str, out: &mut PayloadSink<'_>) -> usize {
        if let (HeaderPhase::Arguments, Some(arguments)) = (self.state, &mut self.arguments) {
            return arguments.feed(text, &mut keeping(&mut self.unnamed, out));
        }
        let mut at = 0;
        loop {
            at += self.take_word(slice(text, at..));
            let Some(next) = slice(text, at..).chars().next() else { break };
            let byte = text.as_bytes().get(at).copied().unwrap_or_default();
            let is_ahead = self.state == HeaderPhase::Lookahead;
            if self.style.payload == HeaderPayload::Text && is_ahead {
                self.argument_text("", out);
            } else if self.style.payload == HeaderPayload::Body
                && is_ahead
                && !next.is_whitespace()
                && byte != b'{'
            {
                self.begin_body(out);
            } else if self.begins_arguments(byte) {
                self.begin_arguments(at, out);
                let is_value = byte.is_ascii_alphabetic() || matches!(byte, b'{' | b'"' | b'\'');
                if self.ends_itself && !is_value {
                    self.fail("the arguments are not a JSON object");
                }
            }
            if matches!(
                self.state,
                HeaderPhase::Arguments | HeaderPhase::Text | HeaderPhase::Failed
            ) {
                break;
            }
            at += next.len_utf8();
            self.header_bytes += next.len_utf8();
            self.header_char(next, at, out);
        }
        if self.state == HeaderPhase::Text {
            self.argument_text(slice(text, at..), out);
            return text.len();
        }
        let mut kept = keeping(&mut self.unnamed, out);
        match &mut self.arguments {
            Some(arguments) if at < text.len() && self.state == HeaderPhase::Arguments => {
                at + arguments.feed(slice(text, at..), &mut |piece| kept(piece.behind(at)))
            }
            _ if self.ends_itself => at,
            _ => text.len(),
        }
    }

    fn plain(&self) -> PlainText {
        if self.state == HeaderPhase::Text {
            let has_framing = self.style.payload == HeaderPayload::Body;
            return if has_framing { PlainText::Nothing } else { PlainText::MarkupRules };
        }
        let arguments = self.arguments().filter(|_| self.unnamed.is_none());
        arguments.map_or(PlainText::Nothing, JsonCall::plain)
    }

    fn pass_escaped(&mut self, text: &str, mut out: &mut dyn FnMut(&str)) -> Option<PlainText> {
        if self.state != HeaderPhase::Text {
            return None;
        }
        escape_into(text, &mut out);
        Some(PlainText::MarkupRules)
    }

    fn skip(&mut self, bytes: usize) {
        if let Some(arguments) = &mut self.arguments {
            arguments.skip(bytes);
        }
    }

    fn is_whole(&self) -> bool {
        self.may_be_whole() && self.arguments().is_some_and(JsonCall::is_whole)
    }

    fn has_ended(&self) -> bool {
        self.may_be_whole() && self.arguments().is_some_and(JsonCall::has_ended)
    }

    fn ends_with_text(&self) -> bool {
        self.is_whole()
    }

    fn has_failed(&self) -> bool {
        self.state == HeaderPhase::Failed || self.arguments().is_some_and(JsonCall::has_failed)
    }

    fn guard(&self) -> MarkerGuard {
        if self.state == HeaderPhase::Text
            && self.style.payload == HeaderPayload::Body
            && !self.line_end.is_whole()
        {
            return MarkerGuard::InLine;
        }
        self.arguments().map_or(MarkerGuard::Open, JsonCall::guard)
    }

    fn repairs(&self) -> RepairSet {
        let mut repairs = self.arguments().map(JsonCall::repairs).unwrap_or_default();
        repairs.extend(self.repairs);
        repairs
    }

    fn close(&mut self, out: &mut PayloadSink<'_>) -> Result<(), PayloadFault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if let HeaderPhase::Field(field, _) = self.state {
            self.state = HeaderPhase::Lookahead;
            let text = std::mem::take(&mut self.text);
            self.end_early(field, &text, 0, out);
        }
        if self.style.payload == HeaderPayload::Text
            && matches!(self.state, HeaderPhase::Lookahead | HeaderPhase::Text)
        {
            self.argument_text("", out);
        }
        if self.state == HeaderPhase::Text {
            if self.edges == Some(['"', '}']) {
                return Err(("the text is an object without its first bracket", self.header_bytes));
            }
            if !self.line_end.is_whole() {
                escape_into(self.line_end.text(), &mut json_to(out));
            }
            out(PayloadOut::Arguments("\"}"));
        }
        let no_name = (NO_NAME, self.header_bytes);
        let is_named_later = self.style.payload == HeaderPayload::Call && self.arguments.is_some();
        if !self.has_name && self.unnamed.is_none() && !is_named_later {
            return Err(no_name);
        }
        if self.state == HeaderPhase::Text {
            return Ok(());
        }
        let Self { arguments, unnamed, header_bytes, .. } = self;
        {
            let mut kept = keeping(unnamed, out);
            match arguments {
                Some(arguments) => arguments
                    .close(&mut kept)
                    .map_err(|(reason, at)| (reason, at + *header_bytes))?,
                None => kept(PayloadOut::Arguments("{}")),
            }
        }
        self.infer_name(out);
        if self.has_name || is_named_later { Ok(()) } else { Err(no_name) }
    }
}

/// Returns a receiver that keeps the arguments of a call without a name.
fn keeping(
    unnamed: &mut Option<Box<UnnamedArguments>>,
    out: &mut PayloadSink<'_>,
) -> impl FnMut(PayloadOut<'_>) {
    move |piece| match (&mut *unnamed, piece) {
        (Some(unnamed), PayloadOut::Arguments(json)) => unnamed.push(json, out),
        _ => out(piece),
    }
}

/// Returns the name in `functions.name:3`.
fn name_in_id(id: &str) -> &str {
    let name = id.strip_prefix("functions.").unwrap_or(id);
    match name.rsplit_once(':') {
        Some((name, index)) if index.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Returns the recipient in the header of a channel.
fn recipient(header: &str) -> &str {
    let Some((_, recipient)) = header.split_once("to=") else { return "" };
    let recipient = recipient.split([' ', '<', '\t', '\n']).next().unwrap_or_default();
    recipient.strip_prefix("functions.").unwrap_or(recipient)
}
