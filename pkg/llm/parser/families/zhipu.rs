//! The models of Zhipu AI.

use super::prelude::*;

/// GLM: a name, then keys and values in tags. 4.5 and 4.6 write the opener of thinking themselves.
pub(super) const GLM_FAMILY: ModelFamily = ModelFamily::new("glm")
    .example("<tool_call>calculator\n<arg_key>expression</arg_key>\n<arg_value>6 * 7</arg_value>\n</tool_call>")
    .calls(&[call("<tool_call>", "</tool_call>", CallGrammar::JSON.or_text(TextRules::Tags(GLM)))])
    .in_auto(InAuto::Nothing)
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&[
        "<|user|>",
        "<|observation|>",
        "<|endoftext|>",
        "<|role_end|>",
        "<｜end▁of▁sentence｜>",
        "</assistant>",
    ])
    .models(&[
        FamilyModels::inside("think", "glm-4.7 glm-5.x glm-5 ling-3 ling-3.x ring-3 ring-3.x laguna-s"),
        FamilyModels::thinking("think", "glm-4.5 glm-4.6 laguna spark-2.5"),
    ]);
