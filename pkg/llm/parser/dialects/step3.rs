//! Step-3 and Step-5: functions and parameters in tags.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools, Wrapper},
    grammar::Tags,
    marker::Marker,
};

/// The tags of a call.
const TAGS: Tags = Tags::new(
    ["<steptml:invoke", "</steptml:invoke>"],
    ["<steptml:parameter", "</steptml:parameter>"],
    ">",
);

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "step3",
    example: r#"<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="calculator"><steptml:parameter name="expression">6 * 7</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"#,
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::exact("<｜tool_calls_begin｜>"),
        closer: Marker::exact("<｜tool_calls_end｜>"),
    }]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<｜tool_call_begin｜>function<｜tool_sep｜>"),
        closers: Cow::Borrowed(&[Marker::exact("<｜tool_call_end｜>")]),
        grammar: Grammar::tags(TAGS),
        opener_is_payload: false,
    }]),
    bare: None,
};
