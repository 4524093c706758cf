//! Sarashina: a marker and a list of calls, spelled as Python dictionaries.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "sarashina",
    example: "<|tool_calls|>[{'name': 'calculator', 'arguments': {'expression': '6 * 7'}}]",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<|tool_calls|>"),
        closers: Cow::Borrowed(&[]),
        grammar: Grammar::JSON,
        opener_is_payload: false,
    }]),
    bare: None,
};
