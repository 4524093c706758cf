//! The models of Baidu.

use super::prelude::*;

/// Ernie 4.5: JSON in `<tool_call>`; answers are in `<response>`. The thinking builds have the
/// opener in the prompt.
pub(super) const ERNIE45: ModelFamily = ModelFamily::new("ernie45")
    .example("<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</tool_call>")
    .calls(&[call("<tool_call>", "</tool_call>", CallGrammar::JSON)])
    .own_thinking(
        Thinking::new("ernie45")
            .example("<think>\nSix times seven.\n</think>\n\n<response>\nIt is 42.\n</response>")
            .sections(&[Section::new("<think>", "</think>")])
            .framing(1, 1, 3)
            .ignored_markers(RESPONSE)
            .after_ignored(1)
            .starts_inside(),
    )
    .in_auto(InAuto::Nothing)
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&["<|end_of_sentence|>"])
    .models(&[
        FamilyModels::inside("ernie45", "ernie-4.5*thinking"),
        FamilyModels::plain("ernie-4.5"),
    ]);
