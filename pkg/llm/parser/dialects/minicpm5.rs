//! `MiniCPM` 5: functions and parameters in tags.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools},
    grammar::Tags,
    marker::Marker,
};

/// The tags of a call; a value with markup in it is a CDATA section.
const TAGS: Tags =
    Tags::new(["<function", "</function>"], ["<param", "</param>"], ">").cdata().ends_itself();

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "minicpm5",
    example: r#"<function name="calculator"><param name="expression">6 * 7</param></function>"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<function name="),
        closers: Cow::Borrowed(&[]),
        grammar: Grammar::tags(TAGS),
        opener_is_payload: true,
    }]),
    bare: None,
};
