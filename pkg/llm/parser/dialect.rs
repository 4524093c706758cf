//! How families of models write reasoning and calls: descriptions, not code.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use super::marker::Marker;

/// How reasoning is marked in text.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::ThinkingDialect;
///
/// assert_eq!(ThinkingDialect::by_name("think"), Some(ThinkingDialect::THINK));
/// let own = ThinkingDialect::tags(&["plan"]);
/// assert_eq!(own.name(), "custom");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinkingDialect(Description<Thinking>);

/// How tool calls are written as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDialect(Description<Tools>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Description<T: 'static> {
    BuiltIn(&'static T),
    Own(Arc<T>),
}

impl<T> Deref for Description<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::BuiltIn(description) => description,
            Self::Own(description) => description,
        }
    }
}

/// A description of a thinking dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Thinking {
    name: &'static str,
    example: &'static str,
    pub(super) openers: Cow<'static, [Marker]>,
    /// One for each opener.
    pub(super) closers: Cow<'static, [Marker]>,
    pub(super) framing: Framing,
    /// Whether the first closer without an opener tells that the response began inside thinking.
    pub(super) finds_late_closer: bool,
}

/// Line ends that belong to the markers: at most so many at each place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Framing {
    pub(super) after_opener: u8,
    pub(super) before_closer: u8,
    pub(super) after_closer: u8,
}

/// A description of a tool-call dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tools {
    name: &'static str,
    example: &'static str,
    /// What opens a call, and what closes it.
    pub(super) openers: Cow<'static, [Marker]>,
    pub(super) closers: Cow<'static, [Marker]>,
}

const FRAMING: Framing = Framing { after_opener: 1, before_closer: 1, after_closer: 2 };

static THINKING: [Thinking; 4] = [
    Thinking {
        name: "none",
        example: "",
        openers: Cow::Borrowed(&[]),
        closers: Cow::Borrowed(&[]),
        framing: Framing { after_opener: 0, before_closer: 0, after_closer: 0 },
        finds_late_closer: false,
    },
    Thinking {
        name: "auto",
        example: "<think>\nSix times seven.\n</think>\n\nIt is 42.",
        openers: Cow::Borrowed(&[
            Marker::tag("<thinking"),
            Marker::tag("<think"),
            Marker::tag("<reasoning"),
            Marker::tag("<thought"),
        ]),
        closers: Cow::Borrowed(&[
            Marker::tag("</thinking"),
            Marker::tag("</think"),
            Marker::tag("</reasoning"),
            Marker::tag("</thought"),
        ]),
        framing: FRAMING,
        finds_late_closer: true,
    },
    Thinking {
        name: "forge",
        example: "<thinking>Six times seven.</thinking>It is 42.",
        openers: Cow::Borrowed(&[Marker::tag("<thinking")]),
        closers: Cow::Borrowed(&[Marker::tag("</thinking")]),
        framing: FRAMING,
        finds_late_closer: false,
    },
    Thinking {
        name: "think",
        example: "<think>\nSix times seven.\n</think>\n\nIt is 42.",
        openers: Cow::Borrowed(&[Marker::tag("<think")]),
        closers: Cow::Borrowed(&[Marker::tag("</think")]),
        framing: FRAMING,
        finds_late_closer: false,
    },
];

static TOOLS: [Tools; 3] = [
    Tools { name: "none", example: "", openers: Cow::Borrowed(&[]), closers: Cow::Borrowed(&[]) },
    Tools {
        name: "auto",
        example: FORGE_EXAMPLE,
        openers: Cow::Borrowed(&FORGE_OPENERS),
        closers: Cow::Borrowed(&FORGE_CLOSERS),
    },
    Tools {
        name: "forge",
        example: FORGE_EXAMPLE,
        openers: Cow::Borrowed(&FORGE_OPENERS),
        closers: Cow::Borrowed(&FORGE_CLOSERS),
    },
];

const FORGE_EXAMPLE: &str =
    r#"<tool>{"tool_name":"calculator","arguments":{"expression":"6 * 7"}}</tool>"#;
static FORGE_OPENERS: [Marker; 1] = [Marker::tag_with_attributes("<tool")];
static FORGE_CLOSERS: [Marker; 1] = [Marker::tag("</tool")];

impl ThinkingDialect {
    /// Text stays as it is.
    pub const NONE: Self = Self(Description::BuiltIn(&THINKING[0]));
    /// `<thinking>`, `<think>`, `<reasoning>` or `<thought>`, recognised by the opener. A response
    /// that began inside thinking is recognised by its first closer.
    pub const AUTO: Self = Self(Description::BuiltIn(&THINKING[1]));
    /// Forge's own: `<thinking>`.
    pub const FORGE: Self = Self(Description::BuiltIn(&THINKING[2]));
    /// `<think>`, as most open models write it.
    pub const THINK: Self = Self(Description::BuiltIn(&THINKING[3]));

    /// Every dialect there is, `none` and `auto` first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        vec![Self::NONE, Self::AUTO, Self::FORGE, Self::THINK]
    }

    /// Tags of these names, in any ASCII case.
    #[must_use]
    pub fn tags(names: &[&str]) -> Self {
        Self(Description::Own(Arc::new(Thinking {
            name: "custom",
            example: "",
            openers: names.iter().map(|name| Marker::own_tag(format!("<{name}"))).collect(),
            closers: names.iter().map(|name| Marker::own_tag(format!("</{name}"))).collect(),
            framing: FRAMING,
            finds_late_closer: false,
        })))
    }

    /// The dialect of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|dialect| dialect.name() == name)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// A text in this dialect; empty for `none`.
    #[must_use]
    pub fn example(&self) -> &'static str {
        self.0.example
    }

    /// Whether text stays as it is.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.openers.is_empty()
    }

    pub(super) fn description(&self) -> &Thinking {
        &self.0
    }
}

impl ToolDialect {
    /// Text stays as it is.
    pub const NONE: Self = Self(Description::BuiltIn(&TOOLS[0]));
    /// Every dialect with an opener of its own, recognised by it.
    pub const AUTO: Self = Self(Description::BuiltIn(&TOOLS[1]));
    /// Forge's own: `<tool>` with JSON or XML.
    pub const FORGE: Self = Self(Description::BuiltIn(&TOOLS[2]));

    /// Every dialect there is, `none` and `auto` first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        vec![Self::NONE, Self::AUTO, Self::FORGE]
    }

    /// The dialect of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|dialect| dialect.name() == name)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// A text in this dialect; empty for `none`.
    #[must_use]
    pub fn example(&self) -> &'static str {
        self.0.example
    }

    /// Whether text stays as it is.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.openers.is_empty()
    }

    pub(super) fn description(&self) -> &Tools {
        &self.0
    }
}
