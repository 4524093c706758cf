//! Plamo 3: a marker around every part.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, Textual, Thinking, ThinkingForm, Tools, Wrapper},
    grammar::HeaderStyle,
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "plamo3",
    example: r#"<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>calculator<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{"expression": "6 * 7"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>"#,
    wrappers: Cow::Borrowed(&[
        Wrapper { opener: Marker::exact("<|plamo:tag|>"), closer: Marker::exact("<|plamo:end|>") },
        Wrapper {
            opener: Marker::exact("<|plamo:begin_tool_requests:plamo|>"),
            closer: Marker::exact("<|plamo:end_tool_requests:plamo|>"),
        },
        Wrapper {
            opener: Marker::exact("<|plamo:begin_tool_request:plamo|>"),
            closer: Marker::exact("<|plamo:end_tool_request:plamo|>"),
        },
    ]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<|plamo:begin_tool_name:plamo|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|plamo:end_tool_arguments:plamo|>")]),
        grammar: Grammar::text(Textual::Named(HeaderStyle::between(
            "<|plamo:end_tool_name:plamo|>",
            "<|plamo:msg|>",
        ))),
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "plamo3",
    example: "<|plamo:begin_think:plamo|>Six times seven.<|plamo:end_think:plamo|>It is 42.",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::exact("<|plamo:begin_think:plamo|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|plamo:end_think:plamo|>")]),
        framing: Framing::NONE,
    }]),
    ignored: Cow::Borrowed(&[Marker::exact("<|plamo:tag|>")]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
