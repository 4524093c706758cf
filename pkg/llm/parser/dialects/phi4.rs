//! Phi-4-mini: `functools` and an array of calls.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools, Wrapper},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "phi4",
    example: r#"functools[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#,
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::exact("<|tool_calls|>"),
        closer: Marker::exact("<|/tool_call|>"),
    }]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::before("functools", b"["),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<|tool_call|>"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
    ]),
    bare: None,
};
