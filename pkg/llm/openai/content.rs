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

    fn add_all(&mut self, other: &Self) {
        for (is_thinking, text) in &other.before {
            self.add(*is_thinking, text);
        }
        self.add(other.is_thinking, &other.text);
    }
}

lax! { ['de] Content, ignoring bool number null;
    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content { text: Text::from(text), ..Content::default() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        while let Some(part) = seq.next_element::<Content>()? {
            content.add_all(&part);
        }
        Ok(content)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content, A::Error> {
        let part = Part::deserialize(MapAccessDeserializer::new(map))?;
        let mut content = Content::default();
        for (_, text) in &part.thinking.before {
            content.add(true, text);
        }
        content.add(true, &part.thinking.text);
        content.add(false, &part.text.0);
        Ok(content)
    }
}
