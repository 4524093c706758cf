//! The models of Alibaba.

use super::prelude::*;

/// Qwen3-Coder: functions and parameters in tags.
pub(super) const QWEN3_CODER: ModelFamily = ModelFamily::new("qwen3-coder")
    .example("<tool_call>\n<function=calculator>\n<parameter=expression>\n6 * 7\n</parameter>\n</function>\n</tool_call>")
    .calls(&[call("<tool_call>", "</tool_call>", JSON_OR_QWEN), OPEN_QWEN])
    .in_auto(InAuto::Nothing)
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&["<|im_end|>", "<|endoftext|>"])
    .models(&[
        // The third generation of Nemotron.
        FamilyModels::inside("think", "nemotron-3 nemotron-3.x").tuned(),
        FamilyModels::plain("qwen3-coder"),
        FamilyModels::inside(
            "think",
            "qwen3.5 qwen3.6 qwen3.x step-3.5 step-3.6 step-3.7 trinity*thinking intellect-3 nex-n2 \
             berrylm",
        ),
        FamilyModels::thinking("think", "mimo-v2.5 mimo-v2 iquest-coder"),
    ]);

/// Qwen2.5-Coder: JSON in `<tools>`, the tag with which its prompt lists the tools, or as Hermes writes it. The
/// tag has another meaning elsewhere, so `auto` does not read it.
pub(super) const QWEN25_CODER: ModelFamily = ModelFamily::new("qwen25-coder")
    .example(
        "<tools>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</tools>",
    )
    .calls(&[
        call("<tools>", "</tools>", CallGrammar::JSON),
        call("<tool_call>", "</tool_call>", JSON_OR_QWEN),
    ])
    .in_auto(InAuto::Nothing)
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&["<|im_end|>", "<|endoftext|>"])
    .models(&[FamilyModels::plain("qwen2.5-coder")]);
