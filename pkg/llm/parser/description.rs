//! What a dialect is made of: markers, and the grammar of what stands between them.

use std::borrow::Cow;

pub(super) use super::grammar::JsonShape;
use super::{
    grammar::{HeaderStyle, Tags},
    marker::Marker,
};

/// How a family of models writes tool calls.
#[derive(Debug, Clone)]
pub(super) struct Tools {
    pub(super) name: &'static str,
    pub(super) example: &'static str,
    /// Markers around several calls; they belong to nothing and are passed over.
    pub(super) wrappers: Cow<'static, [Wrapper]>,
    pub(super) calls: Cow<'static, [CallForm]>,
    /// How a call begins without a marker, at the start of a message.
    pub(super) bare: Option<Bare>,
}

/// A pair of markers around several calls.
#[derive(Debug, Clone)]
pub(super) struct Wrapper {
    pub(super) opener: Marker,
    /// Counts once a call or a wrapper has begun.
    pub(super) closer: Marker,
}

/// One form of a call.
#[derive(Debug, Clone)]
pub(super) struct CallForm {
    pub(super) opener: Marker,
    /// Without closers the grammar itself says where the call ends.
    pub(super) closers: Cow<'static, [Marker]>,
    pub(super) grammar: Grammar,
    /// Whether the opener is the front of the payload, because it holds the name.
    pub(super) opener_is_payload: bool,
}

/// A call without a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bare {
    /// A JSON object that is a call, or an array of such.
    Json,
    /// The same, behind another call and a semicolon.
    NextJson,
    /// A list of Python calls.
    Python,
    /// The rest of a header that the prompt began: `to=name`.
    Recipient,
    /// This text, where a bracket follows.
    Word(&'static str),
    /// A name, where this marker follows; what it begins is of the dialect's first form.
    Name(&'static str),
}

impl Bare {
    /// What of it prose does not look like.
    pub(super) fn in_auto(self) -> Option<Self> {
        match self {
            Self::Json => Some(Self::NextJson),
            Self::Word(_) | Self::NextJson => Some(self),
            Self::Python | Self::Recipient | Self::Name(_) => None,
        }
    }
}

/// What stands in a call; of several, the first byte tells which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Grammar {
    /// What begins with a curly or square bracket.
    pub(super) json: Option<JsonShape>,
    /// What begins with a tag.
    pub(super) markup: Option<Markup>,
    /// Everything else.
    pub(super) text: Option<Textual>,
}

/// What the tags of a call look like.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a few of them, in static memory")]
pub(super) enum Markup {
    /// `<tool_name>` and `<arguments>`, as Forge asks for it.
    Forge,
    /// A function with an element for each argument, every tag behind `]<]minimax[>[`.
    Elements,
    /// A function with parameters.
    Tags(Tags),
}

/// What else a call may look like.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a few of them, in static memory")]
pub(super) enum Textual {
    /// A name, then the arguments as JSON.
    Named(HeaderStyle),
    /// A name, then keys and values in tags.
    Tags(Tags),
    /// `call:name{key:value}`; this text stands on both sides of a string.
    Syntax { quote: &'static str },
    /// `[name(key=value)]`, or without the brackets.
    Python,
}

impl Grammar {
    pub(super) const NONE: Self = Self { json: None, markup: None, text: None };
    pub(super) const JSON: Self = Self { json: Some(JsonShape::Calls), ..Self::NONE };

    pub(super) const fn tags(tags: Tags) -> Self {
        Self { markup: Some(Markup::Tags(tags)), ..Self::NONE }
    }

    pub(super) const fn text(text: Textual) -> Self {
        Self { text: Some(text), ..Self::NONE }
    }
}

/// How a family of models marks its reasoning.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct Thinking {
    pub(super) name: &'static str,
    pub(super) example: &'static str,
    pub(super) sections: Cow<'static, [ThinkingForm]>,
    /// Markers in the answer that belong to nothing, such as those around it.
    pub(super) ignored: Cow<'static, [Marker]>,
    /// Line ends that belong to an ignored marker before them, at most.
    pub(super) after_ignored: u8,
    /// Whether the openers are plain words: they count at the start of a response only.
    pub(super) only_at_start: bool,
    /// Whether the first closer without an opener tells that the response began inside thinking.
    pub(super) finds_late_closer: bool,
    /// Whether the template opens the reasoning: the response begins inside it.
    pub(super) starts_inside: bool,
    /// Whether calls in reasoning that is never closed are calls.
    pub(super) recovers_calls: bool,
}

/// One form of reasoning.
#[derive(Debug, Clone)]
pub(super) struct ThinkingForm {
    pub(super) opener: Marker,
    pub(super) closers: Cow<'static, [Marker]>,
    pub(super) framing: Framing,
}

/// Line ends that belong to the markers: at most so many at each place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Framing {
    pub(super) after_opener: u8,
    pub(super) before_closer: u8,
    pub(super) after_closer: u8,
}

impl Framing {
    pub(super) const NONE: Self = Self { after_opener: 0, before_closer: 0, after_closer: 0 };
    /// What most models write around `<think>`.
    pub(super) const THINK: Self = Self { after_opener: 1, before_closer: 1, after_closer: 2 };
}
