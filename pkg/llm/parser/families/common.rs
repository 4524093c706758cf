//! The forms that belong to no vendor.

use super::prelude::*;

/// No markers: text is unchanged.
pub(super) const NONE: ModelFamily =
    ModelFamily::new("none").own_thinking(Thinking::new("none")).in_auto(InAuto::Nothing);

/// Every dialect with an opener of its own; the tags are those that do not occur in plain prose.
pub(super) const AUTO: ModelFamily = ModelFamily::new("auto")
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
    ]);

/// Forge's own: the form that a prompt requests from models without function calling.
pub(super) const FORGE: ModelFamily = ModelFamily::new("forge")
    .example(r#"<tool>{"tool_name":"calculator","arguments":{"expression":"6 * 7"}}</tool>"#)
    .calls(&[CallForm::from_markers(
        Marker::tag_with_attributes("<tool"),
        Markers::One(Marker::spelled("</tool>")),
        CallGrammar::JSON.or_markup(MarkupRules::Forge),
    )])
    .own_thinking(
        Thinking::new("forge")
            .example("<thinking>Six times seven.</thinking>It is 42.")
            .sections(&[Section::new("<thinking>", "</thinking>")])
            .framing(1, 1, 2),
    );

/// `<think>`, as most open models write it.
pub(super) const THINK: ModelFamily = ModelFamily::of_thinking(
    Thinking::new("think")
        .example("<think>\nSix times seven.\n</think>\n\nIt is 42.")
        .sections(&[Section::new("<think>", "</think>")])
        .framing(1, 1, 2),
);

/// JSON enforced by a grammar on any model (`tool_choice` required).
pub(super) const GUIDED: ModelFamily = ModelFamily::new("guided")
    .example(r#"[{"name": "calculator", "parameters": {"expression": "6 * 7"}}]"#)
    .bare(BareCall::Json)
    .in_auto(InAuto::Nothing);
