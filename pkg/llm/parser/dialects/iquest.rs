//! `IQuest` Q1: a name with keys and values, as GLM writes them, in a tag of its own.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, JsonShape, Textual, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "iquest",
    example: "<iquest_tool_call>calculator<arg_key>expression</arg_key><arg_value>6 * 7</arg_value></iquest_tool_call>",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag("<iquest_tool_call"),
        closers: Cow::Borrowed(&[Marker::tag("</iquest_tool_call")]),
        grammar: Grammar {
            json: Some(JsonShape::Calls),
            markup: None,
            text: Some(Textual::Tags(super::glm::TAGS)),
        },
        opener_is_payload: false,
    }]),
    bare: None,
};
