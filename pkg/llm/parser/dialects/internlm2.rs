//! `InternLM` 2: an object between action markers.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools, Wrapper},
    marker::Marker,
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "internlm2",
    example: "<|action_start|><|plugin|>\n{\"name\": \"calculator\", \"parameters\": {\"expression\": \"6 * 7\"}}<|action_end|>",
    wrappers: Cow::Borrowed(&[Wrapper {
        opener: Marker::exact("<|action_start|>"),
        closer: Marker::exact("<|action_end|>"),
    }]),
    calls: Cow::Borrowed(&[CallForm {
        opener: Marker::exact("<|plugin|>"),
        closers: Cow::Borrowed(&[Marker::exact("<|action_end|>")]),
        grammar: Grammar::JSON,
        opener_is_payload: false,
    }]),
    bare: None,
};
