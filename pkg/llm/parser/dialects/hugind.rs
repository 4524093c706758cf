//! Hugind: three families of markers, each with JSON or call syntax.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, JsonShape, Markup, Textual, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "hugind",
    example: r#"<tool_call>{"name": "calculator", "args": {"expression": "6 * 7"}}</tool_call>"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::tag("<tool_call"),
            closers: Cow::Borrowed(&[
                Marker::tag("</tool_call"),
                Marker::exact("<tool_call|>"),
                Marker::exact("<|/tool_call|>"),
            ]),
            grammar: Grammar {
                json: Some(JsonShape::Calls),
                markup: Some(Markup::Tags(super::qwen3_coder::TAGS)),
                text: Some(Textual::Syntax { quote: "<|\"|>" }),
            },
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<|tool_call>"),
            closers: Cow::Borrowed(&[
                Marker::tag("</tool_call"),
                Marker::exact("<tool_call|>"),
                Marker::exact("<|/tool_call|>"),
            ]),
            grammar: Grammar {
                json: Some(JsonShape::Calls),
                markup: Some(Markup::Tags(super::qwen3_coder::TAGS)),
                text: Some(Textual::Syntax { quote: "<|\"|>" }),
            },
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<|tool_call|>"),
            closers: Cow::Borrowed(&[
                Marker::tag("</tool_call"),
                Marker::exact("<tool_call|>"),
                Marker::exact("<|/tool_call|>"),
            ]),
            grammar: Grammar {
                json: Some(JsonShape::Calls),
                markup: Some(Markup::Tags(super::qwen3_coder::TAGS)),
                text: Some(Textual::Syntax { quote: "<|\"|>" }),
            },
            opener_is_payload: false,
        },
    ]),
    bare: None,
};
