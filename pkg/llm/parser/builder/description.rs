//! The parts of a dialect: markers, and the grammar of the payload between them.

use crate::grammar::JsonShape;
use crate::{
    ahead::name_check::NameCheck,
    grammar::{HeaderStyle, Tags},
    marker::{
        Marker,
        function_tag::FunctionTag,
        lookahead::{BareName, Lookahead, TagLead},
    },
};

/// A list of markers, in the order in which they are tried.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Markers<'a> {
    One(Marker<'a>),
    Many(&'a [Marker<'a>]),
    /// Markers as spelled by a user.
    Spelled(&'a [&'a str]),
}

impl<'a> Markers<'a> {
    pub(crate) const NONE: Self = Self::Many(&[]);

    pub(crate) fn iter(self) -> impl Iterator<Item = Marker<'a>> + Clone {
        let (one, many, spelled): (_, &'a [_], &'a [&'a str]) = match self {
            Self::One(marker) => (Some(marker), &[], &[]),
            Self::Many(markers) => (None, markers, &[]),
            Self::Spelled(texts) => (None, &[], texts),
        };
        let spelled = spelled.iter().map(|text| Marker::spelled(text));
        one.into_iter().chain(many.iter().copied()).chain(spelled)
    }
}

/// A call without a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BareCall {
    /// A JSON object that is a call, or an array of such.
    Json,
    /// The same, after another call and a semicolon.
    NextJson,
    /// A list of Python calls.
    Python,
    /// Python calls on lines of their own, with the names of offered tools.
    PythonLines,
    /// `call:name{…}`, or `name{…}` and `name(…)` with the name of an offered tool, with `quote` on both sides of a string. In `auto`,
    /// only the former, and only with such a name.
    Syntax { quote: &'static str, offered: NameCheck },
    /// The rest of a header whose beginning is in the prompt: `to=name`.
    Recipient,
    /// This word, if a bracket follows.
    Word(&'static str),
    /// A name, if this marker follows, or another one that ends a header of the dialect's calls.
    Name(&'static str),
    /// An id that ends with a colon and a number, if this marker and an object follow.
    Id(&'static str),
    /// A header in this style, whose opener is missing: a name, if this marker follows.
    Header(&'static str, HeaderStyle),
}

impl BareCall {
    /// Returns the literal text that the call contains.
    pub(crate) fn word(self) -> Option<&'static str> {
        if let Self::Word(word) | Self::Name(word) | Self::Id(word) | Self::Header(word, _) = self {
            Some(word)
        } else {
            None
        }
    }

    /// Returns the part that does not resemble prose.
    pub(crate) fn in_auto(self) -> Option<Self> {
        match self {
            Self::Json => Some(Self::NextJson),
            Self::Syntax { quote, .. } => Some(Self::Syntax { quote, offered: NameCheck::Always }),
            Self::Word(_) | Self::NextJson => Some(self),
            Self::Python
            | Self::PythonLines
            | Self::Recipient
            | Self::Name(_)
            | Self::Id(_)
            | Self::Header(..) => None,
        }
    }
}

/// The grammar of a payload; if there are several, the first byte selects one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallGrammar {
    /// The payload that begins with a curly or square bracket.
    pub(crate) json: Option<JsonShape>,
    /// The payload that begins with a tag.
    pub(crate) markup: Option<MarkupRules>,
    /// Everything else.
    pub(crate) text: Option<TextRules>,
}

/// The beginnings of a call in Forge's XML.
const FORGE_FRONTS: &[&str] = &["<tool_name", "<server_name", "<arguments", "<?"];

/// The tags of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkupRules {
    /// `<tool_name>` and `<arguments>`, as requested by Forge.
    Forge,
    /// A function with an element for each argument, with `]<]minimax[>[` before every tag.
    Elements,
    /// A function with parameters.
    Tags(Tags),
}

/// The other forms of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextRules {
    /// A name, then the arguments as JSON.
    Named(HeaderStyle),
    /// A name, followed by keys and values in tags.
    Tags(Tags),
    /// `call:name{key:value}`, with `quote` on both sides of a string.
    Syntax { quote: &'static str },
    /// `[name(key=value)]`, or without the brackets.
    Python,
}

impl CallGrammar {
    pub(crate) const NONE: Self = Self { json: None, markup: None, text: None };
    pub(crate) const JSON: Self = Self { json: Some(JsonShape::Calls), ..Self::NONE };

    /// Returns the end of a function in tags.
    pub(crate) fn function_end(&self) -> Option<&'static str> {
        let Some(MarkupRules::Tags(tags)) = self.markup else { return None };
        (!tags.function_end.is_empty()).then_some(tags.function_end)
    }

    /// Returns the texts that a payload may begin with.
    pub(crate) fn lead(&self) -> Lookahead {
        let tag = self.markup.map(|markup| match markup {
            MarkupRules::Forge => TagLead::OneOf(FORGE_FRONTS),
            MarkupRules::Elements => TagLead::Function(FunctionTag::of_elements()),
            MarkupRules::Tags(tags) => TagLead::Function(FunctionTag::from_tags(&tags)),
        });
        let fronts = match self.text {
            Some(TextRules::Named(style)) => style.fronts(),
            Some(TextRules::Tags(_) | TextRules::Syntax { .. } | TextRules::Python) | None => None,
        };
        let tag = tag.or(fronts.map(TagLead::OneOf));
        let bare = self.text.filter(|_| fronts.is_none()).map(|text| match text {
            TextRules::Tags(_) => BareName::Pairs,
            TextRules::Syntax { .. } => BareName::Syntax,
            TextRules::Python => BareName::Python,
            TextRules::Named(style) if style.has_lines() => BareName::Lines,
            TextRules::Named(style) => BareName::before(style.separators()),
        });
        Lookahead { json: self.json.is_some(), tag, bare, is_typed: false }
    }

    pub(crate) const fn tags(tags: Tags) -> Self {
        Self { markup: Some(MarkupRules::Tags(tags)), ..Self::NONE }
    }

    pub(crate) const fn text(text: TextRules) -> Self {
        Self { text: Some(text), ..Self::NONE }
    }

    pub(crate) const fn json(shape: JsonShape) -> Self {
        Self { json: Some(shape), ..Self::NONE }
    }

    /// Returns the tags and quotes that structure the payload.
    pub(crate) fn words(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        if let Some(MarkupRules::Tags(tags)) = self.markup {
            all.extend(tags.all());
        }
        match self.text {
            Some(TextRules::Tags(tags)) => all.extend(tags.all()),
            Some(TextRules::Syntax { quote }) => all.push(quote),
            Some(TextRules::Named(_) | TextRules::Python) | None => {}
        }
        all
    }

    /// Adds the grammar of payloads that begin with a tag.
    #[must_use]
    pub(crate) const fn or_markup(mut self, markup: MarkupRules) -> Self {
        self.markup = Some(markup);
        self
    }

    /// Adds the grammar of payloads that begin with neither a bracket nor a tag.
    #[must_use]
    pub(crate) const fn or_text(mut self, text: TextRules) -> Self {
        self.text = Some(text);
        self
    }
}

/// The rules of a thinking dialect besides its markers.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct ThinkingRules {
    /// The maximum number of line ends that belong to the ignored marker before them.
    pub(crate) after_ignored: u8,
    /// `true` if the openers are plain words, which count only at the start of a response.
    pub(crate) only_at_start: bool,
    /// `true` if the first closer without an opener shows that the response began inside thinking.
    pub(crate) finds_late_closer: bool,
    /// `true` if the prompt template opens the reasoning, so that the response begins inside it.
    pub(crate) starts_inside: bool,
    /// `true` if calls in reasoning that is never closed count as calls.
    pub(crate) recovers_calls: bool,
}

impl ThinkingRules {
    pub(crate) const NONE: Self = Self {
        after_ignored: 0,
        only_at_start: false,
        finds_late_closer: false,
        starts_inside: false,
        recovers_calls: true,
    };
}

/// The maximum number of line ends that belong to the markers at each place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MarkerFraming {
    pub(crate) after_opener: u8,
    pub(crate) before_closer: u8,
    pub(crate) after_closer: u8,
}

impl MarkerFraming {
    pub(crate) const NONE: Self = Self { after_opener: 0, before_closer: 0, after_closer: 0 };
}
