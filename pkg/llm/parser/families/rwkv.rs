//! The models of RWKV.

use super::prelude::*;

/// RWKV: a headline, and one call in a fence.
pub(super) const RWKV: ModelFamily = ModelFamily::new("rwkv")
    .example("**Tool Call:**\n```json\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n```")
    .calls(&[call("**Tool Call:**\n```json", "```", CallGrammar::JSON)])
    .in_auto(InAuto::Nothing)
    .models(&[FamilyModels::thinking("think", "rwkv rwkv-7")]);
