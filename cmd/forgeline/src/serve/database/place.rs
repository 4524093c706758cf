//! The place that flags and the configuration name.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use forgeline::store::SqliteOptions;

use super::PostgresUrl;

/// The variable with the password of a database. No key of the configuration has one.
pub(in crate::serve) const PASSWORD: &str = "FORGELINE_POSTGRES_PASSWORD";

/// The refusal of a program that was built without `PostgreSQL`.
#[cfg(not(feature = "postgres"))]
const WITHOUT_POSTGRES: &str = "`postgres` needs a program that was built with PostgreSQL; install it with `cargo install --path cmd/forgeline --features postgres`";

/// The place of what the service keeps.
#[derive(Debug, Clone)]
pub(in crate::serve) enum StorePlace {
    /// The memory of the process.
    Memory,
    /// A file of `SQLite`.
    File(SqliteOptions),
    /// A database of `PostgreSQL`.
    #[cfg(feature = "postgres")]
    Postgres(PostgresPlace),
}

impl StorePlace {
    /// Returns the file of `SQLite`.
    pub(in crate::serve) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(options) => Some(&options.path),
            Self::Memory => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// Returns the file with the password.
    pub(in crate::serve) fn password_file(&self) -> Option<&Path> {
        match self {
            Self::Memory | Self::File(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(place) => place.password_file.as_deref(),
        }
    }
}

/// A database of `PostgreSQL`.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone)]
pub(in crate::serve) struct PostgresPlace {
    pub(super) url: PostgresUrl,
    /// The URL of the server itself, where the first one is of a pooler.
    pub(super) direct: Option<PostgresUrl>,
    pub(super) password_file: Option<PathBuf>,
    /// The variable with the password, if it is set.
    pub(super) password_variable: Option<String>,
    pub(super) deltas: DeltaMode,
}

/// The commit of pieces of answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::serve) enum DeltaMode {
    /// Each is on the disk before readers see it
    #[default]
    Durable,
    /// A failing database may lose the last fractions of a second of an answer that is being written
    Async,
}

/// The flags for a database of `PostgreSQL`.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::serve) struct PostgresFlags {
    /// Share this `PostgreSQL` database with other nodes: any of them serves any run, and continues the runs of one that fails (needs
    /// a build with `--features postgres`). The password may be in a file or in the variable `FORGELINE_POSTGRES_PASSWORD` instead
    #[arg(long, value_name = "URL", conflicts_with = "database")]
    pub(in crate::serve) postgres: Option<PostgresUrl>,
    /// The URL of the server itself, for notifications and locks, if `--postgres` reaches a pooler that shares sessions
    #[arg(long, value_name = "URL", conflicts_with = "database")]
    pub(in crate::serve) postgres_direct: Option<PostgresUrl>,
    /// Read the password of `--postgres` from this file, at each connection
    #[arg(long, value_name = "FILE", conflicts_with = "database")]
    pub(in crate::serve) postgres_password_file: Option<PathBuf>,
    #[arg(skip)]
    pub(in crate::serve) deltas: DeltaMode,
}

impl PostgresFlags {
    /// Returns the database of a command that has only these flags; `None` without a URL.
    ///
    /// # Errors
    ///
    /// A usage error for a program that was built without `PostgreSQL`.
    #[cfg_attr(
        feature = "postgres",
        expect(clippy::unnecessary_wraps, reason = "without the feature it is refused")
    )]
    pub(in crate::serve) fn place(&self) -> anyhow::Result<Option<StorePlace>> {
        let Some(url) = self.postgres.clone() else { return Ok(None) };
        #[cfg(feature = "postgres")]
        return Ok(Some(StorePlace::Postgres(PostgresPlace {
            url,
            direct: self.postgres_direct.clone(),
            password_file: self.postgres_password_file.clone(),
            password_variable: std::env::var_os(PASSWORD).map(|_| PASSWORD.to_owned()),
            deltas: self.deltas,
        })));
        #[cfg(not(feature = "postgres"))]
        {
            drop((url, self.deltas));
            Err(crate::exit::usage(WITHOUT_POSTGRES))
        }
    }
}
