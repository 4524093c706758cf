//! Phi-4-mini: `functools` and an array of calls.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "phi4",
    example: r#"functools[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::before_list("functools"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<|tool_call|>"),
            closers: Cow::Borrowed(&[Marker::exact("<|/tool_call|>")]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
    ]),
    bare: None,
};
