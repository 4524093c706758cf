//! Conversion to JSON of arguments that a vendor sends as plain text.

use forgeline_json::slice;
use forgeline_types::Text;

/// The vendor's form of a call's arguments, and their progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum CallInput {
    /// JSON, passed on as it is.
    #[default]
    Json,
    /// A text, which becomes the field `input` of an object; nothing has arrived yet.
    TextAhead,
    /// The text has begun.
    TextOpen,
    /// The object has ended.
    TextOver,
}

impl CallInput {
    /// Returns the JSON of the next piece.
    pub(crate) fn more(&mut self, piece: Text) -> Text {
        let begin = match self {
            Self::Json => return piece,
            Self::TextOver => return Text::new(),
            Self::TextAhead => r#"{"input":""#,
            Self::TextOpen => "",
        };
        *self = Self::TextOpen;
        let quoted = serde_json::to_string(piece.as_str()).unwrap_or_default();
        let inner = slice(&quoted, 1..quoted.len().saturating_sub(1));
        Text::from([begin, inner].concat())
    }

    /// Returns the JSON after the last piece.
    pub(crate) fn end(&mut self) -> Text {
        let end = match self {
            Self::Json | Self::TextOver => return Text::new(),
            Self::TextAhead => r#"{"input":""}"#,
            Self::TextOpen => r#""}"#,
        };
        *self = Self::TextOver;
        Text::from(end)
    }
}
