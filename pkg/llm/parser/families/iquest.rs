//! The models of `IQuest`.

use super::prelude::*;

const IQUEST: CallForm<'static> = call("<iquest_tool_call>", "</iquest_tool_call>", IQUEST_CALL);
const IQUEST_CODER: CallForm<'static> =
    call("<iquestcoder_tool_call>", "</iquestcoder_tool_call>", IQUEST_CALL);
/// A name with keys and values, as GLM writes them.
const IQUEST_CALL: CallGrammar = CallGrammar::JSON.or_text(TextRules::Tags(GLM));

/// `IQuest`: a name with keys and values, as GLM writes them, in a tag of its own (Coder 2, Q1), or
/// the tags of Qwen3-Coder (Coder 1).
pub(super) const IQUEST_FAMILY: ModelFamily = ModelFamily::new("iquest")
    .example("<iquest_tool_call>calculator<arg_key>expression</arg_key><arg_value>6 * 7</arg_value></iquest_tool_call>")
    .calls(&[
        IQUEST,
        IQUEST_CODER,
        call("<tool_call>", "</tool_call>", JSON_OR_QWEN),
        OPEN_QWEN,
    ])
    .in_auto(InAuto::As(ToolDialectBuilder::new("iquest").calls(&[IQUEST, IQUEST_CODER])))
    .turn_ends(&["<|im_end|>"])
    .models(&[FamilyModels::inside("think", "iquest iquest-coder-v2")]);
