//! The input of a user: a text, or parts.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};

use crate::{Problem, http::object::JsonObject};
use forgeline_llm::private::media::unreadable;
use forgeline_types::Part;

/// An input of the user: a text, or parts.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum UserMessage {
    Text(String),
    Parts(#[schemars(with = "Vec<UserPart>")] Vec<Part>),
}

impl UserMessage {
    pub(crate) fn parts(self) -> Result<Vec<Part>, Problem> {
        let parts = match self {
            Self::Text(text) => vec![Part::text(text)],
            Self::Parts(parts) => parts,
        };
        let is_said = |part: &Part| {
            matches!(part, Part::Text { .. } | Part::Image { .. } | Part::Document { .. })
        };
        if !parts.iter().all(is_said) {
            return Err(Problem::bad("a user may send only texts, images and documents"));
        }
        if let Some(problem) = insecure_address(&parts) {
            return Err(problem);
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

/// Returns the error for a file that would be fetched without encryption: whoever is on the way could change what the model sees.
fn insecure_address(parts: &[Part]) -> Option<Problem> {
    let data = |part: &Part| {
        let (Part::Image { data, .. } | Part::Document { data, .. }) = part else { return None };
        Some(scheme(data))
    };
    let is_http = parts.iter().filter_map(data).any(|scheme| scheme == Some(false));
    is_http.then(|| Problem::bad("a file needs an `https:` URL, not an `http:` one, or its bytes"))
}

/// Returns `true` for the address of a file with `https:`, and `false` for one with `http:`. Schemes have no case.
pub(crate) fn scheme(data: &str) -> Option<bool> {
    let (scheme, _) = data.trim_start().split_once("://")?;
    [("https", true), ("http", false)]
        .into_iter()
        .find_map(|(name, is_safe)| scheme.eq_ignore_ascii_case(name).then_some(is_safe))
}

/// A part as a request contains it; other members are refused.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum UserPart {
    Text { text: String },
    Image { media_type: String, data: String },
    Document { media_type: String, data: String, name: Option<String> },
}

impl From<UserPart> for Part {
    fn from(part: UserPart) -> Self {
        match part {
            UserPart::Text { text } => Self::text(text),
            UserPart::Image { media_type, data } => Self::image(media_type, data),
            UserPart::Document { media_type, data, name } => Self::document(media_type, data, name),
        }
    }
}

struct UserMessageVisitor;

impl<'de> Visitor<'de> for UserMessageVisitor {
    type Value = UserMessage;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("`input` to be a string, or an array of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<UserMessage, E> {
        Ok(UserMessage::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<UserMessage, E> {
        Ok(UserMessage::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<UserMessage, A::Error> {
        let mut parts = Vec::new();
        while let Some(JsonObject(part)) = seq.next_element::<JsonObject<UserPart>>()? {
            parts.push(part.into());
        }
        Ok(UserMessage::Parts(parts))
    }
}

impl<'de> Deserialize<'de> for UserMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UserMessageVisitor)
    }
}
