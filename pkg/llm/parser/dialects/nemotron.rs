//! Nemotron (Deci, Ultra, Nano 2): an array of calls in `<TOOLCALL>`.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "nemotron",
    example: r#"<TOOLCALL>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</TOOLCALL>"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag("<TOOLCALL"),
        closers: Cow::Borrowed(&[Marker::tag("</TOOLCALL")]),
        grammar: Grammar::JSON,
        opener_is_payload: false,
    }]),
    bare: None,
};
