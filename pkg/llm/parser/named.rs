//! A call whose name stands before its arguments.

use compact_str::CompactString;

use super::{
    description::JsonShape,
    json::JsonCall,
    reader::{Fault, Guard, PayloadOut, Plain, Reader},
    repairs::RepairSet,
};

/// Longest header, in bytes: a name, an id, and what stands around them.
const MAX_HEADER_BYTES: usize = 2048;
/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 1024;

/// How the name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(super) enum HeaderStyle {
    /// The name, then this separator.
    Before(&'static str),
    /// The name, then the first; the arguments stand behind the second.
    Between(&'static str, &'static str),
    /// `functions.name:index`, which is the id of the call, then the separator.
    Kimi,
    /// `function`, separator, name, and the arguments in a fence; or name, separator, arguments.
    DeepSeek,
    /// The name, perhaps `[CALL_ID]` and an id, and `[ARGS]`.
    Mistral,
    /// The header of a channel: `to=functions.name`.
    Harmony,
    /// The name, then the marker of a call; the JSON repeats the name.
    Inkling,
}

const KIMI_SEPARATOR: &str = "<|tool_call_argument_begin|>";
const DEEPSEEK_SEPARATOR: &str = "<｜tool▁sep｜>";
const HARMONY_SEPARATOR: &str = "<|message|>";
const INKLING_START: &str = "<|message_model|>";
const INKLING_SEPARATOR: &str = "<|content_invoke_tool_json|>";

/// Reads a header with the name, then the arguments as JSON.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct NamedCall {
    style: HeaderStyle,
    state: State,
    /// The header so far; bounded by [`MAX_HEADER_BYTES`].
    header: CompactString,
    has_name: bool,
    /// Bytes before the arguments.
    header_bytes: usize,
    arguments: Option<Box<JsonCall>>,
    ends_itself: bool,
    fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    /// Behind the last separator: blanks, or the line that opens a fence.
    Lead,
    Arguments,
    Failed,
}

impl NamedCall {
    /// `ends_itself` where no closer follows the arguments.
    pub(super) fn new(style: HeaderStyle, ends_itself: bool) -> Self {
        Self {
            style,
            state: State::Header,
            header: CompactString::const_new(""),
            has_name: false,
            header_bytes: 0,
            arguments: None,
            ends_itself,
            fault: None,
        }
    }

    /// One more character before the arguments; `at` stands behind it.
    fn header_char(&mut self, next: char, at: usize, out: &mut dyn FnMut(PayloadOut<'_>)) {
        let is_head = self.state == State::Header;
        if self.header.len() + next.len_utf8() > MAX_HEADER_BYTES {
            return self.fail("a name is longer than 1024 bytes");
        }
        self.header.push(next);
        match self.style {
            HeaderStyle::Before(separator) if is_head => {
                if let Some(name) = self.header.strip_suffix(separator) {
                    let name = CompactString::from(name);
                    self.end_header(&name, at, out);
                }
            }
            HeaderStyle::Between(separator, last) if is_head => {
                if let Some(name) = self.header.strip_suffix(separator) {
                    let name = CompactString::from(name);
                    self.end_header(&name, at, out);
                    self.style = HeaderStyle::Between(separator, last);
                }
            }
            HeaderStyle::Between(_, last) => {
                if self.header.ends_with(last) {
                    self.header.clear();
                    self.style = HeaderStyle::Before("");
                }
            }
            HeaderStyle::Kimi if is_head => {
                if let Some(id) = self.header.strip_suffix(KIMI_SEPARATOR) {
                    let id = CompactString::from(id.trim());
                    out(PayloadOut::Id(&id));
                    self.end_header(kimi_name(&id), at, out);
                }
            }
            HeaderStyle::Harmony if is_head => {
                if let Some(header) = self.header.strip_suffix(HARMONY_SEPARATOR) {
                    let name = CompactString::from(harmony_name(header));
                    self.end_header(&name, at, out);
                }
            }
            HeaderStyle::Inkling if is_head => {
                if let Some(header) = self.header.strip_suffix(INKLING_SEPARATOR) {
                    let name = header.strip_prefix(INKLING_START).unwrap_or(header);
                    let name = CompactString::from(name);
                    self.end_header(&name, at, out);
                }
            }
            HeaderStyle::DeepSeek if is_head => {
                if let Some(name) = self.header.strip_suffix(DEEPSEEK_SEPARATOR) {
                    if name.trim() == "function" {
                        self.header.clear();
                        self.style = HeaderStyle::Before("\n");
                    } else {
                        let name = CompactString::from(name);
                        self.end_header(&name, at, out);
                    }
                }
            }
            HeaderStyle::Mistral if is_head => {
                if let Some(header) = self.header.strip_suffix("[ARGS]") {
                    let header = CompactString::from(header);
                    self.end_header(&header, at, out);
                }
            }
            HeaderStyle::Before(_)
            | HeaderStyle::Kimi
            | HeaderStyle::DeepSeek
            | HeaderStyle::Mistral
            | HeaderStyle::Inkling
            | HeaderStyle::Harmony => {}
        }
    }

    fn end_header(&mut self, name: &str, at: usize, out: &mut dyn FnMut(PayloadOut<'_>)) {
        let (name, id) = match name.split_once("[CALL_ID]") {
            Some((name, id)) if self.style == HeaderStyle::Mistral => (name, id.trim()),
            _ => (name, ""),
        };
        if !id.is_empty() {
            out(PayloadOut::Id(id));
        }
        let name = name.trim();
        if name.len() > MAX_NAME_BYTES {
            return self.fail("a name is longer than 1024 bytes");
        }
        if !name.is_empty() {
            out(PayloadOut::Name { name, at });
            self.has_name = true;
        }
        self.header.clear();
        self.state = State::Lead;
    }

    /// A bracket: the arguments begin, whatever was missing before them.
    fn begin_arguments(&mut self, at: usize, out: &mut dyn FnMut(PayloadOut<'_>)) {
        if self.state == State::Header {
            let mut header = std::mem::take(&mut self.header);
            if header.is_empty() && self.style == HeaderStyle::Before("\n") {
                // DeepSeek's word for every call was the name of a tool.
                header.push_str("function");
            }
            self.end_header(&header, at, out);
        }
        let mut arguments = match self.style {
            HeaderStyle::Inkling => JsonCall::new(JsonShape::Calls).named(),
            HeaderStyle::Before(_)
            | HeaderStyle::Between(..)
            | HeaderStyle::Kimi
            | HeaderStyle::DeepSeek
            | HeaderStyle::Mistral
            | HeaderStyle::Harmony => JsonCall::arguments(),
        };
        if self.header.contains('`') {
            arguments = arguments.fenced();
        }
        if self.ends_itself {
            arguments = arguments.ending_itself();
        }
        self.arguments = Some(Box::new(arguments));
        if self.state == State::Lead {
            self.state = State::Arguments;
        }
    }

    fn fail(&mut self, reason: &'static str) {
        self.fault.get_or_insert((reason, self.header_bytes));
        self.state = State::Failed;
    }

    /// Whether the text behind the separator begins the arguments at `byte`.
    fn begins_arguments(&self, byte: u8) -> bool {
        match self.state {
            State::Header => byte == b'{' && self.style != HeaderStyle::Harmony,
            State::Lead => match byte {
                b'{' => true,
                // Inside the id of a call, or the word behind the ticks of a fence, all is text.
                _ if matches!(self.style, HeaderStyle::Between(..)) => false,
                _ if !self.header.trim().is_empty() => false,
                _ => !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'`'),
            },
            State::Arguments | State::Failed => false,
        }
    }
}

impl Reader for NamedCall {
    fn feed(&mut self, text: &str, out: &mut dyn FnMut(PayloadOut<'_>)) -> usize {
        let mut at = 0;
        for next in text.chars() {
            let byte = text.as_bytes().get(at).copied().unwrap_or_default();
            if self.begins_arguments(byte) {
                self.begin_arguments(at, out);
                let is_value = byte.is_ascii_alphabetic() || matches!(byte, b'{' | b'"' | b'\'');
                if self.ends_itself && !is_value {
                    self.fail("the arguments are no JSON object");
                }
            }
            if matches!(self.state, State::Arguments | State::Failed) {
                break;
            }
            at += next.len_utf8();
            self.header_bytes += next.len_utf8();
            self.header_char(next, at, out);
        }
        let rest = text.get(at..).unwrap_or_default();
        match &mut self.arguments {
            Some(arguments) if !rest.is_empty() && self.state == State::Arguments => {
                if at == 0 {
                    arguments.feed(rest, out)
                } else {
                    at + arguments.feed(rest, &mut |piece| out(piece.behind(at)))
                }
            }
            _ if self.ends_itself => at,
            _ => text.len(),
        }
    }

    fn plain(&self) -> Plain {
        self.arguments.as_ref().map_or(Plain::Nothing, |arguments| arguments.plain())
    }

    fn skip(&mut self, bytes: usize) {
        if let Some(arguments) = &mut self.arguments {
            arguments.skip(bytes);
        }
    }

    fn is_whole(&self) -> bool {
        self.has_name && self.arguments.as_ref().is_some_and(|arguments| arguments.is_whole())
    }

    fn has_failed(&self) -> bool {
        self.state == State::Failed
            || self.arguments.as_ref().is_some_and(|arguments| arguments.has_failed())
    }

    fn guard(&self) -> Guard {
        self.arguments.as_ref().map_or(Guard::Open, |arguments| arguments.guard())
    }

    fn repairs(&self) -> RepairSet {
        self.arguments.as_ref().map(|arguments| arguments.repairs()).unwrap_or_default()
    }

    fn close(&mut self, out: &mut dyn FnMut(PayloadOut<'_>)) -> Result<(), Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.state == State::Header {
            let header = std::mem::take(&mut self.header);
            self.end_header(&header, 0, out);
        }
        if !self.has_name {
            return Err(("the call names no tool", self.header_bytes));
        }
        let Some(arguments) = &mut self.arguments else {
            out(PayloadOut::Arguments("{}"));
            return Ok(());
        };
        let header_bytes = self.header_bytes;
        arguments.close(out).map_err(|(reason, at)| (reason, at + header_bytes))
    }
}

/// `functions.name:3` names `name`.
fn kimi_name(id: &str) -> &str {
    let name = id.strip_prefix("functions.").unwrap_or(id);
    match name.rsplit_once(':') {
        Some((name, index)) if index.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// The recipient in the header of a channel.
fn harmony_name(header: &str) -> &str {
    let Some((_, recipient)) = header.split_once("to=") else { return "" };
    let end = recipient.find([' ', '<', '\t', '\n']).unwrap_or(recipient.len());
    let recipient = recipient.get(..end).unwrap_or_default();
    recipient.strip_prefix("functions.").unwrap_or(recipient)
}
