//! The provider profiles of [`SqliteStore`].

use rusqlite::{Connection, params};

use super::{
    SqliteStore,
    statements::{execute, int, number, row},
};
use crate::{
    ProviderProfile, ProviderProfileStore, SecretScope, StoreFuture, StoredProviderProfile,
    secrets::profile_json::{from_json, to_json},
};

const SET: &str = "INSERT INTO provider_profile (container, version, profile) SELECT ?1, ?2 + 1, ?3 \
     WHERE coalesce((SELECT version FROM provider_profile WHERE container = ?1), 0) = ?2 \
     ON CONFLICT (container) DO UPDATE SET version = excluded.version, profile = excluded.profile";

impl ProviderProfileStore for SqliteStore {
    fn profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, StoredProviderProfile> {
        let container = scope.container().to_owned();
        Box::pin(self.query(move |connection| {
            let sql = "SELECT version, profile FROM provider_profile WHERE container = ?";
            let found: Option<(i64, String)> = row(connection, sql, [container])?;
            let Some((version, json)) = found else { return Ok(StoredProviderProfile::default()) };
            Ok(StoredProviderProfile::new(from_json(&json)?, number(version)))
        }))
    }

    fn set_profile<'a>(
        &'a self,
        scope: &'a SecretScope,
        profile: ProviderProfile,
        version: u64,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let (json, container) = (to_json(&profile)?, scope.container().to_owned());
            let write = move |connection: &Connection| {
                execute(connection, SET, params![container, int(version), json])
            };
            Ok(self.0.writer.write(0, write).await? > 0)
        })
    }

    fn delete_profile<'a>(&'a self, scope: &'a SecretScope) -> StoreFuture<'a, bool> {
        let container = scope.container().to_owned();
        Box::pin(async move {
            let delete = move |connection: &Connection| {
                let sql = "DELETE FROM provider_profile WHERE container = ?";
                execute(connection, sql, [container.as_str()])
            };
            let was_there = self.0.writer.write(0, delete).await? > 0;
            self.deleted();
            self.purge().await;
            Ok(was_there)
        })
    }
}
