//! The models of OpenAI.

use super::prelude::*;

/// Describes a call of Harmony, whose header names the recipient.
const fn harmony_call(start: &'static str) -> CallForm<'static> {
    CallForm::from_markers(
        Marker::header(start, "<|message|>", ChannelHeader::WithRecipient),
        Markers::Spelled(&["<|call|>", "<|end|>", "<|return|>"]),
        CallGrammar::text(TextRules::Named(HeaderStyle::HARMONY)),
    )
    .opener_is_payload()
}

/// The headers of Harmony; llm-jp writes a space after each special token.
const HARMONY_HEADERS: &[Marker<'static>] = &[
    Marker::header("<|channel|>", "<|message|>", ChannelHeader::Any),
    Marker::header("<|start|>assistant", "<|message|>", ChannelHeader::Any),
    Marker::header("<|start|> assistant", "<|message|>", ChannelHeader::Any),
];

/// Describes reasoning of Harmony.
const fn harmony_section(start: &'static str) -> Section<'static> {
    Section::from_markers(
        Marker::header(start, "<|message|>", ChannelHeader::Analysis),
        Markers::Spelled(&["<|end|>", "<|return|>", "<|call|>"]),
    )
}

/// Harmony (gpt-oss and models with the same notation): channels, whose headers distinguish thinking from
/// text.
pub(super) const HARMONY: ModelFamily = ModelFamily::new("harmony")
    .example(r#"<|channel|>commentary to=functions.calculator <|constrain|>json<|message|>{"expression":"6 * 7"}<|call|>"#)
    .calls(&[
        harmony_call("<|channel|>"),
        harmony_call("<|start|>assistant"),
        harmony_call("<|start|> assistant"),
    ])
    .headers(HARMONY_HEADERS)
    .bare(BareCall::Recipient)
    .thinking(
        Thinking::new("harmony")
            .example("<|channel|>analysis<|message|>Six times seven.<|end|><|start|>assistant<|channel|>final<|message|>It is 42.<|return|>")
            .sections(&[
                harmony_section("<|channel|>"),
                harmony_section("<|start|>assistant"),
                harmony_section("<|start|> assistant"),
            ])
            .headers(HARMONY_HEADERS)
            .ignored_markers(&[
                Marker::header("<|channel|>", "<|message|>", ChannelHeader::Other),
                Marker::header("<|start|>assistant", "<|message|>", ChannelHeader::Other),
                Marker::header("<|start|> assistant", "<|message|>", ChannelHeader::Other),
                Marker::exact("<|end|>"),
                Marker::exact("<|return|>"),
                Marker::exact("<|call|>"),
            ]),
    )
    .turn_ends(&["<|return|>", "<|end|>", "<|call|>", "<|endoftext|>"])
    .models(&[FamilyModels::thinking("harmony", "gpt-oss llm-jp-4 llm-jp-4.x")]);
