//! The spans of a run, named by OpenTelemetry's conventions for generative AI. They contain no text of the conversation.

use tracing::{Span, field::Empty};

use crate::{
    observe::{error_type, provider_name},
    run::RunOutcome,
    setup::AgentSetup,
};
use forgeline_types::{AgentError, Completion, FinishReason, ModelInfo, Text, UsageInfo};

/// Returns the span of a run.
pub(super) fn invoke_agent(info: &ModelInfo, run_id: &str, conversation: Option<&str>) -> Span {
    tracing::info_span!(
        "invoke_agent",
        otel.kind = "internal",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.provider.name = provider_name(&info.provider),
        gen_ai.request.model = %info.model,
        gen_ai.conversation.id = conversation,
        forgeline.run.id = run_id,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_write.input_tokens = Empty,
        gen_ai.usage.reasoning.output_tokens = Empty,
        gen_ai.response.finish_reasons = Empty,
        error.type = Empty,
    )
}

/// Returns the span of a request and its answer.
pub(super) fn chat(parts: &AgentSetup, turn: u32, conversation: Option<&str>) -> Span {
    let (info, request) = (parts.provider.info(), &parts.request);
    tracing::info_span!(
        "chat",
        otel.name = format_args!("chat {}", info.model),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider_name(&info.provider),
        gen_ai.request.model = %info.model,
        gen_ai.request.stream = true,
        gen_ai.request.max_tokens = request.max_tokens.map(i64::from),
        gen_ai.request.temperature = request.temperature,
        gen_ai.request.top_p = request.top_p,
        gen_ai.request.seed = request.seed.map(signed),
        gen_ai.conversation.id = conversation,
        forgeline.turn = i64::from(turn),
        gen_ai.response.id = Empty,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.response.time_to_first_chunk = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_write.input_tokens = Empty,
        gen_ai.usage.reasoning.output_tokens = Empty,
        error.type = Empty,
    )
}

/// Returns the span of a call.
pub(super) fn execute_tool(name: &Text, call_id: &Text) -> Span {
    tracing::info_span!(
        "execute_tool",
        otel.name = format_args!("execute_tool {name}"),
        otel.kind = "internal",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %name,
        gen_ai.tool.type = "function",
        gen_ai.tool.call.id = %call_id,
        error.type = Empty,
    )
}

/// Records the result of an answer on the span of its request.
pub(super) fn answered(span: &Span, completion: &Completion, first_token_ms: Option<u64>) {
    if span.is_disabled() {
        return;
    }
    span.record("gen_ai.response.id", completion.response_id.as_deref());
    span.record("gen_ai.response.model", completion.model.as_deref());
    let reason = completion.finish_reason.as_ref().map(FinishReason::as_str);
    span.record("gen_ai.response.finish_reasons", reason);
    #[expect(clippy::cast_precision_loss, reason = "a time in seconds")]
    let seconds = first_token_ms.map(|millis| millis as f64 / 1e3);
    span.record("gen_ai.response.time_to_first_chunk", seconds);
    used(span, completion.usage.as_ref());
    if let Some(error) = &completion.error {
        failed(span, error);
    }
}

/// Records the result of a run on its span.
pub(super) fn ended(span: &Span, outcome: &RunOutcome) {
    if span.is_disabled() {
        return;
    }
    used(span, outcome.usage.as_ref());
    let reason = outcome.finish_reason.as_ref().map(FinishReason::as_str);
    span.record("gen_ai.response.finish_reasons", reason);
    if let Some(error) = outcome.reason.error() {
        failed(span, &error);
    }
}

/// Records on a span that its work failed.
pub(super) fn failed(span: &Span, error: &AgentError) {
    span.record("error.type", error_type(error.code).as_str());
}

fn used(span: &Span, usage: Option<&UsageInfo>) {
    let Some(usage) = usage else { return };
    span.record("gen_ai.usage.input_tokens", usage.input_tokens.map(signed));
    span.record("gen_ai.usage.output_tokens", usage.output_tokens.map(signed));
    span.record("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens.map(signed));
    span.record("gen_ai.usage.cache_write.input_tokens", usage.cache_write_tokens.map(signed));
    span.record("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens.map(signed));
}

/// Returns a count as OpenTelemetry has it: exporters write unsigned numbers as text.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
