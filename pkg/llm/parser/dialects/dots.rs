//! dots: functions and parameters in tags, or JSON.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools, Wrapper},
    grammar::Tags,
    marker::Marker,
};

/// The tags of a call.
const TAGS: Tags =
    Tags::new(["<invoke", "</invoke>"], ["<parameter", "</parameter>"], ">").ends_itself();

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "dots",
    example: "<dots_function_call>\n<invoke name=\"calculator\">\n<parameter name=\"expression\">6 * 7</parameter>\n</invoke>\n</dots_function_call>",
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::tag_before("<dots_function_call", b"<"),
        closer: Marker::tag("</dots_function_call"),
    }]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::exact("<invoke"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::tags(TAGS),
            opener_is_payload: true,
        },
        CallForm {
            opener: Marker::tag_before("<dots_function_call", b"{["),
            closers: Cow::Borrowed(&[Marker::tag("</dots_function_call")]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
    ]),
    bare: None,
};
