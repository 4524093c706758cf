//! The models of `OpenBMB`.

use super::prelude::*;

/// The tags of a call of `MiniCPM` 5; a value with markup in it is a CDATA section.
const MINICPM: Tags =
    Tags::new(["<function", "</function>"], ["<param", "</param>"], ">").cdata().ends_itself();

/// `MiniCPM` 5: functions and parameters in tags.
pub(super) const MINICPM5: ModelFamily = ModelFamily::new("minicpm5")
    .example(r#"<function name="calculator"><param name="expression">6 * 7</param></function>"#)
    .calls(&[
        CallForm::front(Marker::exact("<function name="), CallGrammar::tags(MINICPM)),
        // Decoders lose the tokenizer's space, or show it as the letter that stands for it.
        CallForm::front(Marker::exact("<functionname="), CallGrammar::tags(MINICPM)),
        CallForm::front(Marker::exact("<function\u{120}name="), CallGrammar::tags(MINICPM)),
    ])
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&["<|im_end|>"])
    .models(&[FamilyModels::inside("think", "minicpm5")]);

/// `MiniCPM`-V: the tags of most open models.
pub(super) const MINICPM_V: ModelFamily = ModelFamily::of_thinking(
    Thinking::new("minicpm-v")
        .example("<think>\nSix times seven.\n</think>\n\nIt is 42.")
        .sections(&[Section::new("<think>", "</think>")])
        .framing(1, 1, 2),
);
