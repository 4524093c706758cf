//! Kimi K2: sections of calls, each with an id that holds its name.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, Textual, Thinking, ThinkingForm, Tools, Wrapper},
    grammar::HeaderStyle,
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "kimi-k2",
    example: r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.calculator:0<|tool_call_argument_begin|>{"expression": "6 * 7"}<|tool_call_end|><|tool_calls_section_end|>"#,
    wrappers: Cow::Borrowed(&[
        Wrapper {
            opener: Marker::exact("<|tool_calls_section_begin|>"),
            closer: Marker::exact("<|tool_calls_section_end|>"),
        },
        Wrapper {
            opener: Marker::exact("<|tool_call_section_begin|>"),
            closer: Marker::exact("<|tool_call_section_end|>"),
        },
    ]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<|tool_call_begin|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|tool_call_end|>")]),
        grammar: Grammar::text(Textual::Named(HeaderStyle::KIMI)),
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "kimi-legacy",
    example: "◁think▷Six times seven.◁/think▷It is 42.",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::exact("◁think▷"),
        closers: Cow::Borrowed(&[Marker::exact("◁/think▷")]),
        framing: Framing::THINK,
    }]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
