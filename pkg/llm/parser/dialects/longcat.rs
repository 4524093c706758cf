//! `LongCat`: JSON, or a name with keys and values, in `<longcat_tool_call>`.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, JsonShape, Textual, Thinking, ThinkingForm, Tools},
    grammar::Tags,
    marker::Marker,
};

/// The tags of the newer models.
const TAGS: Tags = Tags::pairs(
    ["<longcat_arg_key>", "</longcat_arg_key>"],
    ["<longcat_arg_value>", "</longcat_arg_value>"],
    "",
);

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "longcat",
    example: "<longcat_tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</longcat_tool_call>",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag("<longcat_tool_call"),
        closers: Cow::Borrowed(&[Marker::tag("</longcat_tool_call")]),
        grammar: Grammar {
            json: Some(JsonShape::Calls),
            markup: None,
            text: Some(Textual::Tags(TAGS)),
        },
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "longcat",
    example: "<longcat_think>\nSix times seven.\n</longcat_think>\n\nIt is 42.",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::tag("<longcat_think"),
        closers: Cow::Borrowed(&[Marker::tag("</longcat_think")]),
        framing: Framing::THINK,
    }]),
    ignored: Cow::Borrowed(&[]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
