//! Hermes: JSON in `<tool_call>`, as Qwen 2.5 and 3, Granite 4 and many others write it.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, JsonShape, Markup, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "hermes",
    example: "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</tool_call>",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag("<tool_call"),
        closers: Cow::Borrowed(&[Marker::tag("</tool_call")]),
        grammar: Grammar {
            json: Some(JsonShape::Calls),
            markup: Some(Markup::Tags(super::qwen3_coder::TAGS)),
            text: None,
        },
        opener_is_payload: false,
    }]),
    bare: None,
};
