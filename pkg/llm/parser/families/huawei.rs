//! The models of Huawei.

use super::prelude::*;

/// `openPangu`: an array of calls between special tokens, which are unnamed in some vocabularies.
pub(super) const PANGU: ModelFamily = ModelFamily::new("pangu")
    .example(r#"<|tool_call_start|>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]<|tool_call_end|>"#)
    .calls(&[
        call("<|tool_call_start|>", "<|tool_call_end|>", CallGrammar::JSON),
        call("[unused11]", "[unused12]", CallGrammar::JSON),
    ])
    .in_auto(InAuto::Nothing)
    .own_thinking(
        Thinking::new("pangu")
            .example("[unused16]Six times seven.[unused17]It is 42.")
            .sections(&[
                Section::new("<think>", "</think>"),
                Section::new("[unused16]", "[unused17]"),
            ])
            .framing(1, 1, 2),
    )
    .turn_ends(&["[unused10]", "<|im_end|>"])
    .models(&[FamilyModels::thinking("pangu", "openpangu pangu")]);
