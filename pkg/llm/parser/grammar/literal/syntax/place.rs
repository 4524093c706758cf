//! The position of a value in the arguments, by which its schema is found.

use std::borrow::Cow;

use compact_str::CompactString;

use forgeline_json::Token;

/// The position of the current value in the arguments.
#[derive(Debug, Default)]
pub(super) struct ValuePosition {
    /// One step for each bracket around the value: a key, or nothing for the items of a list.
    steps: Vec<Option<CompactString>>,
    /// The JSON text of the current key.
    open_key: Option<CompactString>,
}

impl ValuePosition {
    /// Returns `true` inside a key.
    pub(super) fn is_key(&self) -> bool {
        self.open_key.is_some()
    }

    /// Returns the key of a step; `None` for the items of a list.
    pub(super) fn key(&self, step: usize) -> Option<&str> {
        self.steps.get(step)?.as_deref()
    }

    /// Processes a token of the arguments.
    pub(super) fn follow(&mut self, token: Token<'_>) {
        match token {
            Token::KeyStart { .. } => self.open_key = Some(CompactString::const_new("")),
            Token::Text(text) => self.push_key(text),
            Token::KeyEnd { depth, .. } => {
                let json = self.open_key.take().unwrap_or_default();
                let text = json.trim_matches('"');
                let key = serde_json::from_str::<Cow<'_, str>>(&json);
                self.steps.resize(depth.saturating_sub(1) as usize, None);
                self.steps.push(Some(key.map_or_else(|_| text.into(), Into::into)));
            }
            Token::ValueStart { depth, .. } => self.steps.resize(depth as usize, None),
            Token::ValueEnd { .. } | Token::Next { .. } => {}
        }
    }

    /// Adds text of a key, as JSON.
    pub(super) fn push_key(&mut self, text: &str) {
        if let Some(key) = &mut self.open_key {
            key.push_str(text);
        }
    }
}
