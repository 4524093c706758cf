//! The input of a user: a text, or parts.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};

use crate::{
    llm::media::unreadable,
    server::{Problem, http::object::Object},
    types::Part,
};

/// An input of the user: a text, or parts.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Said {
    Text(String),
    Parts(Vec<Part>),
}

impl Said {
    pub(super) fn parts(self) -> Result<Vec<Part>, Problem> {
        let parts = match self {
            Self::Text(text) => vec![Part::Text { text }],
            Self::Parts(parts) => parts,
        };
        let is_said = |part: &Part| {
            matches!(part, Part::Text { .. } | Part::Image { .. } | Part::Document { .. })
        };
        if !parts.iter().all(is_said) {
            return Err(Problem::bad("a user may send only texts, images and documents"));
        }
        if let Some(problem) = unreadable(&parts) {
            return Err(Problem::bad(problem));
        }
        let is_empty = |part: &Part| part.as_text().is_some_and(|text| text.trim().is_empty());
        if parts.iter().all(is_empty) {
            return Err(Problem::bad("`input` is empty; send a text, an image or a document"));
        }
        Ok(parts)
    }
}

/// A part as a request contains it; other members are refused.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum SaidPart {
    Text { text: String },
    Image { media_type: String, data: String },
    Document { media_type: String, data: String, name: Option<String> },
}

impl From<SaidPart> for Part {
    fn from(part: SaidPart) -> Self {
        match part {
            SaidPart::Text { text } => Self::Text { text },
            SaidPart::Image { media_type, data } => Self::Image { media_type, data },
            SaidPart::Document { media_type, data, name } => {
                Self::Document { media_type, data, name }
            }
        }
    }
}

struct SaidVisitor;

impl<'de> Visitor<'de> for SaidVisitor {
    type Value = Said;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("`input` to be a string, or an array of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Said, E> {
        Ok(Said::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Said, E> {
        Ok(Said::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Said, A::Error> {
        let mut parts = Vec::new();
        while let Some(Object(part)) = seq.next_element::<Object<SaidPart>>()? {
            parts.push(part.into());
        }
        Ok(Said::Parts(parts))
    }
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SaidVisitor)
    }
}
