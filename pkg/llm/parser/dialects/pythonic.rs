//! Llama 4, `ToolACE`, LFM2: a list of Python calls.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{Bare, CallForm, Grammar, JsonShape, Textual, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "pythonic",
    example: r#"[calculator(expression="6 * 7")]"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::exact("<|python_start|>"),
            closers: Cow::Borrowed(&[Marker::exact("<|python_end|>")]),
            grammar: Grammar {
                json: Some(JsonShape::OneCall),
                markup: None,
                text: Some(Textual::Python),
            },
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<|tool_call_start|>"),
            closers: Cow::Borrowed(&[Marker::exact("<|tool_call_end|>")]),
            grammar: Grammar::text(Textual::Python),
            opener_is_payload: false,
        },
    ]),
    bare: Some(Bare::Python),
};
