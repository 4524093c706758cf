//! Inkling: blocks with a marker for their content.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{Framing, Thinking, ThinkingForm},
    marker::Marker,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "inkling",
    example: "<|content_thinking|>Six times seven.<|end_message|><|message_model|><|content_text|>It is 42.<|end_message|><|content_model_end_sampling|>",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::exact("<|content_thinking|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|end_message|>")]),
        framing: Framing::NONE,
    }]),
    ignored: Cow::Borrowed(&[
        Marker::exact("<|content_text|>"),
        Marker::exact("<|end_message|>"),
        Marker::exact("<|message_model|>"),
        Marker::exact("<|content_model_end_sampling|>"),
    ]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
