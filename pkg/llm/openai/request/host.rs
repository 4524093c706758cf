//! Chat Completions servers whose requests differ.

use crate::http::url;

/// A server whose requests differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerHost {
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
const HOSTS: [(&str, ServerHost); 8] = [
    ("api.openai.com", ServerHost::OpenAi),
    (".openai.azure.com", ServerHost::OpenAi),
    (".services.ai.azure.com", ServerHost::OpenAi),
    (".cognitiveservices.azure.com", ServerHost::OpenAi),
    ("openrouter.ai", ServerHost::OpenRouter),
    ("api.deepseek.com", ServerHost::DeepSeek),
    ("api.mistral.ai", ServerHost::Mistral),
    ("api.perplexity.ai", ServerHost::Perplexity),
];

impl ServerHost {
    /// Returns the host of a base URL.
    pub(super) fn from_url(base_url: &str) -> Self {
        let name = name_of(base_url);
        HOSTS.iter().find(|(end, _)| ends_with(name, end)).map_or(Self::Other, |(_, host)| *host)
    }

    /// Returns `true` if a message may have members for reasoning; other servers reject unknown
    /// members.
    pub(super) fn takes_reasoning(self) -> bool {
        !matches!(self, Self::OpenAi | Self::Mistral)
    }
}

/// Returns the name of the host of a base URL, without its port.
pub(super) fn name_of(base_url: &str) -> &str {
    url::host(base_url).split(':').next().unwrap_or_default()
}

/// Returns `true` if a name ends with `end`, in letters of either case.
pub(super) fn ends_with(name: &str, end: &str) -> bool {
    let start = name.len().checked_sub(end.len());
    start.and_then(|start| name.get(start..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_by_its_name_alone() {
        for (url, want) in [
            ("https://api.openai.com/v1", ServerHost::OpenAi),
            ("https://eu.API.openai.com:443", ServerHost::OpenAi),
            ("https://me.openai.azure.com/openai/v1", ServerHost::OpenAi),
            ("https://me.services.ai.azure.com/models", ServerHost::OpenAi),
            ("https://me.cognitiveservices.azure.com", ServerHost::OpenAi),
            ("https://user:pass@api.mistral.ai/v1", ServerHost::Mistral),
            ("https://openrouter.ai/api/v1", ServerHost::OpenRouter),
            ("http://127.0.0.1:8080/api.openai.com", ServerHost::Other),
            ("http://proxy/?to=api.deepseek.com", ServerHost::Other),
            ("api.deepseek.com", ServerHost::DeepSeek),
        ] {
            assert_eq!(ServerHost::from_url(url), want, "{url}");
        }
    }
}
