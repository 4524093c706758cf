//! DeepSeek V3.1: a name and the arguments.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Textual, Tools, Wrapper},
    grammar::HeaderStyle,
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "deepseek-v31",
    example: r#"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>calculator<｜tool▁sep｜>{"expression": "6 * 7"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"#,
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::exact("<｜tool▁calls▁begin｜>"),
        closer: Marker::exact("<｜tool▁calls▁end｜>"),
    }]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<｜tool▁call▁begin｜>"),
        closers: Cow::Borrowed(&[Marker::exact("<｜tool▁call▁end｜>")]),
        grammar: Grammar::text(Textual::Named(HeaderStyle::DEEPSEEK)),
        opener_is_payload: false,
    }]),
    bare: None,
};
