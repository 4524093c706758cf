//! `FunctionGemma`: call syntax with escaped strings.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Textual, Tools, Wrapper},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "functiongemma",
    example: "<start_function_call>call:calculator{expression:<escape>6 * 7<escape>}<end_function_call>",
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::exact("<start_function_response>"),
        closer: Marker::exact("<end_function_response>"),
    }]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<start_function_call>"),
        closers: Cow::Borrowed(&[Marker::exact("<end_function_call>")]),
        grammar: Grammar::text(Textual::Syntax { quote: "<escape>" }),
        opener_is_payload: false,
    }]),
    bare: None,
};
