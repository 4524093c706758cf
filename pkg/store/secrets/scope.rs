//! The scope of secrets.

use super::SecretError;
use forgeline_types::Text;

/// Maximum length of the id of a user or team, in bytes.
const MAX_ID: usize = 1_024;

/// The owner of secrets: the platform, a user or a team. Each has a container of its own in a store.
///
/// # Examples
///
/// ```
/// use forgeline::store::SecretScope;
///
/// assert_eq!(SecretScope::platform().container(), "_platform");
/// assert_eq!(SecretScope::user("ann")?.container(), "user-ann");
/// assert_eq!(SecretScope::team("a")?.container(), "team-a");
/// # Ok::<(), forgeline::store::SecretError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretScope(Text);

impl SecretScope {
    /// Returns the scope of the platform: the operator of the service.
    #[must_use]
    pub fn platform() -> Self {
        Self(Text::from("_platform"))
    }

    /// Returns the scope of a user. The id names one person in the whole store.
    ///
    /// # Errors
    ///
    /// Returns [`SecretError::Invalid`] for an id that is empty, longer than 1 KiB, or has a control character.
    pub fn user(id: &str) -> Result<Self, SecretError> {
        Self::of("user-", id)
    }

    /// Returns the scope of a team.
    ///
    /// # Errors
    ///
    /// The same as for [`user`](Self::user).
    pub fn team(id: &str) -> Result<Self, SecretError> {
        Self::of("team-", id)
    }

    fn of(prefix: &str, id: &str) -> Result<Self, SecretError> {
        if (1..=MAX_ID).contains(&id.len()) && !id.chars().any(char::is_control) {
            return Ok(Self(Text::from(format!("{prefix}{id}"))));
        }
        let expected = format!("1 to {MAX_ID} bytes without control characters");
        Err(SecretError::invalid("id of a scope", expected))
    }

    /// Returns the name of the container in the store: `_platform`, `user-` or `team-` and the id.
    #[must_use]
    pub fn container(&self) -> &str {
        &self.0
    }
}
