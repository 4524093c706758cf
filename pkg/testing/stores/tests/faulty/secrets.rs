//! Stores of secrets with a fault.

use super::*;
use forgeline_store::{
    MAX_SECRETS, SealedSecrets, SecretError, SecretFuture, SecretName, SecretScope, SecretStore,
    SecretValue,
};

/// A rule that a store of secrets breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecretFault {
    MissingIsAnError,
    LongOnesAreCut,
    HasSaysNo,
    FirstStays,
    DeletedStay,
    MissingWereThere,
    NamesOfNothing,
    NamesBackwards,
    CaseIsIgnored,
    ScopesShareValues,
    DeletesEverywhere,
    AnyNumber,
    ClearsNothing,
    RacesAreMixed,
}

use SecretFault as Fault;

/// A store of secrets in memory with a fault.
struct FaultySecrets(SealedSecrets, SecretFault);

impl FaultySecrets {
    /// Returns the scope and the name under which a secret is kept.
    fn place(&self, scope: &SecretScope, name: &SecretName) -> (SecretScope, SecretName) {
        let lower = || SecretName::new(name.as_str().to_lowercase()).unwrap();
        match self.1 {
            Fault::CaseIsIgnored if name.as_str().starts_with("Open") => (scope.clone(), lower()),
            Fault::ScopesShareValues if name.as_str().starts_with("own.") => {
                (SecretScope::platform(), name.clone())
            }
            _ => (scope.clone(), name.clone()),
        }
    }
}

impl SecretStore for FaultySecrets {
    fn get<'a>(
        &'a self,
        scope: &'a SecretScope,
        name: &'a SecretName,
    ) -> SecretFuture<'a, Option<SecretValue>> {
        Box::pin(async move {
            let (at, key) = self.place(scope, name);
            let found = self.0.get(&at, &key).await?;
            match (self.1, found) {
                (Fault::MissingIsAnError, None) if self.0.names(scope).await?.is_empty() => {
                    Err(SecretError::changed(name.as_str()))
                }
                (Fault::LongOnesAreCut, Some(value)) if value.expose().len() > 10_000 => {
                    SecretValue::new(value.expose().split_at(10_000).0).map(Some)
                }
                (Fault::RacesAreMixed, Some(value))
                    if (1_000..2_000).contains(&value.expose().len()) =>
                {
                    SecretValue::new(format!("{}mixed", value.expose())).map(Some)
                }
                (_, found) => Ok(found),
            }
        })
    }

    fn set<'a>(
        &'a self,
        scope: &'a SecretScope,
        name: &'a SecretName,
        value: SecretValue,
    ) -> SecretFuture<'a, ()> {
        Box::pin(async move {
            let (at, key) = self.place(scope, name);
            let is_second = value.expose() == "sk-2" && self.0.has(&at, &key).await?;
            if self.1 == Fault::FirstStays && is_second {
                return Ok(());
            }
            match self.0.set(&at, &key, value).await {
                Err(SecretError::Full { .. }) if self.1 == Fault::AnyNumber => Ok(()),
                set => set,
            }
        })
    }

    fn delete<'a>(
        &'a self,
        scope: &'a SecretScope,
        name: &'a SecretName,
    ) -> SecretFuture<'a, bool> {
        Box::pin(async move {
            let (at, key) = self.place(scope, name);
            if self.1 == Fault::DeletedStay && self.0.names(&at).await?.len() == 2 {
                return self.0.has(&at, &key).await;
            }
            if self.1 == Fault::DeletesEverywhere && name.as_str() == "openai" {
                let ann = SecretScope::user("ann")?;
                self.0.delete(&ann, &key).await?;
            }
            let was_there = self.0.delete(&at, &key).await?;
            Ok(was_there || self.1 == Fault::MissingWereThere)
        })
    }

    fn names<'a>(&'a self, scope: &'a SecretScope) -> SecretFuture<'a, Vec<SecretName>> {
        Box::pin(async move {
            let mut names = self.0.names(scope).await?;
            match self.1 {
                Fault::NamesOfNothing if names.is_empty() => names.push(SecretName::new("openai")?),
                Fault::NamesBackwards if names.len() == 8 => names.reverse(),
                Fault::AnyNumber if names.len() == MAX_SECRETS => {
                    names.push(SecretName::new("more")?);
                }
                _ => {}
            }
            Ok(names)
        })
    }

    fn has<'a>(&'a self, scope: &'a SecretScope, name: &'a SecretName) -> SecretFuture<'a, bool> {
        Box::pin(async move {
            if self.1 == Fault::HasSaysNo {
                return Ok(false);
            }
            let (at, key) = self.place(scope, name);
            self.0.has(&at, &key).await
        })
    }

    fn clear<'a>(&'a self, scope: &'a SecretScope) -> SecretFuture<'a, u64> {
        Box::pin(async move {
            if self.1 == Fault::ClearsNothing {
                return Ok(0);
            }
            self.0.clear(scope).await
        })
    }
}

#[tokio::test]
async fn each_wrong_store_of_secrets_fails_the_check_that_is_meant() {
    let faults = [
        (Fault::MissingIsAnError, "missing"),
        (Fault::LongOnesAreCut, "round-trip"),
        (Fault::HasSaysNo, "has"),
        (Fault::FirstStays, "overwrite"),
        (Fault::DeletedStay, "delete"),
        (Fault::MissingWereThere, "delete-missing"),
        (Fault::NamesOfNothing, "no-names"),
        (Fault::NamesBackwards, "names"),
        (Fault::CaseIsIgnored, "neighbours"),
        (Fault::ScopesShareValues, "scopes-set"),
        (Fault::DeletesEverywhere, "scopes-delete"),
        (Fault::AnyNumber, "bound"),
        (Fault::ClearsNothing, "clear"),
        (Fault::RacesAreMixed, "race"),
    ];
    let all = check_secret_store(async || Arc::new(SealedSecrets::in_memory().unwrap())).await;
    assert_eq!(all.checks.len(), faults.len(), "each check has a wrong store");
    for (fault, check) in faults {
        let make = async || {
            let secrets = SealedSecrets::in_memory().unwrap();
            Arc::new(FaultySecrets(secrets, fault))
        };
        let report = check_secret_store(make).await;
        assert_eq!(failed(&report), [check], "{fault:?}: {report}");
    }
}
