//! xLAM: a bare array of calls, or one in `<tool_call>`.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{Bare, CallForm, Grammar, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "xlam",
    example: r#"[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::tag("<tool_call"),
            closers: Cow::Borrowed(&[Marker::tag("</tool_call")]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("[TOOL_CALLS]"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
    ]),
    bare: Some(Bare::Json),
};
