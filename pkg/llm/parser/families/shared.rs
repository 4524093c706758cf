//! The forms written by models of several vendors.

use super::{
    family::{FamilyModels, InAuto, ModelFamily, call},
    results::ResultForm,
};
use crate::{
    builder::{
        CallForm, Section, ThinkingDialectBuilder as Thinking, ToolDialectBuilder as KnownTools,
        description::{CallGrammar, Markers, MarkupRules, TextRules},
    },
    grammar::Tags,
    marker::Marker,
};

/// The tags of Qwen3-Coder; one line end on each side of a value is framing.
const QWEN: Tags =
    Tags::new(["<function", "</function>"], ["<parameter", "</parameter>"], ">").framing();
/// The tags of GLM: a name, then keys and values.
pub(super) const GLM: Tags =
    Tags::pairs(["<arg_key>", "</arg_key>"], ["<arg_value>", "</arg_value>"], "");
/// The tags of Hunyuan 3 and 4: those of GLM, and one more after the name.
pub(super) const HUNYUAN: Tags =
    Tags::pairs(["<arg_key>", "</arg_key>"], ["<arg_value>", "</arg_value>"], "<tool_sep>")
        .suffixes();
/// JSON, or a function in the tags of Qwen3-Coder.
pub(super) const JSON_OR_QWEN: CallGrammar = CallGrammar::JSON.or_markup(MarkupRules::Tags(QWEN));
/// A function in the tags of Qwen3-Coder, without markers around it.
pub(super) const OPEN_QWEN: CallForm<'static> =
    CallForm::front(Marker::exact("<function="), CallGrammar::tags(QWEN.ends_itself()));

/// Reasoning of Hunyuan 4, whose tags have a suffix.
pub(super) const SUFFIXED_THINK: Section<'static> = Section::of(
    Marker::only_suffixed_tag("<think"),
    Markers::One(Marker::only_suffixed_tag("</think")),
);

pub(super) const FAMILIES: &[ModelFamily] = &[
    ModelFamily::new("none").own_thinking(Thinking::new("none")).in_auto(InAuto::Nothing),
    // Every dialect with an opener of its own; the tags are those that do not occur in plain prose.
    ModelFamily::new("auto")
        .example(r#"<tool>{"tool_name":"calculator","arguments":{"expression":"6 * 7"}}</tool>"#)
        .own_thinking(
            Thinking::new("auto")
                .example("<think>\nSix times seven.\n</think>\n\nIt is 42.")
                .sections(&[
                    Section::new("<thinking>", "</thinking>"),
                    Section::new("<think>", "</think>"),
                    Section::new("<reasoning>", "</reasoning>"),
                    Section::new("<thought>", "</thought>"),
                    SUFFIXED_THINK,
                ])
                .framing(1, 1, 2)
                .after_ignored(0),
        )
        .in_auto(InAuto::Nothing)
        // Models without a form of their own, or with several.
        .models(&[
            FamilyModels::inside(
                "think",
                "deepseek-r1*distill deepseek-r1*qwen3 deepseek-r1-1.5b deepseek-r1-7b deepseek-r1-8b \
                 deepseek-r1-14b deepseek-r1-32b deepseek-r1-70b",
            )
            .tuned(),
            FamilyModels::plain("openhermes functionary").tuned(),
            FamilyModels::thinking("auto", "nemotron").tuned(),
            FamilyModels::thinking("kimi-legacy", "kimi-vl kimi-k1.5 kimi-dev"),
            FamilyModels::plain("qwq*preview glm-4 gemma-3 gemma-2 phi-4"),
            FamilyModels::thinking(
                "think",
                "step-audio glm-4.1*thinking glm-z1 phi-4*reasoning minicpm-v minicpm-o \
                 minicpm4.1",
            ),
            FamilyModels::inside("auto", "exaone-deep"),
        ]),
    // Forge's own: the form that a prompt requests from models without function calling.
    ModelFamily::new("forge")
        .example(r#"<tool>{"tool_name":"calculator","arguments":{"expression":"6 * 7"}}</tool>"#)
        .calls(&[CallForm::of(
            Marker::tag_with_attributes("<tool"),
            Markers::One(Marker::spelled("</tool>")),
            CallGrammar::JSON.or_markup(MarkupRules::Forge),
        )])
        .own_thinking(
            Thinking::new("forge")
                .example("<thinking>Six times seven.</thinking>It is 42.")
                .sections(&[Section::new("<thinking>", "</thinking>")])
                .framing(1, 1, 2),
        ),
    // `<think>`, as most open models write it.
    ModelFamily::of_thinking(
        Thinking::new("think")
            .example("<think>\nSix times seven.\n</think>\n\nIt is 42.")
            .sections(&[Section::new("<think>", "</think>")])
            .framing(1, 1, 2),
    ),
    // Hermes: JSON in `<tool_call>`, as written by Qwen 2.5 and 3, Granite 4 and many others. The tag
    // is used by several families: in `auto`, its content distinguishes them.
    ModelFamily::new("hermes")
        .example("<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</tool_call>")
        .calls(&[call("<tool_call>", "</tool_call>", JSON_OR_QWEN)])
        .in_auto(InAuto::As(KnownTools::new("hermes").calls(&[
            call("<tool_call>", "</tool_call>", JSON_OR_QWEN.or_text(TextRules::Tags(HUNYUAN))),
            OPEN_QWEN,
        ])))
        .results(ResultForm::TOOL_RESPONSE)
        .turn_ends(&["<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|role_end|>", "<sep>"])
        .models(&[
            FamilyModels::thinking("think", "deephermes hermes-4 hermes-4.x cogito holo2").tuned(),
            FamilyModels::plain("hermes-2 hermes-3 llama-3-groq").tuned(),
            FamilyModels::inside("think", "qwen3*thinking qwq qwen*thinking ring k-exaone"),
            // The fourth generation of Granite; Ring is the thinking model of Ant's second generation.
            FamilyModels::plain(
                "qwen3*instruct qwen2.5 qwen2 qwen1.5 qwen granite-4.x granite-4 ling falcon-h1 falcon3",
            ),
            FamilyModels::thinking(
                "think",
                "flint mellum-2 qwen3 smollm3 mimo solar-pro bielik*v3.x jamba*reasoning exaone-4 exaone-4.x \
                 reka-edge trinity falcon-h1r nanbeige-4 nanbeige-4.x youtu-llm",
            ),
        ]),
    // Qwen3-Coder: functions and parameters in tags.
    ModelFamily::new("qwen3-coder")
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
                "qwen3.5 qwen3.6 qwen3.x step-3.5 step-3.6 step-3.7 trinity*thinking intellect-3",
            ),
            FamilyModels::thinking("think", "mimo-v2.5 mimo-v2 iquest-coder"),
        ]),
    // GLM: a name, then keys and values in tags. 4.5 and 4.6 write the opener of thinking themselves.
    ModelFamily::new("glm")
        .example("<tool_call>calculator\n<arg_key>expression</arg_key>\n<arg_value>6 * 7</arg_value>\n</tool_call>")
        .calls(&[call("<tool_call>", "</tool_call>", CallGrammar::JSON.or_text(TextRules::Tags(GLM)))])
        .in_auto(InAuto::Nothing)
        .results(ResultForm::TOOL_RESPONSE)
        .turn_ends(&[
            "<|user|>",
            "<|observation|>",
            "<|endoftext|>",
            "<|role_end|>",
            "<｜end▁of▁sentence｜>",
            "</assistant>",
        ])
        .models(&[
            FamilyModels::inside("think", "glm-4.7 glm-5.x glm-5 ling-3 ling-3.x ring-3 ring-3.x laguna-s"),
            FamilyModels::thinking("think", "glm-4.5 glm-4.6 laguna spark-2.5"),
        ]),
];
