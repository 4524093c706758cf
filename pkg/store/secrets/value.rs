//! The value of a secret.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

use super::SecretError;

/// Maximum length of a value, in bytes: keys, and the JSON of a cloud account.
pub(super) const MAX_VALUE: usize = 16 << 10;

/// The value of a secret: a text of 1 byte to 16 KiB. `Debug` does not show it, and its memory is overwritten with zeros when it is dropped.
///
/// # Examples
///
/// ```
/// use forgeline::store::SecretValue;
///
/// let value = SecretValue::new("sk-1")?;
/// assert_eq!(format!("{value:?}"), "SecretValue(…)");
/// assert_eq!(value.expose(), "sk-1");
/// # Ok::<(), forgeline::store::SecretError>(())
/// ```
#[derive(Clone)]
pub struct SecretValue(SecretString);

impl SecretValue {
    /// Returns a value.
    ///
    /// # Errors
    ///
    /// Returns [`SecretError::Invalid`] for a text that is empty or too long.
    pub fn new(value: impl Into<String>) -> Result<Self, SecretError> {
        let value = SecretString::from(value.into());
        if (1..=MAX_VALUE).contains(&value.expose_secret().len()) {
            return Ok(Self(value));
        }
        Err(SecretError::invalid("value of a secret", format!("1 to {MAX_VALUE} bytes")))
    }

    /// Returns the text. Copies of it are not erased.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretValue(…)")
    }
}
