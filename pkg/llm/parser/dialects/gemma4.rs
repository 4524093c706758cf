//! Gemma 4: call syntax with strings between markers.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{
        CallForm, Framing, Grammar, JsonShape, Textual, Thinking, ThinkingForm, Tools, Wrapper,
    },
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "gemma4",
    example: r#"<|tool_call>call:calculator{expression:<|"|>6 * 7<|"|>}<tool_call|>"#,
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::exact("<|tool_response>"),
        closer: Marker::exact("<turn|>"),
    }]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<|tool_call>"),
        closers: Cow::Borrowed(&[Marker::exact("<tool_call|>")]),
        grammar: Grammar {
            json: Some(JsonShape::Calls),
            markup: None,
            text: Some(Textual::Syntax { quote: "<|\"|>" }),
        },
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "gemma4",
    example: "<|channel>thought\nSix times seven.\n<channel|>It is 42.",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::exact("<|channel>thought"),
        closers: Cow::Borrowed(&[Marker::exact("<channel|>")]),
        framing: Framing { after_opener: 1, before_closer: 1, after_closer: 0 },
    }]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
