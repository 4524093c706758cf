//! What servers repeat of our keys is struck out.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::{
    llm::ProviderError,
    types::{Json, Text},
};

/// Shortest word that is taken for a secret, in bytes: striking out less would garble messages.
const MIN_BYTES: usize = 4;

/// Words that must not be shown.
#[derive(Default, Clone)]
pub(super) struct Secrets(Vec<SecretString>);

impl FromIterator<SecretString> for Secrets {
    fn from_iter<I: IntoIterator<Item = SecretString>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Secrets {
    /// Adds words.
    pub(super) fn extend(&mut self, values: impl IntoIterator<Item = SecretString>) {
        self.0.extend(values);
    }

    /// A header may hold a scheme before its secret, as in `Bearer KEY`; then the key counts alone.
    fn words(&self) -> impl Iterator<Item = &str> {
        let schemes = ["bearer", "basic", "token", "key"];
        let values = self.0.iter().map(ExposeSecret::expose_secret);
        let values = values.map(move |value| match value.split_once(' ') {
            Some((scheme, key)) if schemes.contains(&&*scheme.to_ascii_lowercase()) => key.trim(),
            _ => value,
        });
        values.filter(|value| value.len() >= MIN_BYTES)
    }

    /// `text` without them, nor the start of one at its end, where a message was shortened.
    pub(super) fn strike(&self, text: &str) -> String {
        let whole = |text: String, secret: &str| text.replace(secret, "[key]");
        self.words().fold(self.words().fold(text.to_owned(), whole), strike_cut)
    }

    /// `error` without them, wherever it holds words of the server.
    pub(super) fn strike_error(&self, error: ProviderError) -> ProviderError {
        let text = |text: Text| Text::from(self.strike(&text));
        match error {
            ProviderError::InStream { kind, code, message, raw } => ProviderError::InStream {
                kind,
                code: code.map(text),
                message: text(message),
                raw: raw.map(|raw| self.strike_json(raw)),
            },
            ProviderError::Decode { offset, reason } => {
                ProviderError::Decode { offset, reason: text(reason) }
            }
            ProviderError::RetriesExhausted { attempts, last } => {
                let last = Box::new(self.strike_error(*last));
                ProviderError::RetriesExhausted { attempts, last }
            }
            other @ (ProviderError::Connect { .. }
            | ProviderError::Aborted { .. }
            | ProviderError::SchemaUnsupported { .. }
            | ProviderError::Timeout { .. }
            | ProviderError::Status(_)
            | ProviderError::EndedEarly { .. }
            | ProviderError::Body { .. }
            | ProviderError::Cancelled
            | ProviderError::Unsupported { .. }
            | ProviderError::Config { .. }) => other,
        }
    }

    /// As read, since JSON may write a secret with escapes; what holds none keeps its form.
    fn strike_json(&self, raw: Json) -> Json {
        let value = raw.to_value();
        let struck = self.strike_value(&value);
        if struck == value { raw } else { Json::from(struck) }
    }

    fn strike_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.strike(text)),
            Value::Array(items) => items.iter().map(|item| self.strike_value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields.map(|(key, value)| (self.strike(key), self.strike_value(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

fn strike_cut(text: String, secret: &str) -> String {
    let kept = text.trim_end_matches(['…', '"']);
    let starts = (MIN_BYTES..secret.len()).rev().filter_map(|end| secret.get(..end));
    match starts.into_iter().find_map(|start| kept.strip_suffix(start)) {
        Some(before) => format!("{before}[key]"),
        None => text,
    }
}
