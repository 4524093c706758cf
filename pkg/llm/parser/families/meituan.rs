//! The models of Meituan.

use super::prelude::*;

/// The tags of the newer models of `LongCat`.
const LONGCAT: Tags = Tags::pairs(
    ["<longcat_arg_key>", "</longcat_arg_key>"],
    ["<longcat_arg_value>", "</longcat_arg_value>"],
    "",
);

/// `LongCat`: JSON, or a name with keys and values, in `<longcat_tool_call>`.
pub(super) const LONGCAT_FAMILY: ModelFamily = ModelFamily::new("longcat")
    .example("<longcat_tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</longcat_tool_call>")
    .calls(&[call(
        "<longcat_tool_call>",
        "</longcat_tool_call>",
        CallGrammar::JSON.or_text(TextRules::Tags(LONGCAT)),
    )])
    .thinking(
        Thinking::new("longcat")
            .example("<longcat_think>\nSix times seven.\n</longcat_think>\n\nIt is 42.")
            .sections(&[Section::new("<longcat_think>", "</longcat_think>")])
            .framing(1, 1, 2),
    )
    .results(ResultForm::new("<longcat_tool_response>{content}</longcat_tool_response>", "\n"))
    .turn_ends(&["</longcat_s>"])
    .models(&[FamilyModels::thinking("longcat", "longcat")]);
