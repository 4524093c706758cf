//! Secrets of the platform in environment variables.

use std::collections::BTreeMap;

use super::{SecretError, SecretFuture, SecretName, SecretScope, SecretStore, SecretValue};

/// The secrets of the platform in environment variables, which are read at each use and never changed. Users and teams have none here.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{EnvironmentSecrets, SecretName, SecretScope, SecretStore};
///
/// let name = SecretName::new("place")?;
/// let secrets = EnvironmentSecrets::new().variable(name.clone(), "PATH");
/// assert!(secrets.has(&SecretScope::platform(), &name).await?);
/// assert!(!secrets.has(&SecretScope::user("ann")?, &name).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct EnvironmentSecrets {
    variables: BTreeMap<SecretName, String>,
}

impl EnvironmentSecrets {
    /// Returns a store without variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the variable that has a secret.
    #[must_use]
    pub fn variable(mut self, name: SecretName, variable: impl Into<String>) -> Self {
        self.variables.insert(name, variable.into());
        self
    }

    /// Returns a secret of the platform; one that is empty or too long counts as not set.
    fn find(&self, scope: &SecretScope, name: &SecretName) -> Option<SecretValue> {
        let variable = self.variables.get(name).filter(|_| *scope == SecretScope::platform())?;
        SecretValue::new(std::env::var(variable).ok()?).ok()
    }

    fn refused<T>() -> Result<T, SecretError> {
        let reason =
            "they are environment variables of the service; its operator changes them there";
        Err(SecretError::read_only(reason))
    }
}

impl SecretStore for EnvironmentSecrets {
    fn get<'a>(
        &'a self,
        scope: &'a SecretScope,
        name: &'a SecretName,
    ) -> SecretFuture<'a, Option<SecretValue>> {
        Box::pin(std::future::ready(Ok(self.find(scope, name))))
    }

    fn set<'a>(
        &'a self,
        _: &'a SecretScope,
        _: &'a SecretName,
        _: SecretValue,
    ) -> SecretFuture<'a, ()> {
        Box::pin(std::future::ready(Self::refused()))
    }

    fn delete<'a>(&'a self, _: &'a SecretScope, _: &'a SecretName) -> SecretFuture<'a, bool> {
        Box::pin(std::future::ready(Self::refused()))
    }

    fn names<'a>(&'a self, scope: &'a SecretScope) -> SecretFuture<'a, Vec<SecretName>> {
        let is_set = |name: &&SecretName| self.find(scope, name).is_some();
        Box::pin(std::future::ready(Ok(self.variables.keys().filter(is_set).cloned().collect())))
    }
}
