//! `<think>`, as most open models write it.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{Framing, Thinking, ThinkingForm},
    marker::Marker,
};

pub(super) const EXAMPLE: &str = "<think>\nSix times seven.\n</think>\n\nIt is 42.";

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "think",
    example: EXAMPLE,
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::tag("<think"),
        closers: Cow::Borrowed(&[Marker::tag("</think")]),
        framing: Framing::THINK,
    }]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: true,
};
