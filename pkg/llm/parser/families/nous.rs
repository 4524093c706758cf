//! The models of Nous Research.

use super::prelude::*;

/// Hermes: JSON in `<tool_call>`, as written by Qwen 2.5 and 3 and many others. The tag
/// is used by several families: in `auto`, its content distinguishes them.
pub(super) const HERMES: ModelFamily = ModelFamily::new("hermes")
    .example("<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</tool_call>")
    .calls(&[call("<tool_call>", "</tool_call>", JSON_OR_QWEN)])
    .in_auto(InAuto::As(ToolDialectBuilder::new("hermes").calls(&[
        call("<tool_call>", "</tool_call>", JSON_OR_QWEN.or_text(TextRules::Tags(HUNYUAN))),
        OPEN_QWEN,
    ])))
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&["<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|role_end|>", "<sep>"])
    .models(&[
        FamilyModels::thinking("think", "deephermes hermes-4 hermes-4.x cogito holo2").tuned(),
        FamilyModels::plain("hermes-2 hermes-3 llama-3-groq").tuned(),
        FamilyModels::inside("think", "qwen3*thinking qwq qwen*thinking ring k-exaone"),
        // Ring is the thinking model of Ant's second generation.
        FamilyModels::plain(
            "qwen3*instruct qwen2.5 qwen2 qwen1.5 qwen ling falcon-h1 falcon3",
        ),
        FamilyModels::thinking(
            "think",
            "flint mellum-2 qwen3 smollm3 mimo solar-pro bielik*v3.x jamba*reasoning exaone-4 exaone-4.x \
             reka-edge trinity falcon-h1r nanbeige-4 nanbeige-4.x youtu-llm kolibri",
        ),
    ]);
