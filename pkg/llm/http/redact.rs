//! Redaction of the secrets that servers repeat.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::{
    llm::ProviderError,
    types::{Json, Text},
};

/// Shortest word that is taken for a secret, in bytes: redacting less would garble messages.
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

    /// Returns the words. A header may hold a scheme before its secret, as in `Bearer KEY`; then the
    /// key counts alone.
    fn words(&self) -> impl Iterator<Item = &str> {
        let schemes = ["bearer", "basic", "token", "key"];
        let values = self.0.iter().map(ExposeSecret::expose_secret);
        let values = values.map(move |value| match value.split_once(' ') {
            Some((scheme, key)) if schemes.contains(&&*scheme.to_ascii_lowercase()) => key.trim(),
            _ => value,
        });
        values.filter(|value| value.len() >= MIN_BYTES)
    }

    /// Redacts them in `text`, and the start of one at its end, where a message was truncated.
    pub(super) fn redact(&self, text: &str) -> String {
        let whole = |text: String, secret: &str| text.replace(secret, "[key]");
        self.words().fold(self.words().fold(text.to_owned(), whole), redact_cut)
    }

    /// Redacts them in `error`, wherever it holds words of the server.
    pub(super) fn redact_error(&self, mut error: ProviderError) -> ProviderError {
        let redact = |text: &mut Text| *text = Text::from(self.redact(text));
        if let ProviderError::InStream { code, message, raw, .. } = &mut error {
            code.iter_mut().for_each(redact);
            redact(message);
            *raw = raw.take().map(|raw| self.redact_json(raw));
        } else if let ProviderError::Decode { reason, .. } = &mut error {
            redact(reason);
        } else if let ProviderError::RetriesExhausted { last, .. } = &mut error {
            let inner = std::mem::replace(&mut **last, ProviderError::Cancelled);
            **last = self.redact_error(inner);
        }
        error
    }

    /// Redacts them in JSON as read, since it may write a secret with escapes; JSON that holds none
    /// keeps its form.
    fn redact_json(&self, raw: Json) -> Json {
        let value = raw.to_value();
        let redacted = self.redact_value(&value);
        if redacted == value { raw } else { Json::from(redacted) }
    }

    fn redact_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(text)),
            Value::Array(items) => items.iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields.map(|(key, value)| (self.redact(key), self.redact_value(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

fn redact_cut(text: String, secret: &str) -> String {
    let kept = text.trim_end_matches(['…', '"']);
    let starts = (MIN_BYTES..secret.len()).rev().filter_map(|end| secret.get(..end));
    match starts.into_iter().find_map(|start| kept.strip_suffix(start)) {
        Some(before) => format!("{before}[key]"),
        None => text,
    }
}
