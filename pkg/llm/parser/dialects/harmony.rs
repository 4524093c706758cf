//! Harmony (gpt-oss): channels with headers.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{Bare, CallForm, Framing, Grammar, Textual, Thinking, ThinkingForm, Tools},
    grammar::HeaderStyle,
    marker::{Header, Marker},
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "harmony",
    example: r#"<|channel|>commentary to=functions.calculator <|constrain|>json<|message|>{"expression":"6 * 7"}<|call|>"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::header("<|channel|>", "<|message|>", Header::WithRecipient),
            closers: Cow::Borrowed(&[
                Marker::exact("<|call|>"),
                Marker::exact("<|end|>"),
                Marker::exact("<|return|>"),
            ]),
            grammar: Grammar::text(Textual::Named(HeaderStyle::HARMONY)),
            opener_is_payload: true,
        },
        CallForm {
            opener: Marker::header("<|start|>assistant", "<|message|>", Header::WithRecipient),
            closers: Cow::Borrowed(&[
                Marker::exact("<|call|>"),
                Marker::exact("<|end|>"),
                Marker::exact("<|return|>"),
            ]),
            grammar: Grammar::text(Textual::Named(HeaderStyle::HARMONY)),
            opener_is_payload: true,
        },
    ]),
    bare: Some(Bare::Recipient),
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "harmony",
    example: "<|channel|>analysis<|message|>Six times seven.<|end|><|start|>assistant<|channel|>final<|message|>It is 42.<|return|>",
    sections: Cow::Borrowed(&[
        ThinkingForm {
            opener: Marker::header("<|channel|>", "<|message|>", Header::Analysis),
            closers: Cow::Borrowed(&[Marker::exact("<|end|>")]),
            framing: Framing::NONE,
        },
        ThinkingForm {
            opener: Marker::header("<|start|>assistant", "<|message|>", Header::Analysis),
            closers: Cow::Borrowed(&[Marker::exact("<|end|>")]),
            framing: Framing::NONE,
        },
    ]),
    ignored: Cow::Borrowed(&[
        Marker::header("<|channel|>", "<|message|>", Header::Other),
        Marker::header("<|start|>assistant", "<|message|>", Header::Other),
        Marker::exact("<|end|>"),
        Marker::exact("<|return|>"),
        Marker::exact("<|call|>"),
    ]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
