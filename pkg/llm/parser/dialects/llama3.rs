//! Llama 3: bare JSON, or JSON behind `<|python_tag|>`.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{Bare, CallForm, Grammar, JsonShape, Textual, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "llama3-json",
    example: r#"{"name": "calculator", "parameters": {"expression": "6 * 7"}}"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<|python_tag|>"),
        closers: Cow::Borrowed(&[]),
        grammar: Grammar {
            json: Some(JsonShape::Calls),
            markup: None,
            text: Some(Textual::Python),
        },
        opener_is_payload: false,
    }]),
    bare: Some(Bare::Json),
};
