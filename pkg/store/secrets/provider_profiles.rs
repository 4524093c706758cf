//! The providers that a user, a team or the platform has set up.

use serde::{Deserialize, Serialize};

use super::{SecretName, SecretScope};
use crate::StoreFuture;
use forgeline_types::Text;

/// The provider instances of scopes: one profile for each user, team and the platform. A profile has no keys: it names secrets.
///
/// Every operation completes within 10 s, if necessary with [`StoreError::Slow`](crate::StoreError::Slow).
///
/// # Cancel safety
///
/// If the future of a write is dropped, the write may or may not be made, and never in part.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{InMemoryStore, ProviderInstance, ProviderProfileStore, SecretName, SecretScope};
///
/// let (store, scope) = (InMemoryStore::new(), SecretScope::user("ann")?);
/// let mut stored = store.profile(&scope).await?;
/// stored.profile.instances.push(ProviderInstance::new("work", "openai", SecretName::new("openai.work")?));
/// stored.profile.default = Some("work".into());
/// assert!(store.set_profile(&scope, stored.profile.clone(), stored.version).await?);
/// assert!(!store.set_profile(&scope, stored.profile, stored.version).await?, "it has changed since");
/// # Ok(())
/// # }
/// ```
pub trait ProviderProfileStore: Send + Sync + 'static {
    /// Returns the profile of a scope; one that was never set is empty and has version 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used, or has a profile that cannot be read.
    fn profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, StoredProviderProfile>;

    /// Sets the profile of a scope, whose next version it is; returns `false`, and changes nothing, if the store has another version than this one.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Full`](crate::StoreError::Full) for a profile of more than 64 KiB as JSON, or an error if the store cannot be used.
    fn set_profile<'a>(
        &'a self,
        scope: &'a SecretScope,
        profile: ProviderProfile,
        version: u64,
    ) -> StoreFuture<'a, bool>;

    /// Deletes the profile of a scope; returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn delete_profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, bool>;
}

/// A profile and its version.
///
/// # Examples
///
/// ```
/// assert_eq!(forgeline::store::StoredProviderProfile::default().version, 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredProviderProfile {
    /// The profile.
    pub profile: ProviderProfile,
    /// The number of times it was set.
    pub version: u64,
}

impl StoredProviderProfile {
    /// Returns a profile with its version.
    #[must_use]
    pub fn new(profile: ProviderProfile, version: u64) -> Self {
        Self { profile, version }
    }
}

/// The provider instances of a scope.
///
/// # Examples
///
/// ```
/// use forgeline::store::{ProviderInstance, ProviderProfile, SecretName};
///
/// let mut profile = ProviderProfile::default();
/// profile.instances.push(ProviderInstance::new("work", "openai", SecretName::new("openai")?));
/// assert_eq!(profile.find("work").map(|it| it.kind.as_str()), Some("openai"));
/// # Ok::<(), forgeline::store::SecretError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ProviderProfile {
    /// The instances.
    pub instances: Vec<ProviderInstance>,
    /// The id of the one that answers a message which chooses none.
    pub default: Option<Text>,
}

impl ProviderProfile {
    /// Returns the instance of this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&ProviderInstance> {
        self.instances.iter().find(|instance| instance.id == id)
    }

    /// Returns the instance that answers a message which chooses none.
    #[must_use]
    pub fn routed(&self) -> Option<&ProviderInstance> {
        self.find(self.default.as_deref()?)
    }
}

/// A provider as a user, a team or the platform has set it up.
///
/// # Examples
///
/// ```
/// use forgeline::store::{ProviderInstance, SecretName};
///
/// let mut instance = ProviderInstance::new("work", "openai", SecretName::new("openai.work")?);
/// instance.model = Some("gpt-5".into());
/// assert_eq!(instance.display_name, "work");
/// # Ok::<(), forgeline::store::SecretError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProviderInstance {
    /// Its id, unique in its scope.
    pub id: Text,
    /// The id of its kind, such as `openai`.
    pub kind: Text,
    /// Its model; `None` for the default of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// Its name for people.
    pub display_name: Text,
    /// The name of the secret with its key, in the same scope.
    pub secret: SecretName,
    /// The address of its server; `None` for that of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<Text>,
}

impl ProviderInstance {
    /// Returns an instance of a kind, named like its id.
    #[must_use]
    pub fn new(id: impl Into<Text>, kind: impl Into<Text>, secret: SecretName) -> Self {
        let (id, kind) = (id.into(), kind.into());
        let display_name = id.clone();
        Self { id, kind, model: None, display_name, secret, base_url: None }
    }
}
