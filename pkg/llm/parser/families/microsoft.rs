//! The models of Microsoft.

use super::prelude::*;

/// Phi-4-mini: `functools` and an array of calls. In `auto` the word counts only at the start of a
/// message.
pub(super) const PHI4: ModelFamily = ModelFamily::new("phi4")
    .example(r#"functools[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#)
    .calls(&[
        CallForm::open(Marker::before_list("functools"), CallGrammar::JSON),
        call("<|tool_call|>", "<|/tool_call|>", CallGrammar::JSON),
    ])
    .in_auto(InAuto::As(ToolDialectBuilder::new("phi4").bare(BareCall::Word("functools"))))
    .turn_ends(&["<|end|>", "<|endoftext|>", "<|eot_id|>"])
    .models(&[
        FamilyModels::plain("firefunction").tuned(),
        FamilyModels::plain("phi-4*mini phi-4*multimodal"),
    ]);
