//! Jamba: an array of calls in `<tool_calls>`, as `MiniMax` M1 and Hunyuan A13B write it too.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "jamba",
    example: r#"<tool_calls>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</tool_calls>"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag("<tool_calls"),
        closers: Cow::Borrowed(&[Marker::tag("</tool_calls")]),
        grammar: Grammar::JSON,
        opener_is_payload: false,
    }]),
    bare: None,
};
