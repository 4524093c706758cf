//! Dialects by name.

use std::sync::{Arc, OnceLock};

use crate::{
    builder::{
        Section, ThinkingDialectBuilder, ToolDialectBuilder, description::ThinkingRules,
        special_tokens::SpecialTokens,
    },
    compiled::{
        shared_stop_bytes::SharedStopBytes, thinking::CompiledThinking, tools::CompiledTools,
    },
    families::{self, THINKING_COUNT, TOOL_COUNT},
};

/// A dialect of marking reasoning in text.
///
/// [`by_name`](Self::by_name) returns the dialects of known model families; [`builder`](Self::builder)
/// describes any other. The text form, also in serde, is the name.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::ThinkingDialect;
///
/// assert_eq!(ThinkingDialect::by_name("think"), Some(ThinkingDialect::THINK));
/// assert_eq!("think".parse(), Ok(ThinkingDialect::THINK));
///
/// let own = ThinkingDialect::tags(&["plan"]);
/// assert_eq!(own.to_string(), "custom");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinkingDialect(DialectKind<CompiledThinking>);

/// A dialect of writing tool calls as text.
///
/// [`by_name`](Self::by_name) returns the dialects of known model families; [`builder`](Self::builder)
/// describes any other. The text form, also in serde, is the name.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::ToolDialect;
///
/// assert_eq!(ToolDialect::by_name("forge"), Some(ToolDialect::FORGE));
/// assert_eq!("forge".parse(), Ok(ToolDialect::FORGE));
/// assert_eq!(serde_json::to_string(&ToolDialect::FORGE)?, r#""forge""#);
///
/// let error = "klingon".parse::<ToolDialect>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown tool-call dialect `klingon`; expected one of: "));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDialect(DialectKind<CompiledTools>);

#[derive(Debug, Clone)]
enum DialectKind<T> {
    /// The index in the list of all dialects.
    BuiltIn(usize),
    /// A dialect described by a user.
    Own(Arc<T>),
}

impl<T> PartialEq for DialectKind<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::BuiltIn(one), Self::BuiltIn(other)) => one == other,
            (Self::Own(one), Self::Own(other)) => Arc::ptr_eq(one, other),
            (Self::BuiltIn(_) | Self::Own(_), _) => false,
        }
    }
}

impl<T> Eq for DialectKind<T> {}

static TOOLS: [OnceLock<CompiledTools>; TOOL_COUNT] = [const { OnceLock::new() }; TOOL_COUNT];
static THINKING: [OnceLock<CompiledThinking>; THINKING_COUNT] =
    [const { OnceLock::new() }; THINKING_COUNT];

/// The bytes with which markers of two listed dialects may begin, computed when they are first used together.
static STOPS: [[OnceLock<Arc<SharedStopBytes>>; TOOL_COUNT]; THINKING_COUNT] =
    [const { [const { OnceLock::new() }; TOOL_COUNT] }; THINKING_COUNT];

impl ThinkingDialect {
    /// The dialect without reasoning: text is unchanged.
    pub const NONE: Self = Self(DialectKind::BuiltIn(0));
    /// All dialects with an opener of their own, by which they are recognized. A response that began inside
    /// thinking is recognized by its first closer.
    pub const AUTO: Self = Self(DialectKind::BuiltIn(1));
    /// Forge's own dialect: `<thinking>`.
    pub const FORGE: Self = Self(DialectKind::BuiltIn(2));
    /// The dialect of most open models: `<think>`.
    pub const THINK: Self = Self(DialectKind::BuiltIn(3));

    /// Returns every dialect known to the library, `none` and `auto` first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        (0..THINKING_COUNT).map(|at| Self(DialectKind::BuiltIn(at))).collect()
    }

    /// Returns a dialect of tags with these names, in any ASCII case.
    #[must_use]
    pub fn tags(names: &[&str]) -> Self {
        let tags: Vec<_> =
            names.iter().map(|name| [format!("<{name}>"), format!("</{name}>")]).collect();
        let sections: Vec<_> =
            tags.iter().map(|[opener, closer]| Section::new(opener, closer)).collect();
        let description = ThinkingDialectBuilder::new("custom").sections(&sections);
        Self::own(&description.framing(1, 1, 2))
    }

    pub(crate) fn own(description: &ThinkingDialectBuilder<'_>) -> Self {
        Self(DialectKind::Own(Arc::new(CompiledThinking::new(
            &[*description],
            SpecialTokens::Never,
        ))))
    }

    /// Returns the dialect with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|dialect| dialect.name() == name)
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.0 {
            DialectKind::BuiltIn(at) => {
                families::thinking(*at).map_or("", |description| description.name)
            }
            DialectKind::Own(own) => own.name,
        }
    }

    /// Returns an example of text in this dialect; empty for `none`.
    #[must_use]
    pub fn example(&self) -> &'static str {
        match &self.0 {
            DialectKind::BuiltIn(at) => {
                families::thinking(*at).map_or("", |description| description.example)
            }
            DialectKind::Own(own) => own.example,
        }
    }

    /// Returns `true` if the dialect leaves text unchanged.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.compiled().is_empty()
    }

    /// Returns `true` if the prompt template of the family opens the reasoning, so that responses
    /// begin inside it.
    #[must_use]
    pub fn starts_inside(&self) -> bool {
        self.rules().starts_inside
    }

    /// Returns `text` as reasoning that a model would write in this dialect before its answer; `None` for
    /// a dialect without markers, or with headers as markers.
    #[doc(hidden)]
    pub fn write(&self, text: &str) -> Option<String> {
        let compiled = self.compiled();
        let section = compiled.sections.first()?;
        let opener = compiled.starts.written()?;
        let closer = section.closers.written()?;
        let lines = |count: u8| "\n".repeat(count.into());
        let framing = section.framing;
        let [behind, before, after] =
            [framing.after_opener, framing.before_closer, framing.after_closer].map(lines);
        Some([&opener, &*behind, text, &before, &closer, &after].concat())
    }

    pub(crate) fn rules(&self) -> ThinkingRules {
        self.compiled().rules
    }

    /// Returns the places where the markers of this dialect and of `tools` may begin.
    pub(crate) fn stops_with(&self, tools: &ToolDialect) -> Arc<SharedStopBytes> {
        let stops = || Arc::new(SharedStopBytes::new(self.compiled(), tools.compiled()));
        match (&self.0, &tools.0) {
            (DialectKind::BuiltIn(own), DialectKind::BuiltIn(theirs)) => STOPS
                .get(*own)
                .and_then(|row| row.get(*theirs))
                .map_or_else(stops, |known| Arc::clone(known.get_or_init(stops))),
            (DialectKind::BuiltIn(_) | DialectKind::Own(_), _) => stops(),
        }
    }

    pub(crate) fn compiled(&self) -> &CompiledThinking {
        static NONE: OnceLock<CompiledThinking> = OnceLock::new();
        match &self.0 {
            DialectKind::BuiltIn(at) => THINKING.get(*at).unwrap_or(&NONE).get_or_init(|| {
                let (known, strays) = match at {
                    1 => (families::auto_thinking(), SpecialTokens::BehindCalls),
                    _ => {
                        (families::thinking(*at).into_iter().collect(), SpecialTokens::Always(&[]))
                    }
                };
                CompiledThinking::new(&known, strays)
            }),
            DialectKind::Own(own) => own,
        }
    }
}

impl ToolDialect {
    /// The dialect without calls: text is unchanged.
    pub const NONE: Self = Self(DialectKind::BuiltIn(0));
    /// All dialects with an opener of their own, by which they are recognized.
    pub const AUTO: Self = Self(DialectKind::BuiltIn(1));
    /// Forge's own dialect: `<tool>` with JSON or XML.
    pub const FORGE: Self = Self(DialectKind::BuiltIn(2));

    /// Returns every dialect known to the library, `none` and `auto` first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        (0..TOOL_COUNT).map(|at| Self(DialectKind::BuiltIn(at))).collect()
    }

    pub(crate) fn own(description: &ToolDialectBuilder<'_>) -> Self {
        Self(DialectKind::Own(Arc::new(CompiledTools::new(
            &[*description],
            &[],
            SpecialTokens::Never,
        ))))
    }

    /// Returns the dialect with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|dialect| dialect.name() == name)
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.0 {
            DialectKind::BuiltIn(at) => {
                families::tools(*at).map_or("", |description| description.name)
            }
            DialectKind::Own(own) => own.name,
        }
    }

    /// Returns an example of text in this dialect; empty for `none`.
    #[must_use]
    pub fn example(&self) -> &'static str {
        match &self.0 {
            DialectKind::BuiltIn(at) => {
                families::tools(*at).map_or("", |description| description.example)
            }
            DialectKind::Own(own) => own.example,
        }
    }

    /// Returns `true` if the dialect leaves text unchanged.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.compiled().is_empty()
    }

    /// Returns the form in which results are sent back: that of the family with this name, or else Forge's.
    #[doc(hidden)]
    pub fn result_form(&self) -> families::ResultForm {
        families::by_tools(self.name()).map_or(families::ResultForm::FORGE, |family| family.results)
    }

    pub(crate) fn compiled(&self) -> &CompiledTools {
        static NONE: OnceLock<CompiledTools> = OnceLock::new();
        match &self.0 {
            DialectKind::BuiltIn(at) => TOOLS.get(*at).unwrap_or(&NONE).get_or_init(|| match at {
                1 => CompiledTools::new(
                    &families::auto_tools(),
                    &families::auto_turn_ends(),
                    SpecialTokens::BehindCalls,
                ),
                _ => CompiledTools::new(
                    families::tools(*at).as_slice(),
                    families::turn_ends(*at),
                    SpecialTokens::Always(families::strays(*at)),
                ),
            }),
            DialectKind::Own(own) => own,
        }
    }
}
