//! The models of China Telecom.

use super::prelude::*;

/// The tags of a call of `TeleChat` 4.
const TELECHAT: Tags =
    Tags::pairs(["<param_key>", "</param_key>"], ["<param_value>", "</param_value>"], "");

/// `TeleChat` 4 and `XingChen` 4: a name with keys and values, or with JSON.
pub(super) const TELECHAT4: ModelFamily = ModelFamily::new("telechat4")
    .example("<tool_call>calculator<param_key>expression</param_key><param_value>6 * 7</param_value></tool_call>")
    .calls(&[call(
        "<tool_call>",
        "</tool_call>",
        CallGrammar::JSON.or_text(TextRules::Tags(TELECHAT)),
    )])
    .in_auto(InAuto::Nothing)
    .results(ResultForm::TOOL_RESPONSE)
    .models(&[FamilyModels::thinking("think", "telechat-4 xingchen-4")]);
