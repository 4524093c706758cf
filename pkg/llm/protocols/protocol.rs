//! Wire protocols and their names.

use std::{fmt, str::FromStr};

/// Declares the protocols once: their variants, their list and their names.
macro_rules! protocols {
    ($($(#[$doc:meta])+ $protocol:ident = $name:literal,)+) => {
        /// A wire protocol of a provider. Its text form is its name.
        ///
        /// # Examples
        ///
        /// ```
        /// use forgeline::llm::Protocol;
        ///
        /// let protocol: Protocol = "openai-chat".parse()?;
        /// assert_eq!(protocol, Protocol::OpenAiChat);
        /// assert_eq!(protocol.to_string(), "openai-chat");
        /// # Ok::<(), forgeline::llm::UnknownProtocol>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Protocol {
            $($(#[$doc])+ $protocol,)+
        }

        impl Protocol {
            /// Every protocol that can be decoded.
            pub const ALL: &'static [Self] = &[$(Self::$protocol),+];

            /// Returns the name, as used on command lines: `openai-chat`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$protocol => $name,)+
                }
            }
        }
    };
}

protocols! {
    /// OpenAI Chat Completions and its dialects.
    OpenAiChat = "openai-chat",
    /// OpenAI Responses.
    OpenAiResponses = "openai-responses",
    /// Anthropic Messages.
    Anthropic = "anthropic",
    /// Gemini.
    Gemini = "gemini",
    /// Ollama's chat.
    Ollama = "ollama",
    /// Ollama's generate.
    OllamaGenerate = "ollama-generate",
    /// Cohere, version 2 of its API.
    Cohere = "cohere",
}

impl Protocol {
    /// Returns the protocol with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|protocol| protocol.name() == name)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::by_name(name).ok_or_else(|| UnknownProtocol { name: name.to_owned() })
    }
}

/// The error for a name that is not a protocol's.
///
/// # Examples
///
/// ```
/// use forgeline::llm::Protocol;
///
/// let error = "grpc".parse::<Protocol>().unwrap_err();
/// assert_eq!(error.name, "grpc");
/// assert!(error.to_string().starts_with("unknown protocol `grpc`; expected one of: openai-chat,"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown protocol `{name}`; expected one of: {}", Protocol::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(", "))]
#[non_exhaustive]
pub struct UnknownProtocol {
    /// The name.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_is_read_back_from_its_name() {
        for protocol in Protocol::ALL {
            assert_eq!(protocol.to_string().parse(), Ok(*protocol));
        }
        for name in ["", "OpenAI-Chat", "openai"] {
            assert_eq!(name.parse::<Protocol>().unwrap_err().name, name);
        }
    }
}
