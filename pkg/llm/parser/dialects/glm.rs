//! GLM: a name, then keys and values in tags.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, JsonShape, Textual, Tools},
    grammar::Tags,
    marker::Marker,
};

/// The tags of GLM: a name, then keys and values.
pub(in crate::llm::parser) const TAGS: Tags =
    Tags::pairs(["<arg_key>", "</arg_key>"], ["<arg_value>", "</arg_value>"], "");

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "glm",
    example: "<tool_call>calculator\n<arg_key>expression</arg_key>\n<arg_value>6 * 7</arg_value>\n</tool_call>",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag("<tool_call"),
        closers: Cow::Borrowed(&[Marker::tag("</tool_call")]),
        grammar: Grammar {
            json: Some(JsonShape::Calls),
            markup: None,
            text: Some(Textual::Tags(TAGS)),
        },
        opener_is_payload: false,
    }]),
    bare: None,
};
