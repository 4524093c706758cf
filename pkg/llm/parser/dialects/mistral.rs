//! Mistral: `[TOOL_CALLS]` and an array of calls (v3 to v7), or a name and the arguments (v11 on).

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, JsonShape, Textual, Thinking, ThinkingForm, Tools},
    grammar::HeaderStyle,
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "mistral",
    example: r#"[TOOL_CALLS]calculator[ARGS]{"expression": "6 * 7"}"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("[TOOL_CALLS]"),
        closers: Cow::Borrowed(&[]),
        grammar: Grammar {
            json: Some(JsonShape::CallsWithIds),
            markup: None,
            text: Some(Textual::Named(HeaderStyle::MISTRAL)),
        },
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "mistral",
    example: "[THINK]Six times seven.[/THINK]It is 42.",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::exact("[THINK]"),
        closers: Cow::Borrowed(&[Marker::exact("[/THINK]")]),
        framing: Framing::NONE,
    }]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
