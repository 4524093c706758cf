//! The request member that enables thinking, which depends on the model's version.

use serde_json::{Value, json};

use super::message::continues_unreasoned;
use crate::{ProviderError, Request, Thinking};

/// Minimum budget for reasoning, in tokens.
const MIN_BUDGET: u32 = 1024;

/// The budget if the caller wants reasoning and the model requires a budget, in tokens.
const DEFAULT_BUDGET: u32 = 4096;

/// The reasoning that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningRequest {
    Disabled,
    /// The model decides how much.
    Adaptive,
    /// At most this many tokens.
    Budget(u32),
}

impl ReasoningRequest {
    /// Returns the reasoning to ask `model` for; `max_tokens` is the caller's limit on the answer, reasoning
    /// included.
    pub(super) fn new(thinking: Thinking, model: &str, max_tokens: Option<u32>) -> Self {
        match thinking {
            Thinking::Off => Self::Disabled,
            Thinking::On if is_adaptive(model) => Self::Adaptive,
            // Half of the limit remains for the answer.
            Thinking::On => Self::Budget(
                max_tokens
                    .map_or(DEFAULT_BUDGET, |most| (most / 2).clamp(MIN_BUDGET, DEFAULT_BUDGET)),
            ),
            Thinking::Budget(tokens) => Self::Budget(tokens),
        }
    }

    /// Returns the reasoning to ask `model` for in this request, if it says anything about it.
    pub(super) fn of(request: &Request, model: &str) -> Option<Self> {
        let reasoning = Self::new(request.thinking?, model, request.max_tokens);
        // Models that decide themselves do not have this rule, nor do other vendors' models behind this protocol.
        let is_bound =
            matches!(reasoning, Self::Budget(_)) && model.to_ascii_lowercase().contains("claude");
        let is_off = is_bound && continues_unreasoned(&request.messages);
        Some(if is_off { Self::Disabled } else { reasoning })
    }

    /// Returns the number of tokens to reserve for reasoning.
    pub(super) fn budget(self) -> u32 {
        match self {
            Self::Budget(tokens) => tokens,
            Self::Disabled | Self::Adaptive => 0,
        }
    }

    /// Returns the member for a request that is limited to `max_tokens`.
    pub(super) fn value(self, max_tokens: u32) -> Result<Value, ProviderError> {
        Ok(match self {
            Self::Disabled => json!({ "type": "disabled" }),
            Self::Adaptive => json!({ "type": "adaptive" }),
            Self::Budget(tokens) if (MIN_BUDGET..max_tokens).contains(&tokens) => {
                json!({ "type": "enabled", "budget_tokens": tokens })
            }
            Self::Budget(tokens) => {
                let message = format!(
                    "a thinking budget of {tokens} tokens is not possible; it must be at least \
                     {MIN_BUDGET} and less than max_tokens, which is {max_tokens}"
                );
                return Err(ProviderError::config(message));
            }
        })
    }
}

/// Returns `true` if the model decides itself how much to think: Claude 4.6 and later. Older ones reject
/// that; names without a version are assumed to be newer.
fn is_adaptive(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let Some((_, name)) = model.rsplit_once("claude-") else { return true };
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    // Longer numbers are dates.
    let number = |word: &str| if word.len() <= 2 { word.parse::<u8>().ok() } else { None };
    let Some(major) = words.by_ref().find_map(number) else { return true };
    let minor = words.next().and_then(number).unwrap_or(0);
    (major, minor) >= (4, 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_how_a_model_is_asked_to_think() {
        #[rustfmt::skip]
        let cases = [
            ("claude-sonnet-5", true), ("claude-opus-5-20270101", true), ("claude-opus-4-6", true), ("claude-sonnet-4-6", true),
            ("anthropic/claude-opus-4.7", true), ("us.anthropic.claude-sonnet-4-6-v1:0", true), ("claude-opus-4-10", true),
            ("claude-haiku-4-5", false), ("claude-haiku-4-5-20251001", false), ("anthropic/claude-sonnet-4.5", false),
            ("anthropic.claude-opus-4-1-20250805-v1:0", false), ("claude-sonnet-4@20250514", false), ("claude-opus-4-20250514", false),
            ("claude-3-7-sonnet-latest", false), ("Claude-Opus-4-0", false), ("anthropic.claude-sonnet-4-20250514-v1:0", false),
            ("", true), ("glm-4.5", true), ("claude-newest", true), ("kimi-k2", true),
        ];
        for (model, want) in cases {
            assert_eq!(is_adaptive(model), want, "{model}");
        }
    }

    // Rows: N-23
    #[test]
    fn a_turn_that_began_without_reasoning_goes_on_without() {
        use forgeline_types::{
            ItemKind, Json, Message, MessageRole, Part, ProviderItem, Signature, ToolCall,
            ToolResult,
        };
        let thought = |protocol: &str| Part::thinking("I add.", Signature::new(protocol, "proof"));
        let unsigned = || Part::thinking("I add.", None);
        let raw = Json::parse(r#"{"type":"redacted_thinking","data":"x"}"#).unwrap();
        let redacted = || ProviderItem::new("anthropic", ItemKind::Reasoning, raw.clone());
        let text = |text: &str| Part::text(text.to_owned());
        let call = || Part::ToolCall(ToolCall::new("c", "add", json!({})));
        let said = |parts: Vec<Part>| Message::new(MessageRole::Assistant, parts);
        let result = || {
            let result = Part::ToolResult(ToolResult::new("c", "add", "3"));
            Message::new(MessageRole::Tool, vec![result])
        };
        let user = || Message::user("Add.");
        #[rustfmt::skip]
        let rows = [
            ("a question",            vec![user()],                                                         true),
            ("signed",                vec![user(), said(vec![thought("anthropic"), call()]), result()],     true),
            ("redacted",              vec![user(), said(vec![Part::ProviderItem(redacted()), call()]), result()], true),
            ("behind blank text",     vec![user(), said(vec![text(" "), thought("anthropic"), call()]), result()], true),
            ("signature left out",    vec![user(), said(vec![unsigned(), call()]), result()],               false),
            ("another provider's",    vec![user(), said(vec![thought("gemini"), call()]), result()],        false),
            ("without any",           vec![user(), said(vec![text("I add."), call()]), result()],           false),
            ("text before it",        vec![user(), said(vec![text("I add."), thought("anthropic"), call()]), result()], false),
            ("only at the beginning", vec![user(), said(vec![thought("anthropic"), call()]), result(), said(vec![call()]), result()], true),
            ("not at the beginning",  vec![user(), said(vec![call()]), result(), said(vec![thought("anthropic"), call()]), result()], false),
            ("the user goes on",      vec![user(), said(vec![unsigned(), call()]), result(), user()],       false),
            ("an earlier turn",       vec![user(), said(vec![unsigned(), call()]), result(), said(vec![text("3.")]), user()], true),
        ];
        for (name, messages, want) in rows {
            let mut request = Request::new(messages.into());
            request.thinking = Some(Thinking::On);
            let older = ReasoningRequest::of(&request, "claude-haiku-4-5");
            let kept =
                if want { ReasoningRequest::Budget(4096) } else { ReasoningRequest::Disabled };
            assert_eq!(older, Some(kept), "{name}");
            // The model decides itself, or is of another vendor.
            let newer = ReasoningRequest::of(&request, "claude-opus-5");
            assert_eq!(newer, Some(ReasoningRequest::Adaptive), "{name}");
            request.thinking = Some(Thinking::Budget(2000));
            let other = ReasoningRequest::of(&request, "glm-4.6");
            assert_eq!(other, Some(ReasoningRequest::Budget(2000)), "{name}");
            request.thinking = None;
            assert_eq!(ReasoningRequest::of(&request, "claude-haiku-4-5"), None, "{name}");
        }
    }

    #[test]
    fn an_older_model_gets_a_budget_that_leaves_room() {
        let of = |most| ReasoningRequest::new(Thinking::On, "claude-haiku-4-5", most);
        for (most, want) in
            [(None, 4096), (Some(20_000), 4096), (Some(6000), 3000), (Some(1500), 1024)]
        {
            assert_eq!(of(most), ReasoningRequest::Budget(want), "{most:?}");
        }
        assert!(of(Some(1024)).value(1024).is_err());
    }
}
