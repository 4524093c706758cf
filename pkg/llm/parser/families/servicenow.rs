//! The models of `ServiceNow`.

use super::prelude::*;

/// Apriel: an array of calls in `<tool_calls>`, as Jamba writes it; the answer begins after a marker.
pub(super) const APRIEL: ModelFamily = ModelFamily::new("apriel")
    .example(r#"<tool_calls>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</tool_calls>"#)
    .calls(&[call("<tool_calls>", "</tool_calls>", CallGrammar::JSON)])
    .in_auto(InAuto::Nothing)
    .own_thinking(
        Thinking::new("apriel")
            .example("Here are my reasoning steps:\nSix times seven.\n[BEGIN FINAL RESPONSE]\nIt is 42.")
            .sections(&[Section::new("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]")])
            .framing(1, 1, 1)
            .ignored(&["\n[END FINAL RESPONSE]", "[END FINAL RESPONSE]"])
            .starts_inside(),
    )
    .turn_ends(&["<|end|>", "<|endoftext|>"])
    .models(&[
        FamilyModels::inside("apriel", "apriel apriel-nemotron").tuned(),
    ]);
