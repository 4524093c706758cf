//! The usage of an answer.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    llm::decode::lax_json::{Count, Object, value},
    types::UsageInfo,
};

/// The usage object, in the words of several vendors.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Count,
    input_tokens: Count,
    completion_tokens: Count,
    output_tokens: Count,
    prompt_cache_hit_tokens: Count,
    /// Moonshot's.
    cached_tokens: Count,
    /// Mistral's.
    num_cached_tokens: Count,
    prompt_tokens_details: Object<PromptDetails>,
    completion_tokens_details: Object<CompletionDetails>,
    reasoning_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

/// Returns the counts in a vendor's usage object.
pub(super) fn usage(raw: &RawValue) -> UsageInfo {
    let usage: Usage = value(raw);
    let prompt = usage.prompt_tokens_details.0.unwrap_or_default();
    let completion = usage.completion_tokens_details.0.unwrap_or_default();
    UsageInfo {
        input_tokens: usage.prompt_tokens.0.or(usage.input_tokens.0),
        output_tokens: usage.completion_tokens.0.or(usage.output_tokens.0),
        cache_read_tokens: prompt
            .cached_tokens
            .0
            .or(usage.prompt_cache_hit_tokens.0)
            .or(usage.cached_tokens.0)
            .or(usage.num_cached_tokens.0),
        cache_write_tokens: prompt.cache_write_tokens.0,
        reasoning_tokens: completion.reasoning_tokens.0.or(usage.reasoning_tokens.0),
    }
}

/// Returns the usage object inside `x_groq`.
pub(super) fn groq_usage(x_groq: &RawValue) -> Option<&RawValue> {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Groq<'a> {
        usage: Option<&'a RawValue>,
    }
    value::<Groq<'_>>(x_groq).usage
}
