//! A call written as XML: `<tool_name>` and `<arguments>`.

use compact_str::CompactString;

use super::{
    arguments::XmlArguments,
    token::{XmlToken, XmlTokens},
    tree::{NOT_CLOSED, element_name},
};
use crate::grammar::{
    reader::{
        LONG_NAME, MAX_NAME_BYTES, MarkerGuard, NO_NAME, PayloadFault, PayloadOut, PayloadReader,
        PayloadSink, PlainText, ValueTag, is_free_of, json_to,
    },
    schema::KnownTools,
};
use forgeline_json::RepairSet;
use forgeline_types::Repair;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum XmlPhase {
    /// Between the elements of the call.
    #[default]
    Top,
    /// In the tool's name.
    Name,
    /// In the server's name.
    Server,
    Arguments,
    /// After the arguments.
    Done,
}

/// The element of the arguments.
const ARGUMENTS: &str = "arguments";

/// The fault of a call whose arguments are not where they belong.
const NO_ARGUMENTS: &str = "the arguments are not in their element";

/// A reader of a call in XML text, in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct XmlCall {
    tokens: XmlTokens,
    body: XmlBody,
    taken: usize,
}

#[derive(Debug, Default)]
struct XmlBody {
    state: XmlPhase,
    tools: KnownTools,
    /// The current name.
    text: CompactString,
    name: Option<CompactString>,
    arguments: Option<Box<XmlArguments>>,
    /// `true` if there is text, or another element, beside those of a call.
    has_strays: bool,
    repairs: RepairSet,
    fault: Option<&'static str>,
}

impl XmlCall {
    pub(crate) fn new(tools: KnownTools) -> Self {
        Self { body: XmlBody { tools, ..XmlBody::default() }, ..Self::default() }
    }
}

impl PayloadReader for XmlCall {
    fn feed(&mut self, text: &str, out: &mut PayloadSink<'_>) -> usize {
        let Self { tokens, body, taken } = self;
        tokens.feed(text, &mut |token| body.token(token, out));
        *taken += text.len();
        text.len()
    }

    fn plain(&self) -> PlainText {
        if self.body.state != XmlPhase::Arguments || !self.tokens.is_in_text() {
            return PlainText::Nothing;
        }
        self.body.arguments.as_deref().map_or(PlainText::Nothing, XmlArguments::plain)
    }

    fn pass_escaped(&mut self, text: &str, out: &mut dyn FnMut(&str)) -> Option<PlainText> {
        let arguments = self.body.arguments.as_deref_mut().filter(|_| is_free_of(b'<', text))?;
        Some(arguments.pass_text(text, out))
    }

    fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
    }

    /// Returns `true` if the call's own last tag has been read.
    fn is_whole(&self) -> bool {
        self.body.state == XmlPhase::Done && self.body.name.is_some() && self.body.fault.is_none()
    }

    fn guard(&self) -> MarkerGuard {
        if self.tokens.is_protected() {
            MarkerGuard::Closed
        } else if self.is_whole() || self.body.is_behind_name() {
            MarkerGuard::Open
        } else if self.body.state == XmlPhase::Arguments {
            MarkerGuard::InElement
        } else {
            // It may contain an element with the name of an opener.
            MarkerGuard::ClosersOnly
        }
    }

    fn value_tag(&self, text: &str, _anywhere: bool) -> Option<ValueTag> {
        let tag = text.strip_prefix('<')?.strip_suffix('>')?;
        let open = self.body.arguments.as_deref().map_or(ARGUMENTS, XmlArguments::open_element);
        match (tag.strip_prefix('/'), element_name(tag)) {
            (Some(name), _) => (name.trim_end() == open).then_some(ValueTag::End),
            (None, "tool_name" | "server_name") => Some(ValueTag::Next),
            (None, name) => (name == open && !tag.ends_with('/')).then_some(ValueTag::Begin),
        }
    }

    fn begin_inner_call(&mut self) {
        self.body.arguments.iter_mut().for_each(|arguments| arguments.is_data = true);
    }

    fn end_inner_call(&mut self, _out: &mut PayloadSink<'_>) {
        self.body.arguments.iter_mut().for_each(|arguments| arguments.is_data = false);
    }

    fn repairs(&self) -> RepairSet {
        let mut repairs = self.body.repairs;
        repairs.extend(self.body.arguments.as_deref().map(|it| it.repairs).unwrap_or_default());
        repairs
    }

    fn close(&mut self, out: &mut PayloadSink<'_>) -> Result<(), PayloadFault> {
        let body = &mut self.body;
        let fault = body.fault.or(match body.state {
            XmlPhase::Name | XmlPhase::Server | XmlPhase::Arguments => Some(NOT_CLOSED),
            XmlPhase::Top | XmlPhase::Done if body.name.is_none() => Some(NO_NAME),
            XmlPhase::Top | XmlPhase::Done => body.lacks_arguments().then_some(NO_ARGUMENTS),
        });
        if let Some(reason) = fault {
            return Err((reason, self.taken));
        }
        if body.arguments.is_none() {
            out(PayloadOut::Arguments("{}"));
        }
        Ok(())
    }
}

impl XmlBody {
    fn token(&mut self, token: XmlToken<'_>, out: &mut PayloadSink<'_>) {
        match self.state {
            XmlPhase::Top | XmlPhase::Done => self.top(token),
            XmlPhase::Name | XmlPhase::Server => self.name(token, out),
            XmlPhase::Arguments => self.arguments(token, out),
        }
    }

    fn top(&mut self, token: XmlToken<'_>) {
        let tag = match token {
            XmlToken::Tag { tag, .. } => tag,
            XmlToken::Text(text) | XmlToken::Cdata(text) => {
                self.has_strays |= !text.trim().is_empty();
                return;
            }
            XmlToken::Aside(_) => return,
        };
        self.text.clear();
        match element_name(tag) {
            _ if tag.ends_with('/') => {}
            "tool_name" => self.state = XmlPhase::Name,
            "server_name" => self.state = XmlPhase::Server,
            ARGUMENTS if self.arguments.is_none() => {
                self.tools.call(self.name.as_deref().unwrap_or_default());
                self.arguments = Some(Box::new(XmlArguments::new(self.tools.clone())));
                self.state = XmlPhase::Arguments;
            }
            "tool" => {}
            _ => self.has_strays = true,
        }
    }

    /// Returns `true` behind letters of the name, before the arguments: another call cannot be a part of this one.
    fn is_behind_name(&self) -> bool {
        let is_in_name = self.state == XmlPhase::Name && !self.text.trim().is_empty();
        (self.name.is_some() || is_in_name) && self.arguments.is_none()
    }

    /// Returns `true` for a call without arguments whose tool requires some, if they may be elsewhere.
    fn lacks_arguments(&mut self) -> bool {
        self.tools.call(self.name.as_deref().unwrap_or_default());
        self.has_strays && self.arguments.is_none() && !self.tools.schema().requires_only(|_| false)
    }

    fn name(&mut self, token: XmlToken<'_>, out: &mut PayloadSink<'_>) {
        let (text, end) = match token {
            XmlToken::Text(text) | XmlToken::Cdata(text) => (text, None),
            XmlToken::Tag { at, .. } => ("", Some(at)),
            XmlToken::Aside(_) => ("", None),
        };
        if self.text.len() + text.len() <= MAX_NAME_BYTES && self.fault.is_none() {
            self.text.push_str(text);
        } else {
            self.text.clear();
            self.fault.get_or_insert(LONG_NAME);
        }
        let Some(at) = end else { return };
        let name = self.text.trim();
        if self.state == XmlPhase::Server {
            out(PayloadOut::Server { name, at });
        } else if !name.is_empty() && self.name.is_none() {
            out(PayloadOut::Name { name, at });
            self.name = Some(CompactString::from(name));
        }
        self.state = if self.arguments.is_some() { XmlPhase::Done } else { XmlPhase::Top };
        if let XmlToken::Tag { tag, .. } = token
            && !tag.starts_with('/')
        {
            self.repairs.insert(Repair::ImplicitClose);
            self.top(token);
        }
    }

    fn arguments(&mut self, token: XmlToken<'_>, out: &mut PayloadSink<'_>) {
        let Some(arguments) = &mut self.arguments else { return };
        if let XmlToken::Tag { tag, .. } = token
            && tag.strip_prefix('/').is_some_and(|name| name.trim_end() == ARGUMENTS)
            && arguments.may_end()
        {
            self.state = XmlPhase::Done;
            let ended = arguments.finish(&mut json_to(out));
            if let Err(reason) = ended {
                self.fault.get_or_insert(reason);
            }
            return;
        }
        match token {
            XmlToken::Text(text) | XmlToken::Cdata(text) | XmlToken::Aside(text) => {
                out(PayloadOut::Source(text));
            }
            XmlToken::Tag { tag, .. } => {
                out(PayloadOut::Source("<"));
                out(PayloadOut::Source(tag));
                out(PayloadOut::Source(">"));
            }
        }
        arguments.token(token, &mut json_to(out));
    }
}
