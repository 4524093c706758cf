//! A model and its capabilities.

use serde::{Deserialize, Serialize};

use super::{MediaRules, Text, setters};

/// The provider and model that answer, with their capabilities.
///
/// # Examples
///
/// ```
/// use forgeline::types::{Capabilities, ModelInfo};
///
/// let info = ModelInfo::new("openai", "gpt-5").capabilities(Capabilities::ALL);
/// assert!(info.capabilities.tools);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[non_exhaustive]
pub struct ModelInfo {
    /// The provider's name, such as `openai`.
    pub provider: Text,
    /// The model's id, as the provider spells it; if empty, the server chooses.
    pub model: Text,
    /// The model's capabilities; an unknown one is `false`.
    pub capabilities: Capabilities,
    /// The maximum number of tokens of prompt and answer together, if known. A server may be configured with fewer.
    pub context_tokens: Option<u64>,
    /// `true` if the server may leave a native call in the text as the model wrote it, as servers do
    /// that lack the parser of the model's family. Default: `false`; providers over HTTP set it for
    /// every host other than the vendor's own.
    #[serde(default)]
    pub text_calls: bool,
    /// `true` if tools that a conversation finds later (`ToolSpec::deferred`) are described where they were found, which
    /// leaves everything sent before unchanged. Default: `false`; providers over HTTP set it for models and servers
    /// known to support it.
    #[serde(default)]
    pub deferred_tools: bool,
    /// `true` if the server is configured to shorten long conversations itself: an agent then leaves nothing out unless it
    /// has a limit of its own. Default: `false`.
    #[serde(default)]
    pub compacts: bool,
    /// The images and documents that the provider accepts.
    #[serde(default)]
    pub media: MediaRules,
}

impl ModelInfo {
    /// Creates a model about which nothing else is known.
    #[must_use]
    pub fn new(provider: impl Into<Text>, model: impl Into<Text>) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            capabilities: Capabilities::default(),
            context_tokens: None,
            text_calls: false,
            deferred_tools: false,
            compacts: false,
            media: MediaRules::default(),
        }
    }

    setters! {
        ModelInfo:
        capabilities(Capabilities),
        context_tokens(Option<u64>),
        text_calls(bool),
        deferred_tools(bool),
        compacts(bool),
        media(MediaRules),
    }
}

/// The capabilities of a model; an unknown one is `false`.
///
/// # Examples
///
/// ```
/// use forgeline::types::Capabilities;
///
/// let text_only = Capabilities::ALL.vision(false).documents(false);
/// assert!(text_only.tools && !text_only.vision);
/// assert!(!Capabilities::default().tools);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, none implies another")]
#[non_exhaustive]
pub struct Capabilities {
    /// Answers that arrive as they are written.
    pub streaming: bool,
    /// Native function calling.
    pub tools: bool,
    /// Several native calls in one response.
    pub parallel_tools: bool,
    /// Images as input.
    pub vision: bool,
    /// Documents as input.
    pub documents: bool,
    /// Prompt caching that the request can control.
    pub prompt_caching: bool,
    /// Answers constrained to a JSON schema.
    pub structured_output: bool,
    /// Reasoning separate from the answer.
    pub thinking: bool,
}

impl Capabilities {
    /// All capabilities.
    pub const ALL: Self = Self {
        streaming: true,
        tools: true,
        parallel_tools: true,
        vision: true,
        documents: true,
        prompt_caching: true,
        structured_output: true,
        thinking: true,
    };

    setters! {
        Capabilities:
        streaming(bool),
        tools(bool),
        parallel_tools(bool),
        vision(bool),
        documents(bool),
        prompt_caching(bool),
        structured_output(bool),
        thinking(bool),
    }
}
