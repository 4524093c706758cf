//! The models named Inkling.

use super::prelude::*;

const INKLING_JSON: Marker<'static> =
    Marker::header("<|message_model|>", "<|content_invoke_tool_json|>", ChannelHeader::Name);
const INKLING_TEXT: Marker<'static> =
    Marker::header("<|message_model|>", "<|content_invoke_tool_text|>", ChannelHeader::Name);
/// Describes a call of Inkling, whose header may name the tool.
const fn inkling(opener: Marker<'static>, style: HeaderStyle) -> CallForm<'static> {
    let closers = Markers::One(Marker::exact("<|end_message|>"));
    CallForm::from_markers(opener, closers, CallGrammar::text(TextRules::Named(style)))
        .opener_is_payload()
}

/// Inkling: blocks with a marker for their content; the block of a call begins with the call's name. The
/// prompt ends with the marker of the first block, so a message may begin with a name.
pub(super) const INKLING: ModelFamily = ModelFamily::new("inkling")
    .example(r#"<|message_model|>calculator<|content_invoke_tool_json|>{"name":"calculator","args":{"expression":"6 * 7"}}<|end_message|>"#)
    .wrappers(&[
        Wrapper::new("<|content_text|>", "<|end_message|>").around_text(),
        Wrapper::new("<|content_tool_error|>", "<|end_message|>").around_text(),
        Wrapper::new("<|message_model|>", "<|content_model_end_sampling|>").around_text(),
    ])
    .calls(&[
        inkling(INKLING_JSON, HeaderStyle::INKLING),
        inkling(INKLING_TEXT, HeaderStyle::INKLING_TEXT),
        inkling(Marker::exact("<|content_invoke_tool_json|>"), HeaderStyle::INKLING),
        inkling(Marker::exact("<|content_invoke_tool_text|>"), HeaderStyle::INKLING_TEXT),
    ])
    .bare(BareCall::Name("<|content_invoke_tool_json|>"))
    .thinking(
        Thinking::new("inkling")
            .example("<|content_thinking|>Six times seven.<|end_message|><|message_model|><|content_text|>It is 42.<|end_message|><|content_model_end_sampling|>")
            .sections(&[Section::new("<|content_thinking|>", "<|end_message|>")])
            .headers(&[Marker::exact("<|content_text|>"), Marker::exact("<|message_model|>")])
            .ignored(&[
                "<|content_text|>",
                "<|content_tool_error|>",
                "<|end_message|>",
                "<|message_model|>",
                "<|content_model_end_sampling|>",
            ]),
    )
    .turn_ends(&["<|end_message|>", "<|content_model_end_sampling|>"])
    .models(&[FamilyModels::thinking("inkling", "inkling")]);
