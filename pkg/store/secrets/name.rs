//! The name of a secret.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SecretError;
use forgeline_types::Text;

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 128;

/// The name of a secret: 1 to 128 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`. Upper and lower case are distinguished.
///
/// # Examples
///
/// ```
/// use forgeline::store::SecretName;
///
/// assert_eq!(SecretName::new("openai.work")?.as_str(), "openai.work");
/// assert!(SecretName::new("../openai").is_err());
/// # Ok::<(), forgeline::store::SecretError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Text")]
pub struct SecretName(Text);

impl SecretName {
    /// Returns a name.
    ///
    /// # Errors
    ///
    /// Returns [`SecretError::Invalid`] for a text that is none.
    pub fn new(name: impl Into<Text>) -> Result<Self, SecretError> {
        let name = name.into();
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_sign) {
            return Ok(Self(name));
        }
        let expected = format!("1 to {MAX_NAME} of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`");
        Err(SecretError::invalid("name of a secret", expected))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<Text> for SecretName {
    type Error = SecretError;

    fn try_from(name: Text) -> Result<Self, SecretError> {
        Self::new(name)
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
