//! The provider profiles of [`PostgresStore`].

use super::{
    PostgresStore,
    pool::RepeatRule,
    values::{column, count, values},
};
use crate::{
    ProviderProfile, ProviderProfileStore, SecretScope, StoreFuture, StoredProviderProfile,
    integers::int,
    secrets::profile_json::{from_json, to_json},
};

const READ: &str = "SELECT version, profile FROM forgeline.provider_profile WHERE container = $1";

// The row is locked if it exists. Otherwise the second of two writers finds that of the first, which has another version.
const SET: &str = "INSERT INTO forgeline.provider_profile AS known (container, version, profile) \
     SELECT $1, $2 + 1, $3 WHERE $2 = 0 OR EXISTS (SELECT 1 FROM forgeline.provider_profile WHERE container = $1) \
     ON CONFLICT (container) DO UPDATE SET version = excluded.version, profile = excluded.profile \
     WHERE known.version = $2 RETURNING 1";

const DELETE: &str = "DELETE FROM forgeline.provider_profile WHERE container = $1 RETURNING 1";

impl ProviderProfileStore for PostgresStore {
    fn profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, StoredProviderProfile> {
        Box::pin(async move {
            let container = scope.container();
            let values = values![container];
            let Some(row) = self.0.pool.row(RepeatRule::Safe, READ, values).await? else {
                return Ok(StoredProviderProfile::default());
            };
            let profile = from_json(column::<&str>(&row, 1)?)?;
            Ok(StoredProviderProfile::new(profile, count(&row, 0)?))
        })
    }

    fn set_profile<'a>(
        &'a self,
        scope: &'a SecretScope,
        profile: ProviderProfile,
        version: u64,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let (json, container, version) = (to_json(&profile)?, scope.container(), int(version));
            let json = json.as_str();
            let values = values![container, version, json];
            Ok(self.0.pool.row(RepeatRule::Unsafe, SET, values).await?.is_some())
        })
    }

    fn delete_profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let container = scope.container();
            let values = values![container];
            Ok(self.0.pool.row(RepeatRule::Unsafe, DELETE, values).await?.is_some())
        })
    }
}
