//! The models of Poolside.

use super::prelude::*;

/// Laguna: the tags of GLM.
pub(super) const POOLSIDE: ModelFamily = ModelFamily::new("poolside")
    .example("<tool_call>calculator<arg_key>expression</arg_key><arg_value>6 * 7</arg_value></tool_call>")
    .calls(&[call("<tool_call>", "</tool_call>", CallGrammar::JSON.or_text(TextRules::Tags(GLM)))])
    .in_auto(InAuto::Nothing)
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&["</assistant>", "<|user|>", "<|observation|>"]);
