//! Olmo 3: Python calls, one a line.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Textual, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "olmo3",
    example: r#"<function_calls>calculator(expression="6 * 7")</function_calls>"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag("<function_calls"),
        closers: Cow::Borrowed(&[Marker::tag("</function_calls")]),
        grammar: Grammar::text(Textual::Python),
        opener_is_payload: false,
    }]),
    bare: None,
};
