//! Hunyuan: an array of calls in `<tool_calls>` (A13B), or calls with keys and values in it (3 and 4).

use std::borrow::Cow;

use crate::llm::parser::{
    description::{
        CallForm, Framing, Grammar, JsonShape, Textual, Thinking, ThinkingForm, Tools, Wrapper,
    },
    grammar::Tags,
    marker::Marker,
};

/// The tags of Hunyuan 3 and 4: those of GLM, and one more behind the name.
pub(super) const TAGS: Tags =
    Tags::pairs(["<arg_key>", "</arg_key>"], ["<arg_value>", "</arg_value>"], "<tool_sep>")
        .suffixes();

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "hunyuan",
    example: r#"<tool_calls>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</tool_calls>"#,
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::suffixed_tag_before("<tool_calls", b"<"),
        closer: Marker::suffixed_tag("</tool_calls"),
    }]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::suffixed_tag_before("<tool_calls", b"[{"),
            closers: Cow::Borrowed(&[Marker::suffixed_tag("</tool_calls")]),
            grammar: Grammar::JSON,
            opener_is_payload: false,
        },
        CallForm {
            opener: Marker::suffixed_tag("<tool_call"),
            closers: Cow::Borrowed(&[Marker::suffixed_tag("</tool_call")]),
            grammar: Grammar {
                json: Some(JsonShape::Calls),
                markup: None,
                text: Some(Textual::Tags(TAGS)),
            },
            opener_is_payload: false,
        },
    ]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "hunyuan",
    example: "<think>\nSix times seven.\n</think>\n<answer>\nIt is 42.\n</answer>",
    sections: Cow::Borrowed(&[
        ThinkingForm {
            opener: Marker::tag("<think"),
            closers: Cow::Borrowed(&[Marker::tag("</think")]),
            framing: Framing::THINK,
        },
        ThinkingForm {
            opener: Marker::only_suffixed_tag("<think"),
            closers: Cow::Borrowed(&[Marker::only_suffixed_tag("</think")]),
            framing: Framing::THINK,
        },
    ]),
    ignored: Cow::Borrowed(&[
        Marker::tag("<answer"),
        Marker::tag("\n</answer"),
        Marker::tag("</answer"),
    ]),
    after_ignored: 1,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
