//! Qwen3-Coder: functions and parameters in tags.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, JsonShape, Markup, Tools},
    grammar::Tags,
    marker::Marker,
};

/// The tags of Qwen3-Coder; one line end each side of a value is framing.
pub(in crate::llm::parser) const TAGS: Tags =
    Tags::new(["<function", "</function>"], ["<parameter", "</parameter>"], ">").framing();

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "qwen3-coder",
    example: "<tool_call>\n<function=calculator>\n<parameter=expression>\n6 * 7\n</parameter>\n</function>\n</tool_call>",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::tag("<tool_call"),
            closers: Cow::Borrowed(&[Marker::tag("</tool_call")]),
            grammar: Grammar {
                json: Some(JsonShape::Calls),
                markup: Some(Markup::Tags(TAGS)),
                text: None,
            },
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<function="),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::tags(TAGS.ends_itself()),
            opener_is_payload: true,
        },
    ]),
    bare: None,
};
