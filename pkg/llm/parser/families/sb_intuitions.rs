//! The models of SB Intuitions.

use super::prelude::*;

/// Sarashina: a marker and a list of calls, spelled as Python dictionaries.
pub(super) const SARASHINA: ModelFamily = ModelFamily::new("sarashina")
    .example("<|tool_calls|>[{'name': 'calculator', 'arguments': {'expression': '6 * 7'}}]")
    .calls(&[open("<|tool_calls|>", CallGrammar::JSON)])
    .models(&[FamilyModels::plain("sarashina-2.x sarashina")]);
