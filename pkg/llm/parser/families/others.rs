//! The models of Cohere, `StepFun`, Shanghai AI Lab, Microsoft, IBM, AI21, Tencent, `ByteDance`, the Swiss AI
//! Initiative, NVIDIA and Meituan.

use super::{
    family::{FamilyModels, InAuto, ModelFamily, call, open},
    results::ResultForm,
};
use crate::{
    builder::{
        CallForm, Section, ThinkingDialectBuilder as Thinking, ToolDialectBuilder as KnownTools,
        Wrapper,
        description::{BareCall, CallGrammar, Markers, TextRules},
    },
    grammar::{JsonShape, Tags},
    marker::Marker,
};

/// The markers around text of Cohere's models.
const COHERE_TEXT: &[Wrapper<'static>] = &[
    Wrapper::new("<|START_RESPONSE|>", "<|END_RESPONSE|>").around_text(),
    Wrapper::new("<|START_TEXT|>", "<|END_TEXT|>").around_text(),
];
const ACTION: CallForm<'static> =
    call("<|START_ACTION|>", "<|END_ACTION|>", CallGrammar::json(JsonShape::CallsWithIds));
/// The tags of a call of Step-3.
const STEP: Tags = Tags::new(
    ["<steptml:invoke", "</steptml:invoke>"],
    ["<steptml:parameter", "</steptml:parameter>"],
    ">",
);
/// The tags of a call of Seed-OSS.
const SEED: Tags =
    Tags::new(["<function", "</function>"], ["<parameter", "</parameter>"], ">").ends_itself();
/// The tags of the newer models of `LongCat`.
const LONGCAT: Tags = Tags::pairs(
    ["<longcat_arg_key>", "</longcat_arg_key>"],
    ["<longcat_arg_value>", "</longcat_arg_value>"],
    "",
);
/// The markers around text that Cohere's models take from a document; the second one names the document.
const COHERE_SPANS: &[Marker<'static>] =
    &[Marker::numbered_tag("<co"), Marker::numbered_tag("</co")];
const GRANITE_ANSWERS: Markers<'static> =
    Markers::Spelled(&["Here is my response:", "Here's my response:"]);

/// Describes a tag of Hunyuan that may have a suffix, and its end.
#[expect(clippy::large_types_passed_by_value, reason = "constant functions, run by the compiler")]
const fn suffixed(
    opener: Marker<'static>,
    closer: &'static str,
    grammar: CallGrammar,
) -> CallForm<'static> {
    CallForm::of(opener, Markers::One(Marker::suffixed_tag(closer)), grammar)
}

pub(super) const FAMILIES: &[ModelFamily] = &[
    // Cohere: an array of calls between action markers; text and reasoning have markers too. Command R
    // and R+ write a word, and the array in a fence, which `auto` does not read.
    ModelFamily::new("cohere")
        .example(r#"<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "calculator", "parameters": {"expression": "6 * 7"}}]<|END_ACTION|>"#)
        .wrappers(COHERE_TEXT)
        .calls(&[
            ACTION,
            call("Action:\n```json", "```", CallGrammar::JSON),
            call("Action: ```json", "```", CallGrammar::JSON),
            call("Action:```json", "```", CallGrammar::JSON),
        ])
        .inline(COHERE_SPANS)
        .in_auto(InAuto::As(KnownTools::new("cohere").wrappers(COHERE_TEXT).calls(&[ACTION])))
        .thinking(
            Thinking::new("cohere")
                .example("<|START_THINKING|>Six times seven.<|END_THINKING|><|START_RESPONSE|>It is 42.<|END_RESPONSE|>")
                .sections(&[Section::new("<|START_THINKING|>", "<|END_THINKING|>")])
                .headers(&[
                    Marker::exact("<|START_RESPONSE|>"),
                    Marker::exact("<|START_TEXT|>"),
                ])
                .inline(COHERE_SPANS)
                .ignored(&[
                    "<|START_RESPONSE|>",
                    "<|END_RESPONSE|>",
                    "<|START_TEXT|>",
                    "<|END_TEXT|>",
                    "<|END_OF_TURN_TOKEN|>",
                ]),
        )
        .results(
            ResultForm::new(
                "{\"tool_call_id\": \"{id}\", \"results\": {\"0\": {json}}, \"is_error\": {is_error}}",
                ",\n",
            )
            .within("<|START_TOOL_RESULT|>[\n", "\n]<|END_TOOL_RESULT|>"),
        )
        .turn_ends(&["<|END_OF_TURN_TOKEN|>"])
        .strays(&["<|CHATBOT_TOKEN|>", "<|START_OF_TURN_TOKEN|>"])
        .models(&[
            FamilyModels::inside("cohere", "cohere2moe command-4 north-mini"),
            FamilyModels::thinking("cohere", "command-a command-r7b"),
            FamilyModels::plain("command-r aya-expanse"),
        ]),
    // Step-3 and Step-5: functions and parameters in tags.
    ModelFamily::new("step3")
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
            CallForm::of(
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
        .models(&[FamilyModels::inside("think", "step-3 step-5")]),
    // InternLM 2: an object between action markers.
    ModelFamily::new("internlm2")
        .example("<|action_start|><|plugin|>\n{\"name\": \"calculator\", \"parameters\": {\"expression\": \"6 * 7\"}}<|action_end|>")
        .wrappers(&[Wrapper::new("<|action_start|>", "<|action_end|>")])
        .calls(&[call("<|plugin|>", "<|action_end|>", CallGrammar::JSON)])
        .turn_ends(&["<|im_end|>"])
        .models(&[
            FamilyModels::plain("internlm-3 internlm-2.5 internlm-2"),
            FamilyModels::inside("think", "intern-s1"),
        ]),
    // Phi-4-mini: `functools` and an array of calls. In `auto` the word counts only at the start of a
    // message.
    ModelFamily::new("phi4")
        .example(r#"functools[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#)
        .calls(&[
            CallForm::open(Marker::before_list("functools"), CallGrammar::JSON),
            call("<|tool_call|>", "<|/tool_call|>", CallGrammar::JSON),
        ])
        .in_auto(InAuto::As(KnownTools::new("phi4").bare(BareCall::Word("functools"))))
        .turn_ends(&["<|end|>", "<|endoftext|>", "<|eot_id|>"])
        .models(&[
            FamilyModels::plain("firefunction").tuned(),
            FamilyModels::plain("phi-4*mini phi-4*multimodal"),
        ]),
    // Granite 3: a marker and an array of calls, or a marker and one call; reasoning in plain words.
    // In `auto`, JSON after `<|tool_call|>` ends itself, and everything else is call syntax.
    ModelFamily::new("granite")
        .example(r#"<|tool_call|>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#)
        .wrappers(&[Wrapper::of(
            Marker::tag("<tool_call").before(b"<"),
            Marker::tag("</tool_call"),
        )])
        .calls(&[
            open("<|tool_call|>", CallGrammar::JSON),
            open("<function_call>", CallGrammar::JSON),
            CallForm::open(Marker::tag("<tool_call").before(b"[{"), CallGrammar::JSON),
        ])
        .own_thinking(
            Thinking::new("granite")
                .example("Here is my thought process:\n\nSix times seven.\n\nHere is my response:\n\nIt is 42.")
                .sections(&[
                    Section::of(Marker::spelled("Here is my thought process:"), GRANITE_ANSWERS),
                    Section::of(Marker::spelled("Here's my thought process:"), GRANITE_ANSWERS),
                    Section::new("<think>", "</think>"),
                ])
                .framing(2, 2, 2)
                .ignored_markers(super::newer::RESPONSE)
                .after_ignored(1)
                .only_at_start(),
        )
        .in_auto(InAuto::As(
            KnownTools::new("granite")
                .wrappers(&[Wrapper::of(
                    Marker::exact("<|tool_call|>").before(b"<"),
                    Marker::exact("<|/tool_call|>"),
                )])
                .calls(&[
                    CallForm::open(Marker::exact("<|tool_call|>").before(b"[{"), CallGrammar::JSON),
                    open("<function_call>", CallGrammar::JSON),
                    CallForm::of(
                        Marker::exact("<|tool_call|>"),
                        Markers::Spelled(&["<|/tool_call|>", "<tool_call|>"]),
                        CallGrammar::text(super::vendors::GEMMA),
                    ),
                ]),
        ))
        .turn_ends(&["<|end_of_text|>", "<|endoftext|>"])
        .models(&[
            FamilyModels::thinking("granite", "granite-3.3 granite-3.2"),
            FamilyModels::plain("granite-3.x granite-3 granite-20b"),
        ]),
    // Jamba: an array of calls in `<tool_calls>`, as MiniMax M1 and Hunyuan A13B write it too.
    ModelFamily::new("jamba")
        .example(r#"<tool_calls>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</tool_calls>"#)
        .calls(&[call("<tool_calls>", "</tool_calls>", CallGrammar::JSON)])
        .in_auto(InAuto::Nothing)
        .results(ResultForm::TOOL_RESPONSE)
        .turn_ends(&["<|eom|>", "<|endoftext|>", "<|end|>", "<end_of_sentence>"])
        .models(&[
            FamilyModels::thinking("think", "minimax-m1"),
            FamilyModels::plain("minimax-text jamba jamba-2"),
        ]),
    // Hunyuan: an array of calls in `<tool_calls>` (A13B), or calls with keys and values inside it (3 and
    // 4), which think if an effort is requested; their tags may have a suffix.
    ModelFamily::new("hunyuan")
        .example(r#"<tool_calls>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</tool_calls>"#)
        .wrappers(&[Wrapper::of(
            Marker::suffixed_tag("<tool_calls").before(b"<"),
            Marker::suffixed_tag("</tool_calls"),
        )])
        .calls(&[
            suffixed(
                Marker::suffixed_tag("<tool_calls").before(b"[{"),
                "</tool_calls",
                CallGrammar::JSON,
            ),
            suffixed(
                Marker::suffixed_tag("<tool_call"),
                "</tool_call",
                CallGrammar::JSON.or_text(TextRules::Tags(super::shared::HUNYUAN)),
            ),
        ])
        .own_thinking(
            Thinking::new("hunyuan")
                .example("<think>\nSix times seven.\n</think>\n<answer>\nIt is 42.\n</answer>")
                .sections(&[
                    Section::new("<think>", "</think>"),
                    super::shared::SUFFIXED_THINK,
                ])
                .framing(1, 1, 2)
                .ignored_markers(&[
                    Marker::tag("<answer"),
                    Marker::tag("\n</answer"),
                    Marker::tag("</answer"),
                ])
                .after_ignored(1),
        )
        .results(
            ResultForm::TOOL_RESPONSE.within("<tool_responses>\n", "\n</tool_responses>"),
        )
        .turn_ends(&[
            "<|eos|>",
            "<｜hy_eos｜>",
            "<｜hy_eos:opensource｜>",
            "<｜hy_place▁holder▁no▁2｜>",
        ])
        .models(&[FamilyModels::thinking("hunyuan", "hy3 hy4 hunyuan")]),
    // Seed-OSS: functions and parameters in tags.
    ModelFamily::new("seed-oss")
        .example("<seed:tool_call>\n<function=calculator>\n<parameter=expression>6 * 7</parameter>\n</function>\n</seed:tool_call>")
        .calls(&[call("<seed:tool_call>", "</seed:tool_call>", CallGrammar::tags(SEED))])
        .thinking(
            Thinking::new("seed-oss")
                .example("<seed:think>Six times seven.</seed:think>\nIt is 42.")
                .sections(&[Section::new("<seed:think>", "</seed:think>")])
                .framing(0, 0, 1),
        )
        .turn_ends(&["<seed:eos>"])
        .models(&[FamilyModels::thinking("seed-oss", "seed-oss")]),
    // Apertus: an array of objects whose only key is the name.
    ModelFamily::new("apertus")
        .example(r#"<|tools_prefix|>[{"calculator": {"expression": "6 * 7"}}]<|tools_suffix|>"#)
        .calls(&[call(
            "<|tools_prefix|>",
            "<|tools_suffix|>",
            CallGrammar::json(JsonShape::Keyed),
        )])
        .thinking(
            Thinking::new("apertus")
                .example("<|inner_prefix|>Six times seven.<|inner_suffix|>It is 42.")
                .sections(&[Section::new("<|inner_prefix|>", "<|inner_suffix|>")]),
        )
        .turn_ends(&["<|assistant_end|>"])
        .models(&[FamilyModels::thinking("apertus", "apertus")]),
    // Nemotron (Deci, Ultra, Nano 2): an array of calls in `<TOOLCALL>`. The first generation thinks
    // when told to.
    ModelFamily::new("nemotron")
        .example(r#"<TOOLCALL>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</TOOLCALL>"#)
        .calls(&[call("<TOOLCALL>", "</TOOLCALL>", CallGrammar::JSON)])
        .results(ResultForm::new("{json}", ", ").within("<TOOL_RESPONSE>[", "]</TOOL_RESPONSE>"))
        .turn_ends(&["<SPECIAL_12>", "<|eot_id|>", "<|im_end|>"])
        .models(&[
            FamilyModels::inside("think", "nemotron*nano*v2").tuned(),
            FamilyModels::thinking("think", "nemotron*nano nemotron*super nemotron*ultra").tuned(),
        ]),
    // LongCat: JSON, or a name with keys and values, in `<longcat_tool_call>`.
    ModelFamily::new("longcat")
        .example("<longcat_tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</longcat_tool_call>")
        .calls(&[call(
            "<longcat_tool_call>",
            "</longcat_tool_call>",
            CallGrammar::JSON.or_text(TextRules::Tags(LONGCAT)),
        )])
        .thinking(
            Thinking::new("longcat")
                .example("<longcat_think>\nSix times seven.\n</longcat_think>\n\nIt is 42.")
                .sections(&[Section::new("<longcat_think>", "</longcat_think>")])
                .framing(1, 1, 2),
        )
        .results(ResultForm::new("<longcat_tool_response>{content}</longcat_tool_response>", "\n"))
        .turn_ends(&["</longcat_s>"])
        .models(&[FamilyModels::thinking("longcat", "longcat")]),
];
