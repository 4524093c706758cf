//! A text that must not be shown.

use std::fmt;

use forgeline_types::Text;
use secrecy::{ExposeSecret as _, SecretString};

/// A secret text, such as an API key. `Debug` does not show it, and its memory is overwritten with zeros when it is dropped.
///
/// It has no `Display`, no `Deref` and no `PartialEq`: a program reads it only with [`expose`](Self::expose), which is easy to find
/// in a review. `From` moves the text of a [`String`], and copies that of a reference, which the caller erases.
///
/// # Examples
///
/// ```
/// use forgeline::llm::http::Secret;
///
/// let key = Secret::from("s3cret");
/// assert_eq!(format!("{key:?}"), "Secret(…)");
/// assert_eq!(key.expose(), "s3cret");
/// ```
#[derive(Clone, Default)]
pub struct Secret(SecretString);

impl Secret {
    /// Returns the text. Copies of it are not erased.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(SecretString::from(text))
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(SecretString::from(text))
    }
}

impl From<&String> for Secret {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Text> for Secret {
    fn from(text: Text) -> Self {
        Self::from(text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_by_expose_alone() {
        let text = "s3cret".to_owned();
        let secrets = [
            Secret::from("s3cret"),
            Secret::from(&text),
            Secret::from(Text::from("s3cret")),
            Secret::from(text),
        ];
        for secret in &secrets {
            assert_eq!(secret.expose(), "s3cret");
            assert_eq!(secret.clone().expose(), "s3cret");
        }
        assert!(!format!("{secrets:?} {:#?}", Some(&secrets[0])).contains("s3cret"));
        assert_eq!(Secret::default().expose(), "");
    }
}
