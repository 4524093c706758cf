//! The models of Salesforce.

use super::prelude::*;

/// `xLAM`: a bare array of calls, or one in `<tool_call>`.
pub(super) const XLAM: ModelFamily = ModelFamily::new("xlam")
    .example(r#"[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#)
    .calls(&[
        call("<tool_call>", "</tool_call>", CallGrammar::JSON),
        open("[TOOL_CALLS]", CallGrammar::JSON),
    ])
    .bare(BareCall::Json)
    .in_auto(InAuto::Nothing)
    .turn_ends(&["<|eot_id|>", "<|im_end|>"])
    .models(&[FamilyModels::plain("xlam").tuned()]);
