//! The models of Sber, Baidu, AI2, Salesforce, Xiaohongshu, `OpenBMB`, `IQuest`, LLM360, SB Intuitions,
//! Preferred Networks and others, and forms that belong to a server or a client.

use super::{
    family::{FamilyModels, InAuto, ModelFamily, call, named, open},
    results::ResultForm,
};
use crate::{
    ahead::shape::ChannelHeader,
    builder::{
        CallForm, Section, ThinkingDialectBuilder as Thinking, ToolDialectBuilder as KnownTools,
        Wrapper,
        description::{BareCall, CallGrammar, Markers, TextRules},
    },
    grammar::{HeaderStyle, Tags},
    marker::Marker,
};

/// The tags of `GigaChat` 3.5.
const GIGACHAT: Tags = Tags::new(
    ["<｜GCML｜invoke", "</｜GCML｜invoke>"],
    ["<｜GCML｜parameter", "</｜GCML｜parameter>"],
    ">",
);
/// The tags of a call of `MiniCPM` 5; a value with markup in it is a CDATA section.
const MINICPM: Tags =
    Tags::new(["<function", "</function>"], ["<param", "</param>"], ">").cdata().ends_itself();
/// The tags of a call of K2-Horizon.
const IFM: Tags =
    Tags::pairs(["<ifm|arg_key>", "</ifm|arg_key>"], ["<ifm|arg_value>", "</ifm|arg_value>"], "")
        .kind(["<ifm|arg_type>", "</ifm|arg_type>"]);
/// The tags of a call of Muse.
const ATEM: Tags =
    Tags::new(["<atem:invoke", "</atem:invoke>"], ["<atem:parameter", "</atem:parameter>"], ">");

/// A name with keys and values, as GLM writes them.
const IQUEST_CALL: CallGrammar = CallGrammar::JSON.or_text(TextRules::Tags(super::shared::GLM));
const IQUEST: CallForm<'static> = call("<iquest_tool_call>", "</iquest_tool_call>", IQUEST_CALL);
const IQUEST_CODER: CallForm<'static> =
    call("<iquestcoder_tool_call>", "</iquestcoder_tool_call>", IQUEST_CALL);

const MUSE_CALLS: Wrapper<'static> =
    Wrapper::of(Marker::exact("<atem:function_calls>"), Marker::exact("</atem:function_calls>"));
const MUSE_END: Marker<'static> = Marker::exact("<|eot|>");
const MUSE_END_OF_CHANNEL: Marker<'static> = Marker::exact("<|eom|>");
/// The first header begins in the prompt, up to this marker.
const MUSE_FIRST: Marker<'static> = Marker::header("to=", "<|message|>", ChannelHeader::Name);
const MUSE_NEXT: Marker<'static> =
    Marker::header("<|start|>assistant to=", "<|message|>", ChannelHeader::Name);
/// A header without a recipient, which means the user.
const MUSE_FIRST_PLAIN: Marker<'static> = Marker::exact("<|message|>");
const MUSE_NEXT_PLAIN: Marker<'static> = Marker::exact("<|start|>assistant<|message|>");
const MUSE_FIRST_USER: Marker<'static> = Marker::exact("to=user<|message|>");
const MUSE_NEXT_USER: Marker<'static> = Marker::exact("<|start|>assistant to=user<|message|>");

const INKLING_JSON: Marker<'static> =
    Marker::header("<|message_model|>", "<|content_invoke_tool_json|>", ChannelHeader::Name);
const INKLING_TEXT: Marker<'static> =
    Marker::header("<|message_model|>", "<|content_invoke_tool_text|>", ChannelHeader::Name);

/// Describes a call of Inkling, whose header may name the tool.
const fn inkling(opener: Marker<'static>, style: HeaderStyle) -> CallForm<'static> {
    let closers = Markers::One(Marker::exact("<|end_message|>"));
    CallForm::of(opener, closers, CallGrammar::text(TextRules::Named(style))).opener_is_payload()
}

/// Describes a call of Hugind: JSON, tags or call syntax, ended by any of its markers.
const fn hugind(opener: &'static str) -> CallForm<'static> {
    CallForm::of(
        Marker::spelled(opener),
        Markers::Spelled(&["</tool_call>", "<tool_call|>", "<|/tool_call|>"]),
        super::shared::JSON_OR_QWEN.or_text(super::vendors::GEMMA),
    )
}

/// The tags around an answer.
pub(super) const RESPONSE: &[Marker<'static>] =
    &[Marker::tag("<response"), Marker::tag("\n</response"), Marker::tag("</response")];

pub(super) const FAMILIES: &[ModelFamily] = &[
    // GigaChat 3: a marker and one call; 3.5 writes functions and parameters in tags.
    ModelFamily::new("gigachat3")
        .example(r#"<|function_call|>{"name": "calculator", "arguments": {"expression": "6 * 7"}}"#)
        .wrappers(&[
            Wrapper::new("<|message_sep|>\n\n", "<|role_sep|>").around_text(),
            Wrapper::new("<｜GCML｜tool_calls>", "</｜GCML｜tool_calls>"),
        ])
        .calls(&[
            open("<|function_call|>", CallGrammar::JSON),
            open("<|message_sep|>\n\nfunction call<|role_sep|>\n", CallGrammar::JSON),
            CallForm::tagged(GIGACHAT),
        ])
        .bare(BareCall::Word("function call<|role_sep|>\n"))
        .turn_ends(&["<|message_sep|>"])
        .models(&[
            FamilyModels::inside("think", "gigachat-3.5"),
            FamilyModels::plain("gigachat-3.1 gigachat-3"),
        ]),
    // Ernie 4.5: JSON in `<tool_call>`; answers are in `<response>`. The thinking builds have the
    // opener in the prompt.
    ModelFamily::new("ernie45")
        .example("<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</tool_call>")
        .calls(&[call("<tool_call>", "</tool_call>", CallGrammar::JSON)])
        .own_thinking(
            Thinking::new("ernie45")
                .example("<think>\nSix times seven.\n</think>\n\n<response>\nIt is 42.\n</response>")
                .sections(&[Section::new("<think>", "</think>")])
                .framing(1, 1, 3)
                .ignored_markers(RESPONSE)
                .after_ignored(1)
                .starts_inside(),
        )
        .in_auto(InAuto::Nothing)
        .results(ResultForm::TOOL_RESPONSE)
        .turn_ends(&["<|end_of_sentence|>"])
        .models(&[
            FamilyModels::inside("ernie45", "ernie-4.5*thinking"),
            FamilyModels::plain("ernie-4.5"),
        ]),
    // Olmo 3: Python calls, one per line.
    ModelFamily::new("olmo3")
        .example(r#"<function_calls>calculator(expression="6 * 7")</function_calls>"#)
        .calls(&[call("<function_calls>", "</function_calls>", CallGrammar::text(TextRules::Python))])
        .turn_ends(&["<|im_end|>", "<|endoftext|>"])
        .models(&[
            FamilyModels::inside("think", "olmo-3*think olmo-3.x*think"),
            FamilyModels::plain("olmo-3 olmo-3.x"),
        ]),
    // xLAM: a bare array of calls, or one in `<tool_call>`.
    ModelFamily::new("xlam")
        .example(r#"[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#)
        .calls(&[
            call("<tool_call>", "</tool_call>", CallGrammar::JSON),
            open("[TOOL_CALLS]", CallGrammar::JSON),
        ])
        .bare(BareCall::Json)
        .in_auto(InAuto::Nothing)
        .turn_ends(&["<|eot_id|>", "<|im_end|>"])
        .models(&[FamilyModels::plain("xlam").tuned()]),
    // dots: functions and parameters in tags, or JSON.
    ModelFamily::new("dots")
        .example("<dots_function_call>\n<invoke name=\"calculator\">\n<parameter name=\"expression\">6 * 7</parameter>\n</invoke>\n</dots_function_call>")
        .wrappers(&[Wrapper::of(
            Marker::tag("<dots_function_call").before(b"<"),
            Marker::tag("</dots_function_call"),
        )])
        .calls(&[
            CallForm::tagged(super::vendors::INVOKE),
            CallForm::of(
                Marker::tag("<dots_function_call").before(b"{["),
                Markers::One(Marker::tag("</dots_function_call")),
                CallGrammar::JSON,
            ),
        ])
        .turn_ends(&["<|endofassistant|>", "<|endofresponse|>"])
        .models(&[FamilyModels::thinking("auto", "dots")]),
    // MiniCPM 5: functions and parameters in tags.
    ModelFamily::new("minicpm5")
        .example(r#"<function name="calculator"><param name="expression">6 * 7</param></function>"#)
        .calls(&[
            CallForm::front(Marker::exact("<function name="), CallGrammar::tags(MINICPM)),
            // Decoders lose the tokenizer's space, or show it as the letter that stands for it.
            CallForm::front(Marker::exact("<functionname="), CallGrammar::tags(MINICPM)),
            CallForm::front(Marker::exact("<function\u{120}name="), CallGrammar::tags(MINICPM)),
        ])
        .results(ResultForm::TOOL_RESPONSE)
        .turn_ends(&["<|im_end|>"])
        .models(&[FamilyModels::inside("think", "minicpm5")]),
    // IQuest: a name with keys and values, as GLM writes them, in a tag of its own (Coder 2, Q1), or
    // the tags of Qwen3-Coder (Coder 1).
    ModelFamily::new("iquest")
        .example("<iquest_tool_call>calculator<arg_key>expression</arg_key><arg_value>6 * 7</arg_value></iquest_tool_call>")
        .calls(&[
            IQUEST,
            IQUEST_CODER,
            call("<tool_call>", "</tool_call>", super::shared::JSON_OR_QWEN),
            super::shared::OPEN_QWEN,
        ])
        .in_auto(InAuto::As(KnownTools::new("iquest").calls(&[IQUEST, IQUEST_CODER])))
        .turn_ends(&["<|im_end|>"])
        .models(&[FamilyModels::inside("think", "iquest iquest-coder-v2")]),
    // K2-Horizon: JSON, or a name with keys and values.
    ModelFamily::new("k2-horizon")
        .example("<ifm|tool_calls>\n<ifm|tool_call>calculator\n<ifm|arg_key>expression</ifm|arg_key>\n<ifm|arg_value>6 * 7</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>")
        .wrappers(&[Wrapper::new("<ifm|tool_calls>", "</ifm|tool_calls>")])
        .calls(&[call(
            "<ifm|tool_call>",
            "</ifm|tool_call>",
            CallGrammar::JSON.or_text(TextRules::Tags(IFM)),
        )])
        .thinking(
            Thinking::new("k2-v3")
                .example("<ifm|think>Six times seven.</ifm|think>It is 42.")
                .sections(&[
                    Section::new("<ifm|think>", "</ifm|think>"),
                    Section::new("<ifm|think_fast>", "</ifm|think_fast>"),
                    Section::new("<ifm|think_faster>", "</ifm|think_faster>"),
                ])
                .framing(1, 1, 2),
        )
        .models(&[FamilyModels::inside("k2-v3", "k2-horizon k2-v3 k2-think-v3")]),
    // Sarashina: a marker and a list of calls, spelled as Python dictionaries.
    ModelFamily::new("sarashina")
        .example("<|tool_calls|>[{'name': 'calculator', 'arguments': {'expression': '6 * 7'}}]")
        .calls(&[open("<|tool_calls|>", CallGrammar::JSON)])
        .models(&[FamilyModels::plain("sarashina-2.x sarashina")]),
    // Plamo 3: a marker around every part.
    ModelFamily::new("plamo3")
        .example(r#"<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>calculator<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{"expression": "6 * 7"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>"#)
        .wrappers(&[
            Wrapper::new("<|plamo:tag|>", "<|plamo:end|>").around_text(),
            Wrapper::new(
                "<|plamo:begin_tool_requests:plamo|>",
                "<|plamo:end_tool_requests:plamo|>",
            ),
            Wrapper::new(
                "<|plamo:begin_tool_request:plamo|>",
                "<|plamo:end_tool_request:plamo|>",
            ),
        ])
        .calls(&[named(
            "<|plamo:begin_tool_name:plamo|>",
            "<|plamo:end_tool_arguments:plamo|>",
            HeaderStyle::between("<|plamo:end_tool_name:plamo|>", "<|plamo:msg|>"),
        )])
        .thinking(
            Thinking::new("plamo3")
                .example("<|plamo:begin_think:plamo|>Six times seven.<|plamo:end_think:plamo|>It is 42.")
                .sections(&[Section::new("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>")])
                .ignored(&["<|plamo:tag|>"]),
        )
        .turn_ends(&["<|plamo:eot:plamo|>", "<|plamo:op|>"])
        .models(&[FamilyModels::inside("plamo3", "plamo-3")]),
    // Inkling: blocks with a marker for their content; the block of a call begins with the call's name. The
    // prompt ends with the marker of the first block, so a message may begin with a name.
    ModelFamily::new("inkling")
        .example(r#"<|message_model|>calculator<|content_invoke_tool_json|>{"name":"calculator","args":{"expression":"6 * 7"}}<|end_message|>"#)
        .wrappers(&[
            Wrapper::new("<|content_text|>", "<|end_message|>").around_text(),
            Wrapper::new("<|content_tool_error|>", "<|end_message|>").around_text(),
            Wrapper::new("<|message_model|>", "<|content_model_end_sampling|>").around_text(),
        ])
        .calls(&[
            inkling(INKLING_JSON, HeaderStyle::INKLING),
            inkling(INKLING_TEXT, HeaderStyle::INKLING_TEXT),
            inkling(Marker::exact("<|content_invoke_tool_json|>"), HeaderStyle::INKLING),
            inkling(Marker::exact("<|content_invoke_tool_text|>"), HeaderStyle::INKLING_TEXT),
        ])
        .bare(BareCall::Name("<|content_invoke_tool_json|>"))
        .thinking(
            Thinking::new("inkling")
                .example("<|content_thinking|>Six times seven.<|end_message|><|message_model|><|content_text|>It is 42.<|end_message|><|content_model_end_sampling|>")
                .sections(&[Section::new("<|content_thinking|>", "<|end_message|>")])
                .headers(&[Marker::exact("<|content_text|>"), Marker::exact("<|message_model|>")])
                .ignored(&[
                    "<|content_text|>",
                    "<|content_tool_error|>",
                    "<|end_message|>",
                    "<|message_model|>",
                    "<|content_model_end_sampling|>",
                ]),
        )
        .turn_ends(&["<|end_message|>", "<|content_model_end_sampling|>"])
        .models(&[FamilyModels::thinking("inkling", "inkling")]),
    // Muse: a message for each channel, whose header names the recipient; messages for the user contain
    // no calls. Calls are functions and parameters in tags. In `auto` the headers do not count, because the first is part of the prompt.
    ModelFamily::new("muse")
        .example("<atem:function_calls>\n<atem:invoke name=\"calculator\">\n<atem:parameter name=\"expression\">6 * 7</atem:parameter>\n</atem:invoke>\n</atem:function_calls>")
        .wrappers(&[
            MUSE_CALLS,
            Wrapper::of(MUSE_FIRST_USER, MUSE_END).around_prose(),
            Wrapper::of(MUSE_FIRST_PLAIN, MUSE_END).around_prose(),
            Wrapper::of(MUSE_NEXT_USER, MUSE_END_OF_CHANNEL).around_prose(),
            Wrapper::of(MUSE_NEXT_PLAIN, MUSE_END_OF_CHANNEL).around_prose(),
            Wrapper::of(MUSE_FIRST, MUSE_END).around_text(),
            Wrapper::of(MUSE_NEXT, MUSE_END_OF_CHANNEL).around_text(),
        ])
        .calls(&[CallForm::tagged(ATEM)])
        .own_thinking(
            Thinking::new("muse")
                .example("<|start|>assistant to=self<|message|>Six times seven.<|eom|><|start|>assistant to=user<|message|>It is 42.<|eot|>")
                .sections(&[
                    Section::with_closers("to=self<|message|>", &["<|eom|>", "<|eot|>"]),
                    Section::with_closers(
                        "<|start|>assistant to=self<|message|>",
                        &["<|eom|>", "<|eot|>"],
                    ),
                ])
                .headers(&[MUSE_NEXT, MUSE_NEXT_PLAIN, MUSE_FIRST])
                .ignored_markers(&[
                    MUSE_FIRST,
                    MUSE_FIRST_PLAIN,
                    MUSE_NEXT,
                    MUSE_NEXT_PLAIN,
                    MUSE_END_OF_CHANNEL,
                    MUSE_END,
                ]),
        )
        .in_auto(InAuto::As(
            KnownTools::new("muse").wrappers(&[MUSE_CALLS]).calls(&[CallForm::tagged(ATEM)]),
        ))
        .results(ResultForm::new("<tool_output name=\"{name}\">\n{content}\n</tool_output>", "\n"))
        .turn_ends(&["<|eot|>", "<|eom|>"])
        .models(&[FamilyModels::thinking("muse", "muse-glimmer")]),
    // JSON enforced by a grammar on any model (`tool_choice` required).
    ModelFamily::new("guided")
        .example(r#"[{"name": "calculator", "parameters": {"expression": "6 * 7"}}]"#)
        .bare(BareCall::Json)
        .in_auto(InAuto::Nothing),
    // Hugind: three families of markers, each with JSON or call syntax.
    ModelFamily::new("hugind")
        .example(r#"<tool_call>{"name": "calculator", "args": {"expression": "6 * 7"}}</tool_call>"#)
        .calls(&[hugind("<tool_call>"), hugind("<|tool_call>"), hugind("<|tool_call|>")])
        .in_auto(InAuto::Nothing)
        .turn_ends(&["<|im_end|>", "<|eot_id|>", "<turn|>", "<eos>"])
        .results(ResultForm::new("[{name}] {content}", "\n\n").within("Tool results:\n\n", "")),
];
