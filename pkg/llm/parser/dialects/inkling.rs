//! Inkling: blocks with a marker for their content; the block of a call begins with its name.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{
        Bare, CallForm, Framing, Grammar, Textual, Thinking, ThinkingForm, Tools, Wrapper,
    },
    grammar::HeaderStyle,
    marker::{Header, Marker},
};

/// The prompt ends with the marker of the first block, so that a message may begin with a name.
pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "inkling",
    example: r#"<|message_model|>calculator<|content_invoke_tool_json|>{"name":"calculator","args":{"expression":"6 * 7"}}<|end_message|>"#,
    wrappers: Cow::Borrowed(&[
        Wrapper {
            opener: Marker::exact("<|content_text|>"),
            closer: Marker::exact("<|end_message|>"),
        },
        Wrapper {
            opener: Marker::exact("<|message_model|>"),
            closer: Marker::exact("<|content_model_end_sampling|>"),
        },
    ]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::header("<|message_model|>", "<|content_invoke_tool_json|>", Header::Name),
        closers: Cow::Borrowed(&[Marker::exact("<|end_message|>")]),
        grammar: Grammar::text(Textual::Named(HeaderStyle::INKLING)),
        opener_is_payload: true,
    }]),
    bare: Some(Bare::Name("<|content_invoke_tool_json|>")),
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
