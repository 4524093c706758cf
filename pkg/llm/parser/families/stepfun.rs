//! The models of `StepFun`.

use super::prelude::*;

/// The tags of a call of Step-3.
const STEP: Tags = Tags::new(
    ["<steptml:invoke", "</steptml:invoke>"],
    ["<steptml:parameter", "</steptml:parameter>"],
    ">",
);

/// Step-3 and Step-5: functions and parameters in tags.
pub(super) const STEP3: ModelFamily = ModelFamily::new("step3")
    .example(r#"<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="calculator"><steptml:parameter name="expression">6 * 7</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"#)
    .wrappers(&[
        Wrapper::new("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
        // Some models write the separator between calls instead of inside them.
        Wrapper::new("<｜tool_sep｜>", "<｜tool_call_end｜>"),
    ])
    .calls(&[
        call(
            "<｜tool_call_begin｜>function<｜tool_sep｜>",
            "<｜tool_call_end｜>",
            // The name may also come before the function.
            CallGrammar::tags(STEP).or_text(TextRules::Tags(STEP)),
        ),
        CallForm::from_markers(
            Marker::exact("<｜tool_call_begin｜>").before(b"<"),
            Markers::One(Marker::exact("<｜tool_call_end｜>")),
            CallGrammar::tags(STEP),
        ),
    ])
    .results(
        ResultForm::new("<｜tool_output_begin｜>{content}<｜tool_output_end｜>", "\n")
            .within("<｜tool_outputs_begin｜>", "<｜tool_outputs_end｜>"),
    )
    .turn_ends(&["<|EOT|>", "<|im_end|>", "<｜end▁of▁sentence｜>"])
    .models(&[FamilyModels::inside("think", "step-3 step-5")]);

/// Step-Audio 2: `function`, the name, and the arguments, each on a line of its own.
pub(super) const STEP_AUDIO: ModelFamily = ModelFamily::new("step-audio2")
    .example("<tool_call>function\ncalculator\n{\"expression\": \"6 * 7\"}</tool_call>")
    .calls(&[call(
        "<tool_call>",
        "</tool_call>",
        CallGrammar::JSON.or_text(TextRules::Named(HeaderStyle::STEP_AUDIO)),
    )])
    .in_auto(InAuto::Nothing)
    .turn_ends(&["<|EOT|>"])
    .models(&[FamilyModels::thinking("think", "step-audio-2")]);
