//! The content of a delta: a text, or a list of thinking and text.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::{
    llm::tolerant::{Line, Reads, ignore_others, read},
    types::Text,
};

/// Content: thinking and text in order, as in Mistral's lists of parts, or just a text.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) text: Text,
    /// Parts before `text`, when there are several.
    pub(super) before: Vec<(bool, Text)>,
    pub(super) is_thinking: bool,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// One part of a content list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    text: Line,
    thinking: Content,
}

impl Content {
    fn add(&mut self, is_thinking: bool, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.is_thinking != is_thinking && !self.text.is_empty() {
            self.before.push((self.is_thinking, std::mem::take(&mut self.text)));
        }
        self.is_thinking = is_thinking;
        self.text.push_str(text);
    }

    fn add_part(&mut self, part: &Part) {
        for (_, text) in &part.thinking.before {
            self.add(true, text);
        }
        self.add(true, &part.thinking.text);
        self.add(false, &part.text.0);
    }
}

impl<'de> Visitor<'de> for Reads<Content> {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content { text: Text::from(text), ..Content::default() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        while let Some(part) = seq.next_element::<StrOrPart>()? {
            match part {
                StrOrPart::Str(text) => content.add(false, &text),
                StrOrPart::Part(part) => content.add_part(&part),
            }
        }
        Ok(content)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content, A::Error> {
        let part = Part::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        let mut content = Content::default();
        content.add_part(&part);
        Ok(content)
    }

    ignore_others!(Content, bool number null);
}

/// A member of a content list.
#[derive(Debug)]
enum StrOrPart {
    Str(Text),
    Part(Part),
}

impl Default for StrOrPart {
    fn default() -> Self {
        Self::Str(Text::new())
    }
}

impl<'de> Deserialize<'de> for StrOrPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Visitor<'de> for Reads<StrOrPart> {
    type Value = StrOrPart;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<StrOrPart, E> {
        Ok(StrOrPart::Str(Text::from(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StrOrPart, A::Error> {
        Part::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(StrOrPart::Part)
    }

    ignore_others!(StrOrPart, bool number null seq);
}
