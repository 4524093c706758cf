//! `MiniMax` M3: elements behind a marker, and reasoning in tags of its own.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, Markup, Thinking, ThinkingForm, Tools, Wrapper},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "minimax-m3",
    example: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"calculator\">]<]minimax[>[<expression>6 * 7]<]minimax[>[</expression>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::exact("]<]minimax[>[<tool_call>"),
        closer: Marker::exact("]<]minimax[>[</tool_call>"),
    }]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("]<]minimax[>[<invoke"),
        closers: Cow::Borrowed(&[]),
        grammar: Grammar { markup: Some(Markup::Elements), ..Grammar::NONE },
        opener_is_payload: true,
    }]),
    bare: None,
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
