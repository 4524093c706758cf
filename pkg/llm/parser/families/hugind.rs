//! The models named Hugind.

use super::prelude::*;

/// Describes a call of Hugind: JSON, tags or call syntax, ended by any of its markers.
const fn hugind(opener: &'static str) -> CallForm<'static> {
    CallForm::from_markers(
        Marker::spelled(opener),
        Markers::Spelled(&["</tool_call>", "<tool_call|>", "<|/tool_call|>"]),
        JSON_OR_QWEN.or_text(GEMMA),
    )
}

/// Hugind: three families of markers, each with JSON or call syntax.
pub(super) const HUGIND: ModelFamily = ModelFamily::new("hugind")
    .example(r#"<tool_call>{"name": "calculator", "args": {"expression": "6 * 7"}}</tool_call>"#)
    .calls(&[hugind("<tool_call>"), hugind("<|tool_call>"), hugind("<|tool_call|>")])
    .in_auto(InAuto::Nothing)
    .turn_ends(&["<|im_end|>", "<|eot_id|>", "<turn|>", "<eos>"])
    .results(ResultForm::new("[{name}] {content}", "\n\n").within("Tool results:\n\n", ""));
