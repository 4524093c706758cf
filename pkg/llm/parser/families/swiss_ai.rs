//! The models of the Swiss AI Initiative.

use super::prelude::*;

/// Apertus: an array of objects whose only key is the name.
pub(super) const APERTUS: ModelFamily = ModelFamily::new("apertus")
    .example(r#"<|tools_prefix|>[{"calculator": {"expression": "6 * 7"}}]<|tools_suffix|>"#)
    .calls(&[call("<|tools_prefix|>", "<|tools_suffix|>", CallGrammar::json(JsonShape::Keyed))])
    .thinking(
        Thinking::new("apertus")
            .example("<|inner_prefix|>Six times seven.<|inner_suffix|>It is 42.")
            .sections(&[Section::new("<|inner_prefix|>", "<|inner_suffix|>")]),
    )
    .turn_ends(&["<|assistant_end|>"])
    .models(&[FamilyModels::thinking("apertus", "apertus")]);
