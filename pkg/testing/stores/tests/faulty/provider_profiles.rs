//! Stores of provider profiles with a fault.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use forgeline_store::{
    InMemoryStore, ProviderProfile, ProviderProfileStore, SecretScope, StoreError, StoreFuture,
    StoredProviderProfile,
};

/// A rule that a store of provider profiles breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProfileFault {
    MissingHasAVersion,
    OrderIsLost,
    VersionsToComeAreTaken,
    TeamsAreUsers,
    DeletesNothing,
    AnyLength,
    AllWin,
}

use ProfileFault as Fault;

/// A store of provider profiles in memory with a fault.
struct FaultyProfiles(InMemoryStore, ProfileFault, AtomicU64);

impl FaultyProfiles {
    fn place(&self, scope: &SecretScope) -> SecretScope {
        let team = scope.container().strip_prefix("team-");
        match team.filter(|_| self.1 == Fault::TeamsAreUsers) {
            Some(team) => SecretScope::user(team).unwrap(),
            None => scope.clone(),
        }
    }
}

impl ProviderProfileStore for FaultyProfiles {
    fn profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, StoredProviderProfile> {
        Box::pin(async move {
            let mut found = self.0.profile(&self.place(scope)).await?;
            let is_untouched = self.2.load(Ordering::Relaxed) == 0;
            if self.1 == Fault::MissingHasAVersion && is_untouched {
                found.version = 1;
            }
            if self.1 == Fault::OrderIsLost && found.profile.instances.len() == 3 {
                found.profile.instances.sort_by(|one, other| one.id.cmp(&other.id));
            }
            Ok(found)
        })
    }

    fn set_profile<'a>(
        &'a self,
        scope: &'a SecretScope,
        profile: ProviderProfile,
        version: u64,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            self.2.fetch_add(1, Ordering::Relaxed);
            let known = self.0.profile(&self.place(scope)).await?.version;
            if self.1 == Fault::VersionsToComeAreTaken && version > known {
                return Ok(true);
            }
            match self.0.set_profile(&self.place(scope), profile, version).await {
                Err(StoreError::Full { .. }) if self.1 == Fault::AnyLength => Ok(true),
                Ok(false) if self.1 == Fault::AllWin && known > 0 && known < 5 => {
                    Ok(self.2.load(Ordering::Relaxed) > 6)
                }
                set => set,
            }
        })
    }

    fn delete_profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            if self.1 == Fault::DeletesNothing {
                return Ok(true);
            }
            self.0.delete_profile(&self.place(scope)).await
        })
    }
}

#[tokio::test]
async fn each_wrong_store_of_provider_profiles_fails_the_check_that_is_meant() {
    let faults = [
        (Fault::MissingHasAVersion, "missing"),
        (Fault::OrderIsLost, "round-trip"),
        (Fault::VersionsToComeAreTaken, "version"),
        (Fault::TeamsAreUsers, "scopes"),
        (Fault::DeletesNothing, "deleted"),
        (Fault::AnyLength, "long"),
        (Fault::AllWin, "race"),
    ];
    for (fault, check) in faults {
        let make =
            async || Arc::new(FaultyProfiles(InMemoryStore::new(), fault, AtomicU64::new(0)));
        let report = check_provider_profile_store(make).await;
        assert_eq!(failed(&report), [check], "{fault:?}: {report}");
    }
}
