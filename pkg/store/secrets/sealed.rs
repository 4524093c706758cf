//! Encrypted secrets in the table of an engine.

use std::{fmt, sync::Arc};

use super::{
    MAX_SECRETS, SealingKeys, SecretError, SecretFuture, SecretName, SecretRows, SecretScope,
    SecretStore, SecretValue,
};
use forgeline_types::Text;

/// Number of rows that are read at a time for a rotation.
const PAGE: usize = 100;

/// Secrets that are encrypted with XChaCha20-Poly1305 before an engine gets them. Clones share the engine and the keys.
///
/// Each value is encrypted with a nonce of its own and bound to its scope, name and key: a row that was changed, or moved to another scope or name, does
/// not open. Whoever has the database and not the keys learns the names and lengths alone. Whoever may write to the database can delete a secret, or put
/// back an earlier value of the same name.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{InMemoryStore, SealedSecrets, SealingKeys, SecretName, SecretScope, SecretStore, SecretValue};
///
/// let rows = InMemoryStore::new();
/// let secrets = SealedSecrets::new(rows.clone(), SealingKeys::parse(&"0f".repeat(32))?);
/// let (scope, name) = (SecretScope::team("a")?, SecretName::new("openai")?);
/// secrets.set(&scope, &name, SecretValue::new("sk-1")?).await?;
///
/// // The new key before the old one.
/// let keys = format!("{}\n{}", "a1".repeat(32), "0f".repeat(32));
/// let secrets = SealedSecrets::new(rows, SealingKeys::parse(&keys)?);
/// assert_eq!(secrets.rotate().await?.rewritten, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SealedSecrets {
    rows: Arc<dyn SecretRows>,
    keys: Arc<SealingKeys>,
}

/// The result of [`SealedSecrets::rotate`].
///
/// # Examples
///
/// ```
/// assert!(forgeline::store::SecretRotation::default().unreadable.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecretRotation {
    /// The number of secrets that the first key encrypts now.
    pub rewritten: u64,
    /// The containers and names of those that no key opens, which are left as they are.
    pub unreadable: Vec<(Text, Text)>,
}

impl SealedSecrets {
    /// Returns secrets in the table of an engine, encrypted with these keys.
    #[must_use]
    pub fn new(rows: impl SecretRows, keys: SealingKeys) -> Self {
        Self { rows: Arc::new(rows), keys: Arc::new(keys) }
    }

    /// Encrypts the secrets of all scopes that another key encrypted with the first key. A secret that is set in the meantime stays as it was set. Earlier
    /// rows may be in backups and in the log of a database: if a key was stolen, change the secrets, too.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used; the next call rewrites the rest.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, each secret is encrypted by one key or the other; the next call rewrites the rest.
    pub async fn rotate(&self) -> Result<SecretRotation, SecretError> {
        let (mut done, mut after) = (SecretRotation::default(), None);
        loop {
            let rows = self.rows.rows_of_other_keys(self.keys.first_id(), after, PAGE).await?;
            let Some(last) = rows.last() else { return Ok(done) };
            after = Some((last.container.clone(), last.name.clone()));
            for old in rows {
                let place = (old.container.clone(), old.name.clone());
                let name = SecretName::new(old.name.clone());
                let opened = name.and_then(|name| self.keys.open(&old.container, &name, &old));
                let Ok(value) = opened else {
                    done.unreadable.push(place);
                    continue;
                };
                let new = self.keys.seal(&place.0, &place.1, &value)?;
                done.rewritten += u64::from(self.rows.replace(old, new).await?);
            }
        }
    }
}

impl SecretStore for SealedSecrets {
    fn get<'a>(
        &'a self,
        scope: &'a SecretScope,
        name: &'a SecretName,
    ) -> SecretFuture<'a, Option<SecretValue>> {
        Box::pin(async move {
            let row = self.rows.row(scope.container(), name.as_str()).await?;
            row.map(|row| self.keys.open(scope.container(), name, &row)).transpose()
        })
    }

    fn set<'a>(
        &'a self,
        scope: &'a SecretScope,
        name: &'a SecretName,
        value: SecretValue,
    ) -> SecretFuture<'a, ()> {
        Box::pin(async move {
            let row = self.keys.seal(scope.container(), name.as_str(), &value)?;
            let is_set = self.rows.put(row, MAX_SECRETS).await?;
            if is_set { Ok(()) } else { Err(SecretError::full(MAX_SECRETS)) }
        })
    }

    fn delete<'a>(
        &'a self,
        scope: &'a SecretScope,
        name: &'a SecretName,
    ) -> SecretFuture<'a, bool> {
        Box::pin(async move { Ok(self.rows.remove(scope.container(), name.as_str()).await?) })
    }

    fn names<'a>(&'a self, scope: &'a SecretScope) -> SecretFuture<'a, Vec<SecretName>> {
        Box::pin(async move {
            let names = self.rows.row_names(scope.container()).await?;
            names.into_iter().map(SecretName::new).collect()
        })
    }
}

impl fmt::Debug for SealedSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SealedSecrets").field("keys", &self.keys).finish_non_exhaustive()
    }
}
