//! The models of LLM360.

use super::prelude::*;

/// The tags of a call of K2-Horizon.
const IFM: Tags =
    Tags::pairs(["<ifm|arg_key>", "</ifm|arg_key>"], ["<ifm|arg_value>", "</ifm|arg_value>"], "")
        .kind(["<ifm|arg_type>", "</ifm|arg_type>"]);

/// K2-Horizon: JSON, or a name with keys and values.
pub(super) const K2_HORIZON: ModelFamily = ModelFamily::new("k2-horizon")
    .example("<ifm|tool_calls>\n<ifm|tool_call>calculator\n<ifm|arg_key>expression</ifm|arg_key>\n<ifm|arg_value>6 * 7</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>")
    .wrappers(&[Wrapper::new("<ifm|tool_calls>", "</ifm|tool_calls>")])
    .calls(&[call(
        "<ifm|tool_call>",
        "</ifm|tool_call>",
        CallGrammar::JSON.or_text(TextRules::Tags(IFM)),
    )])
    .thinking(
        Thinking::new("k2-v3")
            .example("<ifm|think>Six times seven.</ifm|think>It is 42.")
            .sections(&[
                Section::new("<ifm|think>", "</ifm|think>"),
                Section::new("<ifm|think_fast>", "</ifm|think_fast>"),
                Section::new("<ifm|think_faster>", "</ifm|think_faster>"),
            ])
            .framing(1, 1, 2),
    )
    .models(&[FamilyModels::inside("k2-v3", "k2-horizon k2-v3 k2-think-v3")]);
