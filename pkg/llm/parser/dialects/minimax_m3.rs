//! MiniMax M3: reasoning in tags of its own.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{Framing, Thinking, ThinkingForm},
    marker::Marker,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "minimax-m3",
    example: "<mm:think>Six times seven.</mm:think>It is 42.",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::tag("<mm:think"),
        closers: Cow::Borrowed(&[Marker::tag("</mm:think")]),
        framing: Framing::NONE,
    }]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
