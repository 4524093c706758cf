//! Secrets, such as the keys of providers: written once, and read by the service alone.

mod environment;
mod error;
mod files;
mod keys;
mod name;
pub(super) mod profile_json;
mod provider_profiles;
mod rows;
mod scope;
mod seal;
mod sealed;
#[cfg(test)]
mod tests;
mod value;

use futures_util::FutureExt as _;

pub use self::{
    environment::EnvironmentSecrets,
    error::{SealingKeyError, SecretError, SecretFuture},
    files::SecretFiles,
    keys::SealingKeys,
    name::SecretName,
    provider_profiles::{
        ProviderInstance, ProviderProfile, ProviderProfileStore, StoredProviderProfile,
    },
    rows::{SecretRow, SecretRows},
    scope::SecretScope,
    sealed::{SealedSecrets, SecretRotation},
    value::SecretValue,
};

/// Maximum number of secrets of a scope.
pub const MAX_SECRETS: usize = 256;

/// Secrets by scope and name. Each scope has at most [`MAX_SECRETS`].
///
/// Names are in clear: [`SecretValue`]s alone are secret. Another scope's secrets are not found.
///
/// Every operation completes within 10 s, if necessary with [`StoreError::Slow`](crate::StoreError::Slow). An engine that several processes share may
/// pass the maximum by the number of writers that write at the same moment.
///
/// # Cancel safety
///
/// If the future of [`set`](Self::set) or [`delete`](Self::delete) is dropped, the change may or may not be made, and never in part.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{SealedSecrets, SecretName, SecretScope, SecretStore, SecretValue};
///
/// let secrets = SealedSecrets::in_memory()?;
/// let (scope, name) = (SecretScope::user("ann")?, SecretName::new("openai")?);
/// secrets.set(&scope, &name, SecretValue::new("sk-1")?).await?;
/// assert_eq!(secrets.get(&scope, &name).await?.expect("it was set").expose(), "sk-1");
/// assert_eq!(secrets.names(&SecretScope::platform()).await?, []);
/// # Ok(())
/// # }
/// ```
pub trait SecretStore: Send + Sync + 'static {
    /// Returns a secret; `None` if there is none of this name in the scope.
    ///
    /// # Errors
    ///
    /// Returns [`SecretError::UnknownKey`] or [`SecretError::Changed`] if the stored secret cannot be decrypted, or an error if the store cannot be used.
    fn get<'a>(
        &'a self,
        scope: &'a SecretScope,
        name: &'a SecretName,
    ) -> SecretFuture<'a, Option<SecretValue>>;

    /// Sets a secret, in place of one of the same name.
    ///
    /// # Errors
    ///
    /// Returns [`SecretError::Full`] if the scope has the maximum number of secrets, [`SecretError::ReadOnly`] if the store takes none, or an error if it
    /// cannot be used.
    fn set<'a>(
        &'a self,
        scope: &'a SecretScope,
        name: &'a SecretName,
        value: SecretValue,
    ) -> SecretFuture<'a, ()>;

    /// Deletes a secret; returns `false` if there was none. A second call changes nothing.
    ///
    /// # Errors
    ///
    /// Returns [`SecretError::ReadOnly`] if the store deletes none, or an error if it cannot be used.
    fn delete<'a>(&'a self, scope: &'a SecretScope, name: &'a SecretName)
    -> SecretFuture<'a, bool>;

    /// Returns the names of the secrets of a scope, sorted by their bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn names<'a>(&'a self, scope: &'a SecretScope) -> SecretFuture<'a, Vec<SecretName>>;

    /// Returns `true` if [`get`](Self::get) would return a secret.
    ///
    /// # Errors
    ///
    /// The same as for [`get`](Self::get).
    fn has<'a>(&'a self, scope: &'a SecretScope, name: &'a SecretName) -> SecretFuture<'a, bool> {
        self.get(scope, name).map(|found| found.map(|value| value.is_some())).boxed()
    }

    /// Deletes all secrets of a scope, and returns their number.
    ///
    /// # Errors
    ///
    /// The same as for [`delete`](Self::delete); the next call deletes the rest.
    fn clear<'a>(&'a self, scope: &'a SecretScope) -> SecretFuture<'a, u64> {
        Box::pin(async move {
            let mut count = 0;
            for name in self.names(scope).await? {
                count += u64::from(self.delete(scope, &name).await?);
            }
            Ok(count)
        })
    }
}
