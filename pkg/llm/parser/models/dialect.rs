//! The dialects of a model.

use std::{
    fmt::{self, Display},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use super::find::find;
use crate::dialects::{
    dialect::{ThinkingDialect, ToolDialect},
    names::UnknownDialect,
};

/// The notation in which a model writes calls and reasoning.
///
/// Its text form is `TOOLS/THINKING`, followed by `/inside` if answers start inside reasoning.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::Dialect;
///
/// let r1 = Dialect::for_model("deepseek-ai/DeepSeek-R1");
/// assert_eq!(r1.to_string(), "deepseek-v3/think/inside");
/// assert_eq!("deepseek-v3/think/inside".parse(), Ok(r1));
/// assert_eq!("hermes/none".parse(), Ok(Dialect::for_model("qwen2.5:7b")));
/// assert!("hermes/klingon".parse::<Dialect>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Dialect {
    /// The dialect of the model's tool calls. Default: `auto`.
    pub tools: ToolDialect,
    /// The dialect of the model's reasoning. Default: `auto`.
    pub thinking: ThinkingDialect,
    /// `true` if the model's prompt template opens the reasoning, so that the answer starts inside
    /// it.
    /// Default: no.
    ///
    /// If a switch of the template controls this, this is the switch's default: a caller that knows the end of
    /// the prompt, or has set the switch, should override it.
    pub starts_inside: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        let (tools, thinking) = (ToolDialect::AUTO, ThinkingDialect::AUTO);
        Self { tools, thinking, starts_inside: false }
    }
}

impl Dialect {
    /// Returns the dialects of the model with this id; `auto` for an unknown model.
    ///
    /// Ids are recognized as people write them: with a publisher or a folder before the name, as file names, with
    /// sizes, quantizations and dates after it, in any case, as Hugging Face, Ollama, clouds and
    /// routers spell them. A name that is unknown apart from its publisher's folder is assigned to the
    /// publisher's family.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::parser::Dialect;
    ///
    /// let known = Dialect::for_model("Qwen/Qwen3-32B");
    /// assert_eq!(known, Dialect::for_model("qwen3:32b-q8_0"));
    /// assert_eq!(known.thinking.name(), "think");
    /// assert!(Dialect::for_model("DeepSeek-R1-0528-Q4_K_M.gguf").starts_inside);
    /// assert_eq!(Dialect::for_model("my own model"), Dialect::default());
    /// ```
    #[must_use]
    pub fn for_model(id: &str) -> Self {
        let Some(row) = find(id) else { return Self::default() };
        Self {
            tools: ToolDialect::by_name(row.tools).unwrap_or(ToolDialect::AUTO),
            thinking: ThinkingDialect::by_name(row.models.thinking)
                .unwrap_or(ThinkingDialect::AUTO),
            starts_inside: row.models.starts_inside,
        }
    }
}

impl Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tools, thinking, starts_inside } = self;
        let start = if *starts_inside { INSIDE } else { "" };
        write!(f, "{tools}/{thinking}{start}")
    }
}

/// The end of the text form of a dialect whose answers start inside reasoning.
const INSIDE: &str = "/inside";

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let outside = text.strip_suffix(INSIDE);
        let (tools, thinking) = outside.unwrap_or(text).split_once('/').unwrap_or((text, "auto"));
        let starts_inside = outside.is_some();
        Ok(Self { tools: tools.parse()?, thinking: thinking.parse()?, starts_inside })
    }
}
