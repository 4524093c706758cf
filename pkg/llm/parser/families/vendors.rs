//! The models of the most widely used vendors: Moonshot, DeepSeek, Meta, Mistral, Google, OpenAI
//! and `MiniMax`.

use super::{
    family::{FamilyModels, InAuto, ModelFamily, call, named, open},
    results::ResultForm,
};
use crate::{
    ahead::{name_check::NameCheck, shape::ChannelHeader},
    builder::{
        CallForm, Section, ThinkingDialectBuilder as Thinking, ToolDialectBuilder as KnownTools,
        Wrapper,
        description::{BareCall, CallGrammar, Markers, MarkupRules, TextRules},
    },
    grammar::{HeaderStyle, JsonShape, Tags},
    marker::Marker,
};

/// The tags of a call of Kimi K3.
const KIMI_K3: Tags = Tags::new(
    ["<|open|>call", "<|close|>call<|sep|>"],
    ["<|open|>argument", "<|close|>argument<|sep|>"],
    "<|sep|>",
)
.object(["<|open|>json", "<|close|>json<|sep|>"])
.entities();
/// The tags of DeepSeek V3.2 and V4.
const DSML: Tags = Tags::new(
    ["<｜DSML｜invoke", "</｜DSML｜invoke>"],
    ["<｜DSML｜parameter", "</｜DSML｜parameter>"],
    ">",
);
/// The tags of DeepSeek V4.1, with a space in each.
const SPACED_DSML: Tags = Tags::new(
    ["<｜DSML｜ invoke", "</｜DSML｜ invoke>"],
    ["<｜DSML｜ parameter", "</｜DSML｜ parameter>"],
    ">",
);
/// The tags of `MiniMax` M2 and dots.
pub(super) const INVOKE: Tags =
    Tags::new(["<invoke", "</invoke>"], ["<parameter", "</parameter>"], ">");
const DEEPSEEK_CALLS: Wrapper<'static> =
    Wrapper::new("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>");
const DEEPSEEK_CALL: CallForm<'static> =
    named("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", HeaderStyle::DEEPSEEK);
pub(super) const GEMMA: TextRules = TextRules::Syntax { quote: "<|\"|>" };
const GEMMA_BARE: BareCall = BareCall::Syntax { quote: "<|\"|>", offered: NameCheck::IfKnown };
const GEMMA_RESULTS: Wrapper<'static> = Wrapper::new("<|tool_response>", "<turn|>").around_text();
const GEMMA_CALL: CallForm<'static> =
    call("<|tool_call>", "<tool_call|>", CallGrammar::JSON.or_text(GEMMA));

/// Describes a call of Gemma 4 whose marker was omitted by the model or the server.
const fn gemma_without_marker(opener: &'static str) -> CallForm<'static> {
    CallForm::front(Marker::call(opener), CallGrammar::text(GEMMA)).offered()
}

/// Describes a call of Harmony, whose header names the recipient.
const fn harmony_call(start: &'static str) -> CallForm<'static> {
    CallForm::of(
        Marker::header(start, "<|message|>", ChannelHeader::WithRecipient),
        Markers::Spelled(&["<|call|>", "<|end|>", "<|return|>"]),
        CallGrammar::text(TextRules::Named(HeaderStyle::HARMONY)),
    )
    .opener_is_payload()
}

/// The headers of Harmony; llm-jp writes a space after each special token.
const HARMONY_HEADERS: &[Marker<'static>] = &[
    Marker::header("<|channel|>", "<|message|>", ChannelHeader::Any),
    Marker::header("<|start|>assistant", "<|message|>", ChannelHeader::Any),
    Marker::header("<|start|> assistant", "<|message|>", ChannelHeader::Any),
];

/// Describes reasoning of Harmony.
const fn harmony_section(start: &'static str) -> Section<'static> {
    Section::of(
        Marker::header(start, "<|message|>", ChannelHeader::Analysis),
        Markers::Spelled(&["<|end|>", "<|return|>", "<|call|>"]),
    )
}

pub(super) const FAMILIES: &[ModelFamily] = &[
    // Kimi K2: sections of calls, each with an id that contains its name. K2-Thinking writes the opener
    // of thinking itself.
    ModelFamily::new("kimi-k2")
        .example(r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.calculator:0<|tool_call_argument_begin|>{"expression": "6 * 7"}<|tool_call_end|><|tool_calls_section_end|>"#)
        .wrappers(&[
            Wrapper::new("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
            Wrapper::new("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
        ])
        .calls(&[named("<|tool_call_begin|>", "<|tool_call_end|>", HeaderStyle::KIMI)])
        // Some servers strip the markers before the id.
        .bare(BareCall::Id("<|tool_call_argument_begin|>"))
        .thinking(
            Thinking::new("kimi-legacy")
                .example("◁think▷Six times seven.◁/think▷It is 42.")
                .sections(&[Section::new("◁think▷", "◁/think▷")])
                .framing(1, 1, 2),
        )
        .results(ResultForm::new("## Return of {id}\n{content}", "\n\n"))
        .turn_ends(&["<|im_end|>"])
        .models(&[
            FamilyModels::thinking("think", "kimi-k2-thinking"),
            FamilyModels::inside("think", "kimi-k2.5 kimi-k2.6 kimi-k2.7"),
            FamilyModels::plain("kimi-k2 kimi-linear"),
        ]),
    // Kimi K3: one grammar of elements for calls, reasoning and text.
    ModelFamily::new("kimi-k3")
        .example(r#"<|open|>tools<|sep|><|open|>call tool="calculator" index="1"<|sep|><|open|>argument key="expression" type="string"<|sep|>6 * 7<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"#)
        .wrappers(&[
            Wrapper::new("<|open|>response<|sep|>", "<|close|>response<|sep|>").around_text(),
            Wrapper::new("<|close|>message<|sep|>", "<|end_of_msg|>").around_text(),
            Wrapper::new("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
        ])
        .calls(&[CallForm::tagged(KIMI_K3)])
        .thinking(
            Thinking::new("kimi-k3")
                .example("<|open|>think<|sep|>Six times seven.<|close|>think<|sep|><|open|>response<|sep|>It is 42.<|close|>response<|sep|>")
                .sections(&[Section::new("<|open|>think<|sep|>", "<|close|>think<|sep|>")])
                .headers(&[Marker::exact("<|open|>response<|sep|>")])
                .ignored(&[
                    "<|open|>response<|sep|>",
                    "<|close|>response<|sep|>",
                    "<|close|>message<|sep|>",
                    "<|end_of_msg|>",
                ])
                .starts_inside(),
        )
        .turn_ends(&["<|end_of_msg|>"])
        .strays(&[
            "<|close|>think",
            "<|close|>response",
            "<|close|>tools",
            "<|close|>call",
            "<|close|>argument",
            "<|close|>json",
            "<|close|>",
            "<|sep|>",
        ])
        .models(&[FamilyModels::inside("kimi-k3", "kimi-k3")]),
    // DeepSeek V3 and R1: `function`, a name, and a fence with the arguments.
    ModelFamily::new("deepseek-v3")
        .example("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>calculator\n```json\n{\"expression\": \"6 * 7\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>")
        .wrappers(&[DEEPSEEK_CALLS])
        .calls(&[DEEPSEEK_CALL])
        .in_auto(InAuto::Nothing)
        .results(
            ResultForm::new("<｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜>", "\n")
                .within("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
        )
        .turn_ends(&["<｜end▁of▁sentence｜>", "<|EOT|>"])
        .models(&[
            FamilyModels::inside("think", "deepseek*chimera").tuned(),
            FamilyModels::inside("think", "deepseek-r1 deepseek-reasoner"),
            FamilyModels::plain("deepseek-v3 deepseek-chat deepseek-v2.5 deepseek*v2"),
        ]),
    // DeepSeek V3.1: a name and the arguments. From here on, thinking is off unless it is switched on.
    ModelFamily::new("deepseek-v31")
        .example(r#"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>calculator<｜tool▁sep｜>{"expression": "6 * 7"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"#)
        .wrappers(&[DEEPSEEK_CALLS])
        .calls(&[DEEPSEEK_CALL])
        .results(ResultForm::new("<｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜>", ""))
        .turn_ends(&["<｜end▁of▁sentence｜>"])
        .models(&[FamilyModels::thinking("think", "deepseek-v3.2-exp deepseek-v3.1")]),
    // DeepSeek V3.2, V4 and V4.1: functions and typed parameters in special tags.
    ModelFamily::new("dsml")
        .example("<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"calculator\">\n<｜DSML｜parameter name=\"expression\" string=\"true\">6 * 7</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>")
        .wrappers(&[
            Wrapper::new("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
            Wrapper::new("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
            Wrapper::new("<｜DSML｜ calls>", "</｜DSML｜ calls>"),
        ])
        .calls(&[CallForm::tagged(DSML), CallForm::tagged(SPACED_DSML)])
        .results(ResultForm::new("<tool_result>{content}</tool_result>", "\n\n"))
        .turn_ends(&["<｜end▁of▁sentence｜>"])
        .models(&[FamilyModels::thinking("think", "deepseek-v4.x deepseek-v4 deepseek-v3.2")]),
    // Llama 3: bare JSON, or JSON after `<|python_tag|>`.
    ModelFamily::new("llama3-json")
        .example(r#"{"name": "calculator", "parameters": {"expression": "6 * 7"}}"#)
        .calls(&[open("<|python_tag|>", CallGrammar::JSON.or_text(TextRules::Python))])
        .bare(BareCall::Json)
        .turn_ends(&["<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|eot|>", "<|eom|>"])
        .models(&[FamilyModels::plain("llama-3.1 llama-3.2 llama-3.3 llama-3")]),
    // Llama 4, ToolACE, LFM2: a list of Python calls.
    ModelFamily::new("pythonic")
        .example(r#"[calculator(expression="6 * 7")]"#)
        .calls(&[
            call(
                "<|python_start|>",
                "<|python_end|>",
                CallGrammar::json(JsonShape::OneCall).or_text(TextRules::Python),
            ),
            call("<|tool_call_start|>", "<|tool_call_end|>", CallGrammar::text(TextRules::Python)),
        ])
        .bare(BareCall::Python)
        .turn_ends(&["<|eot|>", "<|eom|>", "<|eot_id|>", "<|end_of_text|>", "<|im_end|>"])
        .models(&[
            FamilyModels::plain("toolace watt-tool").tuned(),
            FamilyModels::plain("llama-4 lfm2"),
            FamilyModels::thinking("think", "lfm2.5"),
        ]),
    // Mistral: `[TOOL_CALLS]` and an array of calls (v3 to v7), or a name and the arguments (v11 on).
    // The first Magistral wrote tags as text.
    ModelFamily::new("mistral")
        .example(r#"[TOOL_CALLS]calculator[ARGS]{"expression": "6 * 7"}"#)
        .calls(&[open(
            "[TOOL_CALLS]",
            CallGrammar::json(JsonShape::CallsWithIds).or_text(TextRules::Named(HeaderStyle::MISTRAL)),
        )])
        .thinking(
            Thinking::new("mistral")
                .example("[THINK]Six times seven.[/THINK]It is 42.")
                .sections(&[Section::new("[THINK]", "[/THINK]")]),
        )
        .results(ResultForm::new("[TOOL_RESULTS]{content}[/TOOL_RESULTS]", ""))
        .models(&[
            FamilyModels::thinking("think", "magistral*2506"),
            FamilyModels::thinking("mistral", "magistral ministral-3 mistral-small-4 mistral-medium-3.5"),
            FamilyModels::plain("ministral devstral codestral mixtral pixtral voxtral mistral"),
        ]),
    // Gemma 4: call syntax with strings between markers.
    ModelFamily::new("gemma4")
        .example(r#"<|tool_call>call:calculator{expression:<|"|>6 * 7<|"|>}<tool_call|>"#)
        .wrappers(&[GEMMA_RESULTS])
        .calls(&[GEMMA_CALL, gemma_without_marker("\ncall:"), gemma_without_marker("<call>")])
        .bare(GEMMA_BARE)
        .in_auto(InAuto::As(
            KnownTools::new("gemma4").wrappers(&[GEMMA_RESULTS]).calls(&[GEMMA_CALL]).bare(GEMMA_BARE),
        ))
        .thinking(
            Thinking::new("gemma4")
                .example("<|channel>thought\nSix times seven.\n<channel|>It is 42.")
                .sections(&[
                    Section::new("<|channel>thought", "<channel|>"),
                    Section::new("<|channel>", "<channel|>"),
                ])
                .framing(1, 1, 0),
        )
        .results(ResultForm::new(
            "<|tool_response>response:{name}{value:<|\"|>{content}<|\"|>}<tool_response|>",
            "",
        ))
        .turn_ends(&["<turn|>", "<eos>"])
        .models(&[FamilyModels::thinking("gemma4", "gemma-4")]),
    // FunctionGemma: call syntax with escaped strings.
    ModelFamily::new("functiongemma")
        .example("<start_function_call>call:calculator{expression:<escape>6 * 7<escape>}<end_function_call>")
        .wrappers(&[Wrapper::of(
            Marker::exact("<start_function_response>"),
            Marker::exact("<end_function_response>"),
        )
        .around_text()])
        .calls(&[CallForm::of(
            Marker::exact("<start_function_call>"),
            Markers::One(Marker::exact("<end_function_call>")),
            CallGrammar::text(TextRules::Syntax { quote: "<escape>" }),
        )])
        .results(ResultForm::new(
            "<start_function_response>response:{name}{value:<escape>{content}<escape>}\
             <end_function_response>",
            "",
        ))
        .turn_ends(&["<end_of_turn>", "<eos>"])
        .models(&[FamilyModels::plain("functiongemma")]),
    // Harmony (gpt-oss and models with the same notation): channels, whose headers distinguish thinking from
    // text.
    ModelFamily::new("harmony")
        .example(r#"<|channel|>commentary to=functions.calculator <|constrain|>json<|message|>{"expression":"6 * 7"}<|call|>"#)
        .calls(&[
            harmony_call("<|channel|>"),
            harmony_call("<|start|>assistant"),
            harmony_call("<|start|> assistant"),
        ])
        .headers(HARMONY_HEADERS)
        .bare(BareCall::Recipient)
        .thinking(
            Thinking::new("harmony")
                .example("<|channel|>analysis<|message|>Six times seven.<|end|><|start|>assistant<|channel|>final<|message|>It is 42.<|return|>")
                .sections(&[
                    harmony_section("<|channel|>"),
                    harmony_section("<|start|>assistant"),
                    harmony_section("<|start|> assistant"),
                ])
                .headers(HARMONY_HEADERS)
                .ignored_markers(&[
                    Marker::header("<|channel|>", "<|message|>", ChannelHeader::Other),
                    Marker::header("<|start|>assistant", "<|message|>", ChannelHeader::Other),
                    Marker::header("<|start|> assistant", "<|message|>", ChannelHeader::Other),
                    Marker::exact("<|end|>"),
                    Marker::exact("<|return|>"),
                    Marker::exact("<|call|>"),
                ]),
        )
        .turn_ends(&["<|return|>", "<|end|>", "<|call|>", "<|endoftext|>"])
        .models(&[FamilyModels::thinking("harmony", "gpt-oss llm-jp-4 llm-jp-4.x")]),
    // MiniMax M2: functions and parameters in tags.
    ModelFamily::new("minimax-m2")
        .example("<minimax:tool_call>\n<invoke name=\"calculator\">\n<parameter name=\"expression\">6 * 7</parameter>\n</invoke>\n</minimax:tool_call>")
        .wrappers(&[Wrapper::new("<minimax:tool_call>", "</minimax:tool_call>")])
        .calls(&[CallForm::tagged(INVOKE)])
        .results(ResultForm::new("<response>{content}</response>", "\n"))
        .turn_ends(&["[e~["])
        .models(&[FamilyModels::inside("think", "minimax-m2.x minimax-m2")]),
    // MiniMax M3: elements after a marker. The model decides whether to think.
    ModelFamily::new("minimax-m3")
        .example("]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"calculator\">]<]minimax[>[<expression>6 * 7]<]minimax[>[</expression>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>")
        .wrappers(&[Wrapper::new("]<]minimax[>[<tool_call>", "]<]minimax[>[</tool_call>")])
        .calls(&[CallForm::front(
            Marker::exact("]<]minimax[>[<invoke"),
            CallGrammar::NONE.or_markup(MarkupRules::Elements),
        )])
        .thinking(
            Thinking::new("minimax-m3")
                .example("<mm:think>Six times seven.</mm:think>It is 42.")
                .sections(&[Section::new("<mm:think>", "</mm:think>")]),
        )
        .results(ResultForm::new("<response>{content}</response>", "\n"))
        .turn_ends(&["[e~["])
        .strays(&["]<]minimax[>[</invoke>"])
        .models(&[FamilyModels::thinking("minimax-m3", "minimax-m3")]),
];
