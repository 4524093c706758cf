//! `GigaChat` 3: a marker and one call; 3.5 writes functions and parameters in tags.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools, Wrapper},
    grammar::Tags,
    marker::Marker,
};

/// The tags of `GigaChat` 3.5.
const TAGS: Tags = Tags::new(
    ["<｜GCML｜invoke", "</｜GCML｜invoke>"],
    ["<｜GCML｜parameter", "</｜GCML｜parameter>"],
    ">",
)
.ends_itself();

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "gigachat3",
    example: r#"<|function_call|>{"name": "calculator", "arguments": {"expression": "6 * 7"}}"#,
    wrappers: Cow::Borrowed(&[
        Wrapper {
            opener: Marker::exact("<|message_sep|>\n\n"),
            closer: Marker::exact("<|role_sep|>"),
        },
        Wrapper {
            opener: Marker::exact("<｜GCML｜tool_calls>"),
            closer: Marker::exact("</｜GCML｜tool_calls>"),
        },
    ]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::exact("<|function_call|>"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<|message_sep|>\n\nfunction call<|role_sep|>\n"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<｜GCML｜invoke"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::tags(TAGS),
            opener_is_payload: true,
        },
    ]),
    bare: None,
};
