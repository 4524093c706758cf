//! The content of a delta: a string, or a list of parts.

use serde::{
    Deserialize,
    de::{MapAccess, SeqAccess, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

use super::extras;
use crate::{
    ContentType,
    decode::{
        JsonEntries, JsonMembers,
        lax_json::{LaxText, fill_with, is_text, list, text, value},
    },
};
use forgeline_types::{AgentEvent, Text};

/// Content: a string, or parts in order, such as Mistral's lists of thinking and text.
#[derive(Debug, Default)]
pub(super) struct OpenAiContent<'a> {
    pub(super) text: Text,
    pub(super) parts: Vec<&'a RawValue>,
}

/// A piece of the content of one part.
pub(super) enum ContentPiece {
    Words(ContentType, Text),
    Item(AgentEvent),
    /// Databricks' summaries of reasoning, which are signed.
    Summary(Vec<JsonMembers>),
}

impl OpenAiContent<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.parts.is_empty()
    }
}

/// Reads one part; `in_thinking` is set for parts inside the list of another part.
pub(super) fn pieces(raw: &RawValue, in_thinking: bool) -> Vec<ContentPiece> {
    let kind = if in_thinking { ContentType::Thinking } else { ContentType::Message };
    if is_text(raw) {
        return vec![ContentPiece::Words(kind, value::<LaxText>(raw).0)];
    }
    let part = JsonEntries::from_raw(Some(raw));
    let name = part.text("type");
    let mut pieces = match part.get("thinking") {
        Some(inner) if is_text(inner) => {
            vec![ContentPiece::Words(ContentType::Thinking, text(Some(inner)))]
        }
        // Lists inside lists are not read: they could be nested without end.
        inner if !in_thinking => {
            list(inner).into_iter().flat_map(|raw| self::pieces(raw, true)).collect()
        }
        _ => Vec::new(),
    };
    match name.as_str() {
        "reasoning" => {
            let summary = list(part.get("summary")).into_iter();
            let summary: Vec<_> = summary.map(|raw| JsonMembers::parse(raw.get())).collect();
            pieces.push(ContentPiece::Summary(summary));
        }
        "reference" => pieces.extend(extras::references(&part, raw).map(ContentPiece::Item)),
        "image_url" => pieces.extend(extras::picture(raw).map(ContentPiece::Item)),
        "refusal" => pieces.push(ContentPiece::Words(ContentType::Refusal, part.text("refusal"))),
        _ => {}
    }
    let words = part.text("text");
    if !words.is_empty() {
        pieces.push(ContentPiece::Words(kind, words));
        let annotations = part.get("annotations").into_iter().flat_map(extras::annotations);
        pieces.extend(annotations.map(ContentPiece::Item));
    }
    let is_known = matches!(name.as_str(), "" | "text" | "output_text" | "thinking");
    if pieces.is_empty() && !is_known {
        pieces.extend(extras::part(name, raw).map(ContentPiece::Item));
    }
    pieces
}

fill_with! { OpenAiContent<'a>, ignoring bool number null;
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.text = Text::from(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        // If a member appears twice, the last one counts.
        self.0.parts.clear();
        while let Some(part) = seq.next_element()? {
            self.0.parts.push(part);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let part = JsonEntries::deserialize(MapAccessDeserializer::new(map))?;
        self.0.text = part.text("text");
        Ok(())
    }
}
