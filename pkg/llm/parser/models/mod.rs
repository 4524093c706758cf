//! Which dialects a model writes, by its name.

mod pattern;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use pattern::locate;

use super::{ThinkingDialect, ToolDialect};

/// How a model writes calls and reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// How it writes tool calls. Default: `auto`.
    pub tools: ToolDialect,
    /// How it marks reasoning. Default: `auto`.
    pub thinking: ThinkingDialect,
    /// Whether the model's prompt template opens the reasoning, so that the answer starts inside it.
    /// Default: no.
    ///
    /// Where a switch of the template decides, this is the switch's default: who knows the end of
    /// the prompt, or set the switch, knows better.
    pub starts_inside: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        let (tools, thinking) = (ToolDialect::AUTO, ThinkingDialect::AUTO);
        Self { tools, thinking, starts_inside: false }
    }
}

impl Dialect {
    /// The dialects of the model with this id; `auto` for a model that is not known.
    ///
    /// Ids are read as people write them: with a publisher or a folder in front, as file names, with
    /// sizes, quantisations and dates behind, in any case, as Hugging Face, Ollama, clouds and
    /// routers spell them. A name that only its publisher's folder tells is taken for the
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
        let Some(row) = table::find(id) else { return Self::default() };
        Self {
            tools: ToolDialect::by_name(row.tools).unwrap_or(ToolDialect::AUTO),
            thinking: ThinkingDialect::by_name(row.thinking).unwrap_or(ThinkingDialect::AUTO),
            starts_inside: row.starts_inside,
        }
    }
}
