//! `MiniMax` M2: functions and parameters in tags.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools, Wrapper},
    grammar::Tags,
    marker::Marker,
};

/// The tags of a call.
const TAGS: Tags =
    Tags::new(["<invoke", "</invoke>"], ["<parameter", "</parameter>"], ">").ends_itself();

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "minimax-m2",
    example: "<minimax:tool_call>\n<invoke name=\"calculator\">\n<parameter name=\"expression\">6 * 7</parameter>\n</invoke>\n</minimax:tool_call>",
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::tag("<minimax:tool_call"),
        closer: Marker::tag("</minimax:tool_call"),
    }]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<invoke"),
        closers: Cow::Borrowed(&[]),
        grammar: Grammar::tags(TAGS),
        opener_is_payload: true,
    }]),
    bare: None,
};
