//! Apertus: an array of objects whose one key is the name.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, JsonShape, Thinking, ThinkingForm, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "apertus",
    example: r#"<|tools_prefix|>[{"calculator": {"expression": "6 * 7"}}]<|tools_suffix|>"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<|tools_prefix|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|tools_suffix|>")]),
        grammar: Grammar { json: Some(JsonShape::Keyed), ..Grammar::NONE },
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "apertus",
    example: "<|inner_prefix|>Six times seven.<|inner_suffix|>It is 42.",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::exact("<|inner_prefix|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|inner_suffix|>")]),
        framing: Framing::NONE,
    }]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
