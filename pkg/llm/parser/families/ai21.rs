//! The models of AI21.

use super::prelude::*;

/// Jamba: an array of calls in `<tool_calls>`, as `MiniMax` M1 and Hunyuan A13B write it too.
pub(super) const JAMBA: ModelFamily = ModelFamily::new("jamba")
    .example(r#"<tool_calls>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</tool_calls>"#)
    .calls(&[call("<tool_calls>", "</tool_calls>", CallGrammar::JSON)])
    .in_auto(InAuto::Nothing)
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&["<|eom|>", "<|endoftext|>", "<|end|>", "<end_of_sentence>"])
    .models(&[
        FamilyModels::thinking("think", "minimax-m1"),
        FamilyModels::plain("minimax-text jamba jamba-2"),
    ]);
