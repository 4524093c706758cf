//! K2-Horizon: JSON, or a name with keys and values.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{
        CallForm, Framing, Grammar, JsonShape, Textual, Thinking, ThinkingForm, Tools, Wrapper,
    },
    grammar::Tags,
    marker::Marker,
};

/// The tags of a call.
const TAGS: Tags =
    Tags::pairs(["<ifm|arg_key>", "</ifm|arg_key>"], ["<ifm|arg_value>", "</ifm|arg_value>"], "")
        .kind(["<ifm|arg_type>", "</ifm|arg_type>"]);

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "k2-horizon",
    example: "<ifm|tool_calls>\n<ifm|tool_call>calculator\n<ifm|arg_key>expression</ifm|arg_key>\n<ifm|arg_value>6 * 7</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>",
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::exact("<ifm|tool_calls>"),
        closer: Marker::exact("</ifm|tool_calls>"),
    }]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<ifm|tool_call>"),
        closers: Cow::Borrowed(&[Marker::exact("</ifm|tool_call>")]),
        grammar: Grammar {
            json: Some(JsonShape::Calls),
            markup: None,
            text: Some(Textual::Tags(TAGS)),
        },
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "k2-v3",
    example: "<ifm|think>Six times seven.</ifm|think>It is 42.",
    sections: Cow::Borrowed(&[
        ThinkingForm {
            opener: Marker::exact("<ifm|think>"),
            closers: Cow::Borrowed(&[Marker::exact("</ifm|think>")]),
            framing: Framing::THINK,
        },
        ThinkingForm {
            opener: Marker::exact("<ifm|think_fast>"),
            closers: Cow::Borrowed(&[Marker::exact("</ifm|think_fast>")]),
            framing: Framing::THINK,
        },
        ThinkingForm {
            opener: Marker::exact("<ifm|think_faster>"),
            closers: Cow::Borrowed(&[Marker::exact("</ifm|think_faster>")]),
            framing: Framing::THINK,
        },
    ]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
