//! Ernie 4.5: JSON in `<tool_call>`; answers stand in `<response>`.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, Thinking, ThinkingForm, Tools},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "ernie45",
    example: "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</tool_call>",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::tag("<tool_call"),
        closers: Cow::Borrowed(&[Marker::tag("</tool_call")]),
        grammar: Grammar::JSON,
        opener_is_payload: false,
    }]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "ernie45",
    example: "<think>\nSix times seven.\n</think>\n\n<response>\nIt is 42.\n</response>",
    sections: Cow::Borrowed(&[ThinkingForm {
        opener: Marker::tag("<think"),
        closers: Cow::Borrowed(&[Marker::tag("</think")]),
        framing: Framing { after_opener: 1, before_closer: 1, after_closer: 3 },
    }]),
    ignored: Cow::Borrowed(&[
        Marker::tag("<response"),
        Marker::tag("\n</response"),
        Marker::tag("</response"),
    ]),
    after_ignored: 1,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: true,
    recovers_calls: false,
};
