//! The models named Muse.

use super::prelude::*;

/// The tags of a call of Muse.
const ATEM: Tags =
    Tags::new(["<atem:invoke", "</atem:invoke>"], ["<atem:parameter", "</atem:parameter>"], ">");

const MUSE_CALLS: Wrapper<'static> = Wrapper::from_markers(
    Marker::exact("<atem:function_calls>"),
    Marker::exact("</atem:function_calls>"),
);
const MUSE_END: Marker<'static> = Marker::exact("<|eot|>");
const MUSE_END_OF_CHANNEL: Marker<'static> = Marker::exact("<|eom|>");
/// The first header begins in the prompt, up to this marker.
const MUSE_FIRST: Marker<'static> = Marker::header("to=", "<|message|>", ChannelHeader::Name);

const MUSE_NEXT: Marker<'static> =
    Marker::header("<|start|>assistant to=", "<|message|>", ChannelHeader::Name);
/// A header without a recipient, which means the user.
const MUSE_FIRST_PLAIN: Marker<'static> = Marker::exact("<|message|>");

const MUSE_NEXT_PLAIN: Marker<'static> = Marker::exact("<|start|>assistant<|message|>");
const MUSE_FIRST_USER: Marker<'static> = Marker::exact("to=user<|message|>");
const MUSE_NEXT_USER: Marker<'static> = Marker::exact("<|start|>assistant to=user<|message|>");

/// Muse: a message for each channel, whose header names the recipient; messages for the user contain
/// no calls. Calls are functions and parameters in tags. In `auto` the headers do not count, because the first is part of the prompt.
pub(super) const MUSE: ModelFamily = ModelFamily::new("muse")
    .example("<atem:function_calls>\n<atem:invoke name=\"calculator\">\n<atem:parameter name=\"expression\">6 * 7</atem:parameter>\n</atem:invoke>\n</atem:function_calls>")
    .wrappers(&[
        MUSE_CALLS,
        Wrapper::from_markers(MUSE_FIRST_USER, MUSE_END).around_prose(),
        Wrapper::from_markers(MUSE_FIRST_PLAIN, MUSE_END).around_prose(),
        Wrapper::from_markers(MUSE_NEXT_USER, MUSE_END_OF_CHANNEL).around_prose(),
        Wrapper::from_markers(MUSE_NEXT_PLAIN, MUSE_END_OF_CHANNEL).around_prose(),
        Wrapper::from_markers(MUSE_FIRST, MUSE_END).around_text(),
        Wrapper::from_markers(MUSE_NEXT, MUSE_END_OF_CHANNEL).around_text(),
    ])
    .calls(&[CallForm::tagged(ATEM)])
    .own_thinking(
        Thinking::new("muse")
            .example("<|start|>assistant to=self<|message|>Six times seven.<|eom|><|start|>assistant to=user<|message|>It is 42.<|eot|>")
            .sections(&[
                Section::with_closers("to=self<|message|>", &["<|eom|>", "<|eot|>"]),
                Section::with_closers(
                    "<|start|>assistant to=self<|message|>",
                    &["<|eom|>", "<|eot|>"],
                ),
            ])
            .headers(&[MUSE_NEXT, MUSE_NEXT_PLAIN, MUSE_FIRST])
            .ignored_markers(&[
                MUSE_FIRST,
                MUSE_FIRST_PLAIN,
                MUSE_NEXT,
                MUSE_NEXT_PLAIN,
                MUSE_END_OF_CHANNEL,
                MUSE_END,
            ]),
    )
    .in_auto(InAuto::As(
        ToolDialectBuilder::new("muse").wrappers(&[MUSE_CALLS]).calls(&[CallForm::tagged(ATEM)]),
    ))
    .results(ResultForm::new("<tool_output name=\"{name}\">\n{content}\n</tool_output>", "\n"))
    .turn_ends(&["<|eot|>", "<|eom|>"])
    .models(&[FamilyModels::thinking("muse", "muse-glimmer")]);
