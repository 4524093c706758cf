//! Chat Completions servers whose requests differ.

use crate::llm::http::url;

/// A server whose requests differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    /// OpenAI, and Azure serving it.
    OpenAi,
    /// OpenRouter.
    OpenRouter,
    /// DeepSeek.
    DeepSeek,
    /// Mistral.
    Mistral,
    /// Perplexity.
    Perplexity,
    /// Any other server.
    Other,
}

/// Ends of host names.
const HOSTS: [(&str, Host); 8] = [
    ("api.openai.com", Host::OpenAi),
    (".openai.azure.com", Host::OpenAi),
    (".services.ai.azure.com", Host::OpenAi),
    (".cognitiveservices.azure.com", Host::OpenAi),
    ("openrouter.ai", Host::OpenRouter),
    ("api.deepseek.com", Host::DeepSeek),
    ("api.mistral.ai", Host::Mistral),
    ("api.perplexity.ai", Host::Perplexity),
];

impl Host {
    /// Returns the host of a base URL.
    pub(super) fn of(base_url: &str) -> Self {
        let name = url::host(base_url).split(':').next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        HOSTS.iter().find(|(end, _)| name.ends_with(end)).map_or(Self::Other, |(_, host)| *host)
    }

    /// Returns `true` if a message may have members for reasoning; other servers reject unknown
    /// members.
    pub(super) fn takes_reasoning(self) -> bool {
        !matches!(self, Self::OpenAi | Self::Mistral)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_by_its_name_alone() {
        for (url, want) in [
            ("https://api.openai.com/v1", Host::OpenAi),
            ("https://eu.API.openai.com:443", Host::OpenAi),
            ("https://me.openai.azure.com/openai/v1", Host::OpenAi),
            ("https://me.services.ai.azure.com/models", Host::OpenAi),
            ("https://me.cognitiveservices.azure.com", Host::OpenAi),
            ("https://user:pass@api.mistral.ai/v1", Host::Mistral),
            ("https://openrouter.ai/api/v1", Host::OpenRouter),
            ("http://127.0.0.1:8080/api.openai.com", Host::Other),
            ("http://proxy/?to=api.deepseek.com", Host::Other),
            ("api.deepseek.com", Host::DeepSeek),
        ] {
            assert_eq!(Host::of(url), want, "{url}");
        }
    }
}
