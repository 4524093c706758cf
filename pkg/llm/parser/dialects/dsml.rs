//! DeepSeek V3.2, V4 and V4.1: functions and typed parameters in tags of their own.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Grammar, Tools, Wrapper},
    grammar::Tags,
    marker::Marker,
};

/// The tags of a call.
const TAGS: Tags = Tags::new(
    ["<｜DSML｜invoke", "</｜DSML｜invoke>"],
    ["<｜DSML｜parameter", "</｜DSML｜parameter>"],
    ">",
)
.ends_itself();
/// The tags of V4.1, with a blank in each.
const SPACED_TAGS: Tags = Tags::new(
    ["<｜DSML｜ invoke", "</｜DSML｜ invoke>"],
    ["<｜DSML｜ parameter", "</｜DSML｜ parameter>"],
    ">",
)
.ends_itself();

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "dsml",
    example: "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"calculator\">\n<｜DSML｜parameter name=\"expression\" string=\"true\">6 * 7</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    wrappers: Cow::Borrowed(&[
        Wrapper {
            opener: Marker::exact("<｜DSML｜function_calls>"),
            closer: Marker::exact("</｜DSML｜function_calls>"),
        },
        Wrapper {
            opener: Marker::exact("<｜DSML｜tool_calls>"),
            closer: Marker::exact("</｜DSML｜tool_calls>"),
        },
        Wrapper {
            opener: Marker::exact("<｜DSML｜ calls>"),
            closer: Marker::exact("</｜DSML｜ calls>"),
        },
    ]),
    calls: Cow::Borrowed(&[
        CallForm {
            opener: Marker::exact("<｜DSML｜invoke"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::tags(TAGS),
            opener_is_payload: true,
        },
        CallForm {
            opener: Marker::exact("<｜DSML｜ invoke"),
            closers: Cow::Borrowed(&[]),
            grammar: Grammar::tags(SPACED_TAGS),
            opener_is_payload: true,
        },
    ]),
    bare: None,
};
