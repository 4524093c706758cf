//! The models of AI2.

use super::prelude::*;

/// Olmo 3: Python calls, one per line.
pub(super) const OLMO3: ModelFamily = ModelFamily::new("olmo3")
    .example(r#"<function_calls>calculator(expression="6 * 7")</function_calls>"#)
    .calls(&[call("<function_calls>", "</function_calls>", CallGrammar::text(TextRules::Python))])
    .turn_ends(&["<|im_end|>", "<|endoftext|>"])
    .models(&[
        FamilyModels::inside("think", "olmo-3*think olmo-3.x*think"),
        FamilyModels::plain("olmo-3 olmo-3.x"),
    ]);
