//! Forge's own: what a prompt asks of models without function calling.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, JsonShape, Markup, Thinking, ThinkingForm, Tools},
    marker::Marker,
};

pub(super) const EXAMPLE: &str =
    r#"<tool>{"tool_name":"calculator","arguments":{"expression":"6 * 7"}}</tool>"#;

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "forge",
    example: EXAMPLE,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag_with_attributes("<tool"),
        closers: Cow::Borrowed(&[Marker::tag("</tool")]),
        grammar: Grammar {
            json: Some(JsonShape::Calls),
            markup: Some(Markup::Forge),
            ..Grammar::NONE
        },
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "forge",
    example: "<thinking>Six times seven.</thinking>It is 42.",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::tag("<thinking"),
        closers: Cow::Borrowed(&[Marker::tag("</thinking")]),
        framing: Framing::THINK,
    }]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
