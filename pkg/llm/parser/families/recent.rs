//! The models of Upstage, `ServiceNow`, Huawei, NAVER, Poolside and RWKV, and
//! earlier ones of Alibaba.

use super::{
    family::{FamilyModels, InAuto, ModelFamily, call, named},
    results::ResultForm,
    shared::{GLM, HUNYUAN, JSON_OR_QWEN},
};
use crate::{
    builder::{
        CallForm, Section, ThinkingDialectBuilder as Thinking, Wrapper,
        description::{BareCall, CallGrammar, Markers, TextRules},
    },
    grammar::{HeaderStyle, Tags},
    marker::Marker,
};

/// The tags of a call of Solar Open 2: a key, its end marker, the value.
const SOLAR: Tags =
    Tags::pairs(["<|tool_arg:start|>", "<|tool_arg:value|>"], ["", "<|tool_arg:end|>"], "");
/// The tags of `HyperCLOVA` X: those of GLM, with values that are JSON.
const CLOVA: Tags = GLM.json();

pub(super) const FAMILIES: &[ModelFamily] = &[
    // Solar Open 2: a name, then keys and values between special tokens.
    ModelFamily::new("solar-open2")
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
        .models(&[FamilyModels::inside("solar-open2", "solar-open-2")]),
    // Solar Open: parts of an answer, each with a token for its kind; calls have an id.
    ModelFamily::new("solar-open")
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
        .models(&[FamilyModels::thinking("solar-open", "solar-open")]),
    // Qwen2.5-Coder: JSON in `<tools>`, the tag with which its prompt lists the tools, or as Hermes writes it. The
    // tag has another meaning elsewhere, so `auto` does not read it.
    ModelFamily::new("qwen25-coder")
        .example("<tools>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</tools>")
        .calls(&[
            call("<tools>", "</tools>", CallGrammar::JSON),
            call("<tool_call>", "</tool_call>", JSON_OR_QWEN),
        ])
        .in_auto(InAuto::Nothing)
        .results(ResultForm::TOOL_RESPONSE)
        .turn_ends(&["<|im_end|>", "<|endoftext|>"])
        .models(&[FamilyModels::plain("qwen2.5-coder")]),
    // Apriel: an array of calls in `<tool_calls>`, as Jamba writes it; the answer begins after a marker.
    ModelFamily::new("apriel")
        .example(r#"<tool_calls>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</tool_calls>"#)
        .calls(&[call("<tool_calls>", "</tool_calls>", CallGrammar::JSON)])
        .in_auto(InAuto::Nothing)
        .own_thinking(
            Thinking::new("apriel")
                .example("Here are my reasoning steps:\nSix times seven.\n[BEGIN FINAL RESPONSE]\nIt is 42.")
                .sections(&[Section::new("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]")])
                .framing(1, 1, 1)
                .ignored(&["\n[END FINAL RESPONSE]", "[END FINAL RESPONSE]"])
                .starts_inside(),
        )
        .turn_ends(&["<|end|>", "<|endoftext|>"])
        .models(&[
            FamilyModels::inside("apriel", "apriel apriel-nemotron").tuned(),
        ]),
    // openPangu: an array of calls between special tokens, which are unnamed in some vocabularies.
    ModelFamily::new("pangu")
        .example(r#"<|tool_call_start|>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]<|tool_call_end|>"#)
        .calls(&[
            call("<|tool_call_start|>", "<|tool_call_end|>", CallGrammar::JSON),
            call("[unused11]", "[unused12]", CallGrammar::JSON),
        ])
        .in_auto(InAuto::Nothing)
        .own_thinking(
            Thinking::new("pangu")
                .example("[unused16]Six times seven.[unused17]It is 42.")
                .sections(&[
                    Section::new("<think>", "</think>"),
                    Section::new("[unused16]", "[unused17]"),
                ])
                .framing(1, 1, 2),
        )
        .turn_ends(&["[unused10]", "<|im_end|>"])
        .models(&[FamilyModels::thinking("pangu", "openpangu pangu")]),
    // HyperCLOVA X: a name with keys and JSON values; the 14B writes an array of calls after a role, and
    // either may be forced to write only the array.
    ModelFamily::new("hyperclovax")
        .example("<tool_call>calculator\n<arg_key>expression</arg_key>\n<arg_value>\"6 * 7\"</arg_value>\n</tool_call>")
        .calls(&[
            call("<tool_call>", "</tool_call>", CallGrammar::JSON.or_text(TextRules::Tags(CLOVA))),
            CallForm::open(Marker::exact("-> tool/function_call\n"), CallGrammar::JSON),
        ])
        .bare(BareCall::Json)
        .in_auto(InAuto::Nothing)
        .own_thinking(
            Thinking::new("hyperclovax")
                .example("<think>\nSix times seven.\n</think>\n\nIt is 42.")
                .sections(&[
                    Section::new("<think>", "</think>"),
                    Section::new("/think\n", "<|im_end|>\n<|im_start|>assistant"),
                ])
                .framing(1, 1, 3),
        )
        .results(ResultForm::TOOL_RESPONSE)
        .turn_ends(&["<|im_end|>", "<|stop|>", "<|endofturn|>"])
        .models(&[FamilyModels::thinking("hyperclovax", "hyperclovax")]),
    // RWKV: a headline, and one call in a fence.
    ModelFamily::new("rwkv")
        .example("**Tool Call:**\n```json\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n```")
        .calls(&[call("**Tool Call:**\n```json", "```", CallGrammar::JSON)])
        .in_auto(InAuto::Nothing)
        .models(&[FamilyModels::thinking("think", "rwkv rwkv-7")]),
    // Laguna: the tags of GLM.
    ModelFamily::new("poolside")
        .example("<tool_call>calculator<arg_key>expression</arg_key><arg_value>6 * 7</arg_value></tool_call>")
        .calls(&[call("<tool_call>", "</tool_call>", CallGrammar::JSON.or_text(TextRules::Tags(GLM)))])
        .in_auto(InAuto::Nothing)
        .results(ResultForm::TOOL_RESPONSE)
        .turn_ends(&["</assistant>", "<|user|>", "<|observation|>"]),
    // Hunyuan 4: keys and values in tags that may have a suffix.
    ModelFamily::new("hy4")
        .example("<tool_calls><tool_call>calculator<tool_sep><arg_key>expression</arg_key><arg_value>6 * 7</arg_value></tool_call></tool_calls>")
        .wrappers(&[Wrapper::of(
            Marker::suffixed_tag("<tool_calls"),
            Marker::suffixed_tag("</tool_calls"),
        )])
        .calls(&[CallForm::of(
            Marker::suffixed_tag("<tool_call"),
            Markers::One(Marker::suffixed_tag("</tool_call")),
            CallGrammar::JSON.or_text(TextRules::Tags(HUNYUAN)),
        )])
        .in_auto(InAuto::Nothing)
        .results(
            ResultForm::TOOL_RESPONSE.within("<tool_responses>\n", "\n</tool_responses>"),
        )
        .turn_ends(&["<|eos|>", "<｜hy_eos｜>", "<｜hy_eos:opensource｜>"]),
    // MiniCPM-V: the tags of most open models.
    ModelFamily::of_thinking(
        Thinking::new("minicpm-v")
            .example("<think>\nSix times seven.\n</think>\n\nIt is 42.")
            .sections(&[Section::new("<think>", "</think>")])
            .framing(1, 1, 2),
    ),
];
