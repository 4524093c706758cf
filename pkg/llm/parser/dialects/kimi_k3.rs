//! Kimi K3: one grammar of elements for calls, reasoning and text.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, Thinking, ThinkingForm, Tools, Wrapper},
    grammar::Tags,
    marker::Marker,
};

/// The tags of a call.
const TAGS: Tags = Tags::new(
    ["<|open|>call", "<|close|>call<|sep|>"],
    ["<|open|>argument", "<|close|>argument<|sep|>"],
    "<|sep|>",
)
.object(["<|open|>json", "<|close|>json<|sep|>"])
.ends_itself();

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "kimi-k3",
    example: r#"<|open|>tools<|sep|><|open|>call tool="calculator" index="1"<|sep|><|open|>argument key="expression" type="string"<|sep|>6 * 7<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"#,
    wrappers: Cow::Borrowed(&[
        Wrapper {
            opener: Marker::exact("<|open|>response<|sep|>"),
            closer: Marker::exact("<|close|>response<|sep|>"),
        },
        Wrapper {
            opener: Marker::exact("<|close|>message<|sep|>"),
            closer: Marker::exact("<|end_of_msg|>"),
        },
        Wrapper {
            opener: Marker::exact("<|open|>tools<|sep|>"),
            closer: Marker::exact("<|close|>tools<|sep|>"),
        },
    ]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<|open|>call"),
        closers: Cow::Borrowed(&[]),
        grammar: Grammar::tags(TAGS),
        opener_is_payload: true,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "kimi-k3",
    example: "<|open|>think<|sep|>Six times seven.<|close|>think<|sep|><|open|>response<|sep|>It is 42.<|close|>response<|sep|>",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::exact("<|open|>think<|sep|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|close|>think<|sep|>")]),
        framing: Framing::NONE,
    }]),
    ignored: Cow::Borrowed(&[
        Marker::exact("<|open|>response<|sep|>"),
        Marker::exact("<|close|>response<|sep|>"),
        Marker::exact("<|close|>message<|sep|>"),
        Marker::exact("<|end_of_msg|>"),
    ]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: true,
    recovers_calls: false,
};
