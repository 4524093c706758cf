//! Cohere: an array of calls between action markers; text and reasoning have markers too.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, JsonShape, Thinking, ThinkingForm, Tools, Wrapper},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "cohere",
    example: r#"<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "calculator", "parameters": {"expression": "6 * 7"}}]<|END_ACTION|>"#,
    wrappers: Cow::Borrowed(&[
        Wrapper {
            opener: Marker::exact("<|START_RESPONSE|>"),
            closer: Marker::exact("<|END_RESPONSE|>"),
        },
        Wrapper { opener: Marker::exact("<|START_TEXT|>"), closer: Marker::exact("<|END_TEXT|>") },
    ]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<|START_ACTION|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|END_ACTION|>")]),
        grammar: Grammar { json: Some(JsonShape::CallsWithIds), ..Grammar::NONE },
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "cohere",
    example: "<|START_THINKING|>Six times seven.<|END_THINKING|><|START_RESPONSE|>It is 42.<|END_RESPONSE|>",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::exact("<|START_THINKING|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|END_THINKING|>")]),
        framing: Framing::NONE,
    }]),
    ignored: Cow::Borrowed(&[
        Marker::exact("<|START_RESPONSE|>"),
        Marker::exact("<|END_RESPONSE|>"),
        Marker::exact("<|START_TEXT|>"),
        Marker::exact("<|END_TEXT|>"),
        Marker::exact("<|END_OF_TURN_TOKEN|>"),
    ]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
