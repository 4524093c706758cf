//! Seed-OSS: functions and parameters in tags.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, Thinking, ThinkingForm, Tools},
    grammar::Tags,
    marker::Marker,
};

/// The tags of a call.
const TAGS: Tags =
    Tags::new(["<function", "</function>"], ["<parameter", "</parameter>"], ">").ends_itself();

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "seed-oss",
    example: "<seed:tool_call>\n<function=calculator>\n<parameter=expression>6 * 7</parameter>\n</function>\n</seed:tool_call>",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag("<seed:tool_call"),
        closers: Cow::Borrowed(&[Marker::tag("</seed:tool_call")]),
        grammar: Grammar::tags(TAGS),
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "seed-oss",
    example: "<seed:think>Six times seven.</seed:think>\nIt is 42.",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::tag("<seed:think"),
        closers: Cow::Borrowed(&[Marker::tag("</seed:think")]),
        framing: Framing { after_opener: 0, before_closer: 0, after_closer: 1 },
    }]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
