//! Vendors' finish reasons.

use forgeline_types::{FinishReason, Text};

/// Returns the reason that a vendor's value means; no two vendors use one value for different reasons.
pub(crate) fn finish_reason(word: &str) -> FinishReason {
    match &*word.to_ascii_lowercase() {
        "stop" | "end_turn" | "stop_sequence" | "eos" | "complete" => FinishReason::Stop,
        "tool_calls" | "function_call" | "tool_use" | "tool_call" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter"
        | "error_toxic"
        | "safety"
        | "recitation"
        | "prohibited_content"
        | "blocklist"
        | "spii"
        | "image_safety"
        | "image_prohibited_content"
        | "image_recitation"
        | "model_armor"
        | "content_filtered"
        | "guardrail_intervened"
        | "sensitive" => FinishReason::ContentFilter,
        "refusal" => FinishReason::Refusal,
        "malformed_function_call"
        | "malformed_response"
        | "malformed_model_output"
        | "malformed_tool_use"
        | "malformed_tool_call"
        | "unexpected_tool_call"
        | "too_many_tool_calls"
        | "missing_thought_signature" => FinishReason::Malformed,
        "pause_turn" => FinishReason::Pause,
        "model_context_window_exceeded" | "error_limit" => FinishReason::ContextExceeded,
        _ => FinishReason::Other(Text::from(word)),
    }
}
