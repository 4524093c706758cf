//! The models of Shanghai AI Lab.

use super::prelude::*;

/// `InternLM` 2: an object between action markers.
pub(super) const INTERNLM2: ModelFamily = ModelFamily::new("internlm2")
    .example("<|action_start|><|plugin|>\n{\"name\": \"calculator\", \"parameters\": {\"expression\": \"6 * 7\"}}<|action_end|>")
    .wrappers(&[Wrapper::new("<|action_start|>", "<|action_end|>")])
    .calls(&[call("<|plugin|>", "<|action_end|>", CallGrammar::JSON)])
    .turn_ends(&["<|im_end|>"])
    .models(&[
        FamilyModels::plain("internlm-3 internlm-2.5 internlm-2"),
        FamilyModels::inside("think", "intern-s1"),
    ]);
