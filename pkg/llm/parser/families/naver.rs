//! The models of NAVER.

use super::prelude::*;

/// The tags of `HyperCLOVA` X: those of GLM, with values that are JSON.
const CLOVA: Tags = GLM.json();

/// `HyperCLOVA` X: a name with keys and JSON values; the 14B writes an array of calls after a role, and
/// either may be forced to write only the array.
pub(super) const HYPERCLOVAX: ModelFamily = ModelFamily::new("hyperclovax")
    .example("<tool_call>calculator\n<arg_key>expression</arg_key>\n<arg_value>\"6 * 7\"</arg_value>\n</tool_call>")
    .calls(&[
        call("<tool_call>", "</tool_call>", CallGrammar::JSON.or_text(TextRules::Tags(CLOVA))),
        CallForm::open(Marker::exact("-> tool/function_call\n"), CallGrammar::JSON),
    ])
    .bare(BareCall::Json)
    .in_auto(InAuto::Nothing)
    .own_thinking(
        Thinking::new("hyperclovax")
            .example("<think>\nSix times seven.\n</think>\n\nIt is 42.")
            .sections(&[
                Section::new("<think>", "</think>"),
                Section::new("/think\n", "<|im_end|>\n<|im_start|>assistant"),
            ])
            .framing(1, 1, 3),
    )
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&["<|im_end|>", "<|stop|>", "<|endofturn|>"])
    .models(&[FamilyModels::thinking("hyperclovax", "hyperclovax")]);
