//! The dialects by name.

use std::sync::{Arc, OnceLock};

use super::{
    compiled::{Compiled, CompiledThinking, StopsOfBoth},
    description::{Thinking, Tools},
    dialects,
};

pub(super) use super::compiled::CompiledForm;

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
pub struct ThinkingDialect(Kind<OwnThinking>);

/// How tool calls are written as text.
///
/// [`by_name`](Self::by_name) knows what the families of models write; [`builder`](Self::builder)
/// describes what none of them does.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::ToolDialect;
///
/// assert_eq!(ToolDialect::by_name("forge"), Some(ToolDialect::FORGE));
/// assert!(ToolDialect::by_name("klingon").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDialect(Kind<OwnTools>);

#[derive(Debug)]
enum Kind<T> {
    /// The place in the list of all.
    BuiltIn(usize),
    Own(Arc<T>),
}

impl<T> Clone for Kind<T> {
    fn clone(&self) -> Self {
        match self {
            Self::BuiltIn(at) => Self::BuiltIn(*at),
            Self::Own(own) => Self::Own(Arc::clone(own)),
        }
    }
}

impl<T> PartialEq for Kind<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::BuiltIn(one), Self::BuiltIn(other)) => one == other,
            (Self::Own(one), Self::Own(other)) => Arc::ptr_eq(one, other),
            (Self::BuiltIn(_) | Self::Own(_), _) => false,
        }
    }
}

impl<T> Eq for Kind<T> {}

#[derive(Debug)]
struct OwnThinking {
    description: Thinking,
    compiled: CompiledThinking,
}

#[derive(Debug)]
struct OwnTools {
    description: Tools,
    compiled: Compiled,
}

static TOOLS: [OnceLock<Compiled>; dialects::TOOLS.len()] =
    [const { OnceLock::new() }; dialects::TOOLS.len()];
static THINKING: [OnceLock<CompiledThinking>; dialects::THINKING.len()] =
    [const { OnceLock::new() }; dialects::THINKING.len()];

/// Where the markers of two dialects of the lists may begin, once they were used together.
static STOPS: [[OnceLock<Arc<StopsOfBoth>>; dialects::TOOLS.len()]; dialects::THINKING.len()] =
    [const { [const { OnceLock::new() }; dialects::TOOLS.len()] }; dialects::THINKING.len()];

impl ThinkingDialect {
    /// Text stays as it is.
    pub const NONE: Self = Self(Kind::BuiltIn(0));
    /// Every dialect with an opener of its own, recognised by it. A response that began inside
    /// thinking is recognised by its first closer.
    pub const AUTO: Self = Self(Kind::BuiltIn(1));
    /// Forge's own: `<thinking>`.
    pub const FORGE: Self = Self(Kind::BuiltIn(2));
    /// `<think>`, as most open models write it.
    pub const THINK: Self = Self(Kind::BuiltIn(3));

    /// Every dialect there is, `none` and `auto` first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        (0..dialects::THINKING.len()).map(|at| Self(Kind::BuiltIn(at))).collect()
    }

    /// Tags of these names, in any ASCII case.
    #[must_use]
    pub fn tags(names: &[&str]) -> Self {
        Self::own(Thinking::of_tags(names))
    }

    pub(super) fn own(description: Thinking) -> Self {
        let compiled = CompiledThinking::new(&description);
        Self(Kind::Own(Arc::new(OwnThinking { description, compiled })))
    }

    /// The dialect of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|dialect| dialect.name() == name)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.description().name
    }

    /// A text in this dialect; empty for `none`.
    #[must_use]
    pub fn example(&self) -> &'static str {
        self.description().example
    }

    /// Whether text stays as it is.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.compiled().is_empty()
    }

    /// Whether the prompt template of the family opens the reasoning, so that responses begin inside.
    #[must_use]
    pub fn starts_inside(&self) -> bool {
        self.description().starts_inside
    }

    pub(super) fn description(&self) -> &Thinking {
        match &self.0 {
            Kind::BuiltIn(1) => dialects::auto_thinking(),
            Kind::BuiltIn(at) => {
                dialects::THINKING.get(*at).copied().unwrap_or(&dialects::NO_THINKING)
            }
            Kind::Own(own) => &own.description,
        }
    }

    /// Where the markers of this dialect and of `tools` may begin.
    pub(super) fn stops_with(&self, tools: &ToolDialect) -> Arc<StopsOfBoth> {
        let stops = || Arc::new(StopsOfBoth::new(self.compiled(), tools.compiled()));
        match (&self.0, &tools.0) {
            (Kind::BuiltIn(own), Kind::BuiltIn(theirs)) => STOPS
                .get(*own)
                .and_then(|row| row.get(*theirs))
                .map_or_else(stops, |known| Arc::clone(known.get_or_init(stops))),
            (Kind::BuiltIn(_) | Kind::Own(_), _) => stops(),
        }
    }

    pub(super) fn compiled(&self) -> &CompiledThinking {
        static NONE: OnceLock<CompiledThinking> = OnceLock::new();
        match &self.0 {
            Kind::BuiltIn(at) => THINKING
                .get(*at)
                .unwrap_or(&NONE)
                .get_or_init(|| CompiledThinking::new(self.description())),
            Kind::Own(own) => &own.compiled,
        }
    }
}

impl ToolDialect {
    /// Text stays as it is.
    pub const NONE: Self = Self(Kind::BuiltIn(0));
    /// Every dialect with an opener of its own, recognised by it.
    pub const AUTO: Self = Self(Kind::BuiltIn(1));
    /// Forge's own: `<tool>` with JSON or XML.
    pub const FORGE: Self = Self(Kind::BuiltIn(2));

    /// Every dialect there is, `none` and `auto` first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        (0..dialects::TOOLS.len()).map(|at| Self(Kind::BuiltIn(at))).collect()
    }

    pub(super) fn own(description: Tools) -> Self {
        let compiled = Compiled::new(&[&description]);
        Self(Kind::Own(Arc::new(OwnTools { description, compiled })))
    }

    /// The dialect of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|dialect| dialect.name() == name)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.description().name
    }

    /// A text in this dialect; empty for `none`.
    #[must_use]
    pub fn example(&self) -> &'static str {
        self.description().example
    }

    /// Whether text stays as it is.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.compiled().is_empty()
    }

    fn description(&self) -> &Tools {
        match &self.0 {
            Kind::BuiltIn(at) => dialects::TOOLS.get(*at).copied().unwrap_or(&dialects::NO_TOOLS),
            Kind::Own(own) => &own.description,
        }
    }

    pub(super) fn compiled(&self) -> &Compiled {
        static NONE: OnceLock<Compiled> = OnceLock::new();
        match &self.0 {
            Kind::BuiltIn(at) => TOOLS.get(*at).unwrap_or(&NONE).get_or_init(|| match at {
                1 => Compiled::new(&dialects::auto_tools().iter().collect::<Vec<_>>()),
                _ => Compiled::new(&[self.description()]),
            }),
            Kind::Own(own) => &own.compiled,
        }
    }
}
