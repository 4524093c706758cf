//! The provider profiles of [`InMemoryStore`].

use super::{
    InMemoryStore,
    locks::{lock, ready},
};
use crate::{
    ProviderProfile, ProviderProfileStore, SecretScope, StoreError, StoreFuture,
    StoredProviderProfile,
    secrets::profile_json::{from_json, to_json},
};

/// Maximum number of profiles.
const MAX_PROFILES: usize = 100_000;

impl ProviderProfileStore for InMemoryStore {
    fn profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, StoredProviderProfile> {
        let read = |(json, version): &(String, u64)| {
            Ok(StoredProviderProfile::new(from_json(json)?, *version))
        };
        let profiles = lock(&self.0.profiles);
        ready(
            profiles
                .get(scope.container())
                .map_or_else(|| Ok(StoredProviderProfile::default()), read),
        )
    }

    fn set_profile<'a>(
        &'a self,
        scope: &'a SecretScope,
        profile: ProviderProfile,
        version: u64,
    ) -> StoreFuture<'a, bool> {
        let json = match to_json(&profile) {
            Ok(json) => json,
            Err(too_long) => return ready(Err(too_long)),
        };
        let mut profiles = lock(&self.0.profiles);
        let is_new = !profiles.contains_key(scope.container());
        if is_new && version == 0 && profiles.len() >= MAX_PROFILES {
            let reason = format!("it has {MAX_PROFILES} profiles in memory; use a database");
            return ready(Err(StoreError::full(reason)));
        }
        let known = profiles.get(scope.container()).map_or(0, |(_, version)| *version);
        if known != version {
            return ready(Ok(false));
        }
        profiles.insert(scope.container().into(), (json, version + 1));
        ready(Ok(true))
    }

    fn delete_profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, bool> {
        ready(Ok(lock(&self.0.profiles).remove(scope.container()).is_some()))
    }
}
