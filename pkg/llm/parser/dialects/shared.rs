//! What `auto` reads in `<tool_call>`, which several families use: the first byte tells whose it is.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, JsonShape, Markup, Textual, Tools, Wrapper},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "",
    example: "",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::tag("<tool_call"),
            closers: Cow::Borrowed(&[Marker::tag("</tool_call")]),
            grammar: Grammar {
                json: Some(JsonShape::Calls),
                markup: Some(Markup::Tags(super::qwen3_coder::TAGS)),
                text: Some(Textual::Tags(super::hunyuan::TAGS)),
            },
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<function="),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::tags(super::qwen3_coder::TAGS.ends_itself()),
            opener_is_payload: true,
        },
    ]),
    bare: None,
};

/// What `auto` reads behind `<|tool_call|>`: JSON that ends itself (Granite 3, Phi-4-mini), or call
/// syntax.
pub(in crate::llm::parser) static PIPED: Tools = Tools {
    name: "",
    example: "",
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::before("<|tool_call|>", b"<"),
        closer: Marker::exact("<|/tool_call|>"),
    }]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::before("<|tool_call|>", b"[{"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::tag("<function_call"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::exact("<|tool_call|>"),
            closers: Cow::Borrowed(&[
                Marker::exact("<|/tool_call|>"),
                Marker::exact("<tool_call|>"),
            ]),
            grammar: Grammar::text(Textual::Syntax { quote: "<|\"|>" }),
            opener_is_payload: false,
        },
    ]),
    bare: None,
};
