//! The models of NVIDIA.

use super::prelude::*;

/// Nemotron (Deci, Ultra, Nano 2): an array of calls in `<TOOLCALL>`. The first generation thinks
/// when told to.
pub(super) const NEMOTRON: ModelFamily = ModelFamily::new("nemotron")
    .example(
        r#"<TOOLCALL>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</TOOLCALL>"#,
    )
    .calls(&[call("<TOOLCALL>", "</TOOLCALL>", CallGrammar::JSON)])
    .results(ResultForm::new("{json}", ", ").within("<TOOL_RESPONSE>[", "]</TOOL_RESPONSE>"))
    .turn_ends(&["<SPECIAL_12>", "<|eot_id|>", "<|im_end|>"])
    .models(&[
        FamilyModels::inside("think", "nemotron*nano*v2").tuned(),
        FamilyModels::thinking("think", "nemotron*nano nemotron*super nemotron*ultra").tuned(),
    ]);
