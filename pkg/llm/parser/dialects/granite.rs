//! Granite 3: a marker and an array of calls, or a marker and one call; reasoning in plain words.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, Thinking, ThinkingForm, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "granite",
    example: r#"<|tool_call|>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::exact("<|tool_call|>"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::tag("<function_call"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::tag_before("<tool_call", b"[{"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
    ]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "granite",
    example: "Here is my thought process:\n\nSix times seven.\n\nHere is my response:\n\nIt is 42.",
    sections: Cow::Borrowed(&[
        ThinkingForm {
            opener: Marker::exact("Here is my thought process:"),
            closers: Cow::Borrowed(&[
                Marker::exact("Here is my response:"),
                Marker::exact("Here's my response:"),
            ]),
            framing: Framing { after_opener: 2, before_closer: 2, after_closer: 2 },
        },
        ThinkingForm {
            opener: Marker::exact("Here's my thought process:"),
            closers: Cow::Borrowed(&[
                Marker::exact("Here is my response:"),
                Marker::exact("Here's my response:"),
            ]),
            framing: Framing { after_opener: 2, before_closer: 2, after_closer: 2 },
        },
    ]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: true,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
