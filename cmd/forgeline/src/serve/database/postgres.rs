//! A database of `PostgreSQL`, for any number of nodes.

use forgeline::{
    server::{CheckState, ServiceBuilder},
    store::{DeltaCommit, PostgresOptions, PostgresStore, Stores, WakeMode},
};

use super::place::{DeltaMode, PostgresPlace};
use crate::exit::UsageResult as _;

/// The name of the check in `/ready`.
const WAKE_CHECK: &str = "postgres_notifications";

/// An open database.
#[derive(Debug, Clone)]
pub(in crate::serve) struct SharedDatabase(PostgresStore);

impl SharedDatabase {
    /// Connects, and creates or migrates the schema.
    ///
    /// # Errors
    ///
    /// A usage error for a database that cannot be used.
    pub(super) async fn open(place: &PostgresPlace) -> anyhow::Result<Self> {
        let options = options(place);
        let name = options.place();
        let store = PostgresStore::connect(options).await.usage_context(|| unusable(&name))?;
        tracing::info!(database = %name, readers = readers(store.wake_mode()), "PostgreSQL is connected");
        Ok(Self(store))
    }

    pub(super) fn stores(&self) -> Stores {
        Stores::of(self.0.clone())
    }

    /// Adds a check of how readers learn of what other nodes write.
    pub(super) fn described(&self, builder: ServiceBuilder) -> ServiceBuilder {
        let store = self.0.clone();
        builder.check(WAKE_CHECK, move || {
            let state = match store.wake_mode() {
                WakeMode::Notified => CheckState::Healthy,
                mode @ (WakeMode::Polled | _) => CheckState::Degraded(
                    format!("{}; set the direct URL of the server", readers(mode)).into(),
                ),
            };
            std::future::ready(state)
        })
    }

    /// Closes the connections.
    pub(super) fn close(&self) {
        self.0.disconnect();
    }
}

/// Returns what the database has, and what a start would migrate.
///
/// # Errors
///
/// A usage error for a database that cannot be used.
pub(super) async fn look(place: &PostgresPlace) -> anyhow::Result<String> {
    let options = options(place);
    let name = options.place();
    let plan = PostgresStore::check(&options).await.usage_context(|| unusable(&name))?;
    let (found, own) = (plan.found, plan.own);
    Ok(match found {
        0 => format!("the database {name} has no schema yet; a start creates version {own}"),
        _ if found < own => format!(
            "the database {name} has version {found} of the schema; a start migrates it to version {own}"
        ),
        _ => format!("the database {name} has version {found} of the schema, the newest"),
    })
}

fn options(place: &PostgresPlace) -> PostgresOptions {
    let mut options = PostgresOptions::new(place.url.expose());
    if let Some(direct) = &place.direct {
        options = options.direct_url(direct.expose());
    }
    options.password_file.clone_from(&place.password_file);
    options.password_variable.clone_from(&place.password_variable);
    options.deltas = match place.deltas {
        DeltaMode::Durable => DeltaCommit::Durable,
        DeltaMode::Async => DeltaCommit::Async,
    };
    options
}

fn readers(mode: WakeMode) -> &'static str {
    match mode {
        WakeMode::Notified => "readers are notified",
        WakeMode::Polled | _ => "readers look every 10 ms, because a pooler shares sessions",
    }
}

fn unusable(name: &str) -> String {
    format!("cannot use the database {name}")
}
