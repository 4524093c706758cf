//! The reasoning of answers that servers and models require in later requests.

use super::host::{ServerHost, ends_with, name_of};
use crate::openai::wire::{REASONING, REASONING_CONTENT};

/// The rules for sending the reasoning of an answer back.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReasoningRules {
    /// `true` if a message may have members for reasoning.
    pub(super) is_taken: bool,
    /// `true` if an answer with calls must have the text of its reasoning in `reasoning_content`, which is empty if there was none,
    /// besides other members.
    pub(super) must_have_content: bool,
    /// `true` if the entries of `reasoning_details` must not have the `index` of the stream.
    pub(super) drops_index: bool,
    /// The only member for the text that the server takes; `None` if the text goes back in the member in which it came.
    pub(super) only_in: Option<&'static str>,
    /// The members for reasoning that the model wrote into its text: beside calls of an answer without text, none elsewhere.
    pub(super) written_in: &'static [&'static str],
}

/// Nothing special: reasoning goes back in the members in which it came.
const AS_IT_CAME: ReasoningRules = ReasoningRules {
    is_taken: true,
    must_have_content: false,
    drops_index: false,
    only_in: None,
    written_in: &[],
};
/// The text always.
const WITH_CONTENT: ReasoningRules = ReasoningRules { must_have_content: true, ..AS_IT_CAME };
/// The text always, and details without their places in the stream.
const WITHOUT_INDEX: ReasoningRules = ReasoningRules { drops_index: true, ..WITH_CONTENT };
/// The text in one member; a request with another one is rejected.
const IN_REASONING: ReasoningRules = ReasoningRules { only_in: Some(REASONING), ..AS_IT_CAME };
/// Reasoning from the text too: its template rejects channels in the content, and content beside reasoning and calls. It reads `thinking`,
/// to which llama.cpp's server copies `reasoning_content`.
const AS_A_MEMBER: ReasoningRules =
    ReasoningRules { written_in: &[REASONING_CONTENT, "thinking"], ..AS_IT_CAME };
/// No reasoning at all.
const NONE: ReasoningRules = ReasoningRules { is_taken: false, ..AS_IT_CAME };

/// The end of the host's name, words of the model's id, and the rules; the first row that fits counts. A host or words that are
/// empty fit any.
///
/// Each row comes from what users of other programs reported of the vendor: `OpenCode`'s hosts reject an empty `reasoning_content`
/// (oh-my-pi 1071); Kimi K3 rejects details with an index (opencode 50232); Kimi (obsidian-yolo 243, openclaw 82550) and DeepSeek
/// V4 (hermes-agent 15325, oh-my-pi 904) reject an answer with calls whose `reasoning_content` is missing; Groq rejects that member
/// (jan 8136), and `reasoning` for most models (gptel 774, ai 8057); Cerebras takes `reasoning` alone (hermes-agent 34716, goose 10362);
/// the template of gpt-oss wants its analysis as a member (llama.cpp 15091, llm-mlx 24).
const ROWS: [(&str, &[&str], ReasoningRules); 11] = [
    ("api.groq.com", &["gpt", "oss"], IN_REASONING),
    ("api.groq.com", &[], NONE),
    ("api.cerebras.ai", &[], IN_REASONING),
    ("opencode.ai", &["k3"], ReasoningRules { drops_index: true, ..AS_IT_CAME }),
    ("opencode.ai", &[], AS_IT_CAME),
    ("", &["k3"], WITHOUT_INDEX),
    ("", &["kimi"], WITH_CONTENT),
    ("", &["deepseek", "v4"], WITH_CONTENT),
    ("api.moonshot.ai", &[], WITH_CONTENT),
    ("api.moonshot.cn", &[], WITH_CONTENT),
    ("", &["gpt", "oss"], AS_A_MEMBER),
];

impl ReasoningRules {
    /// Returns the rules for a model at a base URL.
    pub(super) fn of(base_url: &str, model: &str) -> Self {
        if !ServerHost::from_url(base_url).takes_reasoning() {
            return NONE;
        }
        let host = name_of(base_url);
        let has = |word: &str| {
            let mut words = model.split(|sign: char| !sign.is_ascii_alphanumeric());
            words.any(|it| it.eq_ignore_ascii_case(word))
        };
        let fits = |(end, words, _): &&(&str, &[&str], Self)| {
            let is_host = end.is_empty() || is_within(host, end);
            is_host && words.iter().all(|word| has(word))
        };
        ROWS.iter().find(fits).map_or(AS_IT_CAME, |(.., rules)| *rules)
    }
}

/// Returns `true` if a host has the name of a domain, or one below it.
fn is_within(host: &str, domain: &str) -> bool {
    let above = host.len().checked_sub(domain.len()).and_then(|start| host.get(..start));
    ends_with(host, domain) && above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: N-20
    #[test]
    fn rules_are_of_a_host_and_a_model() {
        for (url, model, want) in [
            ("https://api.openai.com/v1", "kimi-k3", NONE),
            ("https://api.mistral.ai/v1", "devstral", NONE),
            ("https://api.deepseek.com", "deepseek-chat", AS_IT_CAME),
            ("https://api.deepseek.com", "deepseek-v4-pro", WITH_CONTENT),
            ("https://openrouter.ai/api/v1", "deepseek/deepseek-v4", WITH_CONTENT),
            ("https://openrouter.ai/api/v1", "deepseek/deepseek-v40", AS_IT_CAME),
            ("https://openrouter.ai/api/v1", "moonshotai/kimi-k2.6:free", WITH_CONTENT),
            ("https://openrouter.ai/api/v1", "openai/gpt-5", AS_IT_CAME),
            ("https://openrouter.ai/api/v1", "moonshotai/Kimi-K3", WITHOUT_INDEX),
            ("http://127.0.0.1:8000/v1", "k3", WITHOUT_INDEX),
            ("https://api.moonshot.ai/v1", "", WITH_CONTENT),
            ("https://API.moonshot.cn/v1", "new-model", WITH_CONTENT),
            ("https://notmoonshot.example/v1", "m", AS_IT_CAME),
            ("https://opencode.ai/zen/v1", "kimi-k2.6", AS_IT_CAME),
            ("https://eu.opencode.ai/zen/v1", "deepseek-v4", AS_IT_CAME),
            (
                "https://opencode.ai/zen/v1",
                "k3",
                ReasoningRules { drops_index: true, ..AS_IT_CAME },
            ),
            ("https://api.groq.com/openai/v1", "openai/gpt-oss-120b", IN_REASONING),
            ("https://api.groq.com/openai/v1", "moonshotai/kimi-k2-instruct", NONE),
            ("https://api.cerebras.ai/v1", "gpt-oss-120b", IN_REASONING),
            ("https://api.cerebras.ai/v1", "kimi-k2", IN_REASONING),
            ("http://127.0.0.1:8080/v1", "gpt-oss:20b", AS_A_MEMBER),
            ("https://proxy.example/v1", "openai/GPT-OSS-120b", AS_A_MEMBER),
            ("https://api.openai.com/v1", "gpt-oss-120b", NONE),
            ("https://opencode.ai/zen/v1", "gpt-oss-120b", AS_IT_CAME),
            ("https://api.perplexity.ai", "sonar", AS_IT_CAME),
            ("http://127.0.0.1:8080/v1", "qwen3", AS_IT_CAME),
        ] {
            assert_eq!(ReasoningRules::of(url, model), want, "{model} at {url}");
        }
    }
}
