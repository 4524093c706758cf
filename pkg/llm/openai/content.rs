//! The content of a delta: a text, or a list of thinking and text.

use serde::{
    Deserialize,
    de::{MapAccess, SeqAccess, value::MapAccessDeserializer},
};

use crate::{
    llm::decode::lax_json::{Line, ignore_others, lax},
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

lax! { ['de] Content, ignoring bool number null;
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
        let part = Part::deserialize(MapAccessDeserializer::new(map))?;
        let mut content = Content::default();
        content.add_part(&part);
        Ok(content)
    }
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

lax! { ['de] StrOrPart, ignoring bool number null seq;
    fn visit_str<E>(self, text: &str) -> Result<StrOrPart, E> {
        Ok(StrOrPart::Str(Text::from(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StrOrPart, A::Error> {
        Part::deserialize(MapAccessDeserializer::new(map)).map(StrOrPart::Part)
    }
}
