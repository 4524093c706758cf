//! The models of Upstage.

use super::prelude::*;

/// The tags of a call of Solar Open 2: a key, its end marker, the value.
const SOLAR: Tags =
    Tags::pairs(["<|tool_arg:start|>", "<|tool_arg:value|>"], ["", "<|tool_arg:end|>"], "");

/// Solar Open 2: a name, then keys and values between special tokens.
pub(super) const SOLAR_OPEN2: ModelFamily = ModelFamily::new("solar-open2")
    .example("<|tool_call:start|>calculator\n<|tool_arg:start|>expression<|tool_arg:value|>6 * 7<|tool_arg:end|>\n<|tool_call:end|>")
    .calls(&[call(
        "<|tool_call:start|>",
        "<|tool_call:end|>",
        CallGrammar::JSON.or_text(TextRules::Tags(SOLAR)),
    )])
    .thinking(
        Thinking::new("solar-open2")
            .example("<|think:start|>Six times seven.<|think:end|>It is 42.")
            .sections(&[Section::new("<|think:start|>", "<|think:end|>")]),
    )
    .turn_ends(&["<|im:end|>", "<|im_end|>"])
    .models(&[FamilyModels::inside("solar-open2", "solar-open-2")]);

/// Solar Open: parts of an answer, each with a token for its kind; calls have an id.
pub(super) const SOLAR_OPEN: ModelFamily = ModelFamily::new("solar-open")
    .example(r#"<|tool_calls|><|tool_call:begin|>call_1<|tool_call:name|>calculator<|tool_call:args|>{"expression": "6 * 7"}<|tool_call:end|><|calls|>"#)
    .wrappers(&[
        Wrapper::new("<|begin|>assistant<|tool_calls|>", "<|calls|>"),
        Wrapper::new("<|tool_calls|>", "<|calls|>"),
    ])
    .calls(&[named("<|tool_call:begin|>", "<|tool_call:end|>", HeaderStyle::SOLAR)])
    .own_thinking(
        Thinking::new("solar-open")
            .example("<|think|>Six times seven.<|end|><|begin|>assistant<|content|>It is 42.<|end|>")
            .sections(&[
                Section::new("<|think|>", "<|end|>"),
                Section::new("<|begin|>assistant<|think|>", "<|end|>"),
            ])
            .headers(&[
                Marker::exact("<|begin|>assistant<|content|>"),
                Marker::exact("<|begin|>assistant<|tool_calls|>"),
            ])
            .ignored(&["<|content|>", "<|begin|>assistant<|content|>", "<|end|>"]),
    )
    .turn_ends(&["<|end|>"])
    .models(&[FamilyModels::thinking("solar-open", "solar-open")]);
