//! The JSON of Anthropic Messages, read leniently: a field of an unexpected type is treated as absent.

use serde_json::value::RawValue;

use crate::decode::{
    JsonEntries,
    lax_json::{FillInto, LaxNumber, LaxText, LaxWord, lax},
    wire_struct::{in_place, wire},
};
use forgeline_types::Text;

/// Members of the end of an answer besides its stop reason, kept as items that are not blocks.
pub(super) const FACTS: [&str; 4] =
    ["stop_sequence", "stop_details", CONTAINER, "context_management"];

/// The member that names the container in which the vendor's code runs.
pub(super) const CONTAINER: &str = "container";

wire! {
    /// One event. It is large, so it is filled in place instead of returned level by level.
    struct AnthropicEvent<'a> as event, map, ignoring [bool number null string seq];
    #[serde(rename = "type")]
    kind: LaxWord<'a>,
    index: LaxNumber,
    delta: AnthropicDelta<'a> = map.next_value_seed(FillInto(&mut event.delta))?,
    message: Option<&'a RawValue>,
    content_block: Option<&'a RawValue>,
    usage: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// A piece of a block, or the end of the message.
#[derive(Debug, Default)]
pub(super) struct AnthropicDelta<'a> {
    kind: WireDeltaKind,
    /// The kind, as given by the member that `content` was read from.
    said: DeltaKind,
    /// The text, the reasoning, the arguments or the signature.
    pub(super) content: Text,
    pub(super) citation: Option<&'a RawValue>,
    pub(super) stop_reason: LaxText,
    /// All other members.
    pub(super) rest: JsonEntries<'a>,
}

/// The kind of a delta.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum DeltaKind {
    Text,
    Thinking,
    Arguments,
    Signature,
    Citation,
    /// An unknown kind.
    #[default]
    Other,
}

/// The kind named by a delta's type, if it has one.
#[derive(Debug, Default)]
struct WireDeltaKind(Option<DeltaKind>);

lax! { ['de] WireDeltaKind, ignoring bool number null seq map;
    fn visit_str<E>(self, name: &str) -> Result<WireDeltaKind, E> {
        Ok(WireDeltaKind(Some(match name {
            "text_delta" => DeltaKind::Text,
            "thinking_delta" => DeltaKind::Thinking,
            "input_json_delta" => DeltaKind::Arguments,
            "signature_delta" => DeltaKind::Signature,
            "citations_delta" => DeltaKind::Citation,
            "" => return Ok(WireDeltaKind(None)),
            _ => DeltaKind::Other,
        })))
    }
}

impl AnthropicDelta<'_> {
    /// Returns the kind by the delta's type, or else by its fields.
    pub(super) fn kind(&self) -> DeltaKind {
        self.kind.0.unwrap_or(self.said)
    }

    fn say(&mut self, kind: DeltaKind, LaxText(content): LaxText) {
        if !content.is_empty() {
            (self.content, self.said) = (content, kind);
        }
    }
}

in_place! { AnthropicDelta<'a> as delta, map, ignoring [bool number null string seq];
    Type => delta.kind = map.next_value()?,
    Text => delta.say(DeltaKind::Text, map.next_value()?),
    Thinking => delta.say(DeltaKind::Thinking, map.next_value()?),
    PartialJson => delta.say(DeltaKind::Arguments, map.next_value()?),
    Signature => delta.say(DeltaKind::Signature, map.next_value()?),
    Citation => {
        delta.citation = map.next_value()?;
        delta.said = DeltaKind::Citation;
    },
    StopReason => delta.stop_reason = map.next_value()?,
    ; else name => delta.rest.push(name.0, map.next_value()?)
}
