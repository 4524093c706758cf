//! Muse: a message for each channel, whose header names who it is for; calls are functions and
//! parameters in tags.

use std::borrow::Cow;

use crate::llm::parser::{
    description::{CallForm, Framing, Grammar, Thinking, ThinkingForm, Tools, Wrapper},
    grammar::Tags,
    marker::{Header, Marker},
};

/// The tags of a call.
const TAGS: Tags =
    Tags::new(["<atem:invoke", "</atem:invoke>"], ["<atem:parameter", "</atem:parameter>"], ">")
        .ends_itself();

const CALLS: Wrapper = Wrapper {
    opener: Marker::exact("<atem:function_calls>"),
    closer: Marker::exact("</atem:function_calls>"),
};

const CALL: CallForm = CallForm {
    opener: Marker::exact("<atem:invoke"),
    closers: Cow::Borrowed(&[]),
    grammar: Grammar::tags(TAGS),
    opener_is_payload: true,
};

const END: Marker = Marker::exact("<|eot|>");
const END_OF_CHANNEL: Marker = Marker::exact("<|eom|>");
/// The prompt holds the front of the first header, up to this.
const FIRST_HEADER: Marker = Marker::header("to=", "<|message|>", Header::Name);
const NEXT_HEADER: Marker = Marker::header("<|start|>assistant to=", "<|message|>", Header::Name);
/// Without a recipient the user is meant.
const FIRST_PLAIN_HEADER: Marker = Marker::exact("<|message|>");
const NEXT_PLAIN_HEADER: Marker = Marker::exact("<|start|>assistant<|message|>");

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "muse",
    example: "<atem:function_calls>\n<atem:invoke name=\"calculator\">\n<atem:parameter name=\"expression\">6 * 7</atem:parameter>\n</atem:invoke>\n</atem:function_calls>",
    wrappers: Cow::Borrowed(&[
        CALLS,
        Wrapper { opener: FIRST_HEADER, closer: END },
        Wrapper { opener: FIRST_PLAIN_HEADER, closer: END },
        Wrapper { opener: NEXT_HEADER, closer: END_OF_CHANNEL },
        Wrapper { opener: NEXT_PLAIN_HEADER, closer: END_OF_CHANNEL },
    ]),
    calls: Cow::Borrowed(&[CALL]),
    bare: None,
};

/// What `auto` reads: the headers, whose first is part of the prompt, have no marker of their own.
pub(in crate::llm::parser) static CALLS_ONLY: Tools = Tools {
    name: "",
    example: "",
    wrappers: Cow::Borrowed(&[CALLS]),
    calls: Cow::Borrowed(&[CALL]),
    bare: None,
};

pub(in crate::llm::parser) static THINKING: Thinking = Thinking {
    name: "muse",
    example: "<|start|>assistant to=self<|message|>Six times seven.<|eom|><|start|>assistant to=user<|message|>It is 42.<|eot|>",
    sections: Cow::Borrowed(&[
        ThinkingForm {
            opener: Marker::exact("to=self<|message|>"),
            closers: Cow::Borrowed(&[END_OF_CHANNEL, END]),
            framing: Framing::NONE,
        },
        ThinkingForm {
            opener: Marker::exact("<|start|>assistant to=self<|message|>"),
            closers: Cow::Borrowed(&[END_OF_CHANNEL, END]),
            framing: Framing::NONE,
        },
    ]),
    ignored: Cow::Borrowed(&[
        FIRST_HEADER,
        FIRST_PLAIN_HEADER,
        NEXT_HEADER,
        NEXT_PLAIN_HEADER,
        END_OF_CHANNEL,
        END,
    ]),
    after_ignored: 0,
    only_at_start: false,
    finds_late_closer: false,
    starts_inside: false,
    recovers_calls: false,
};
