//! The place of what the service keeps: `database`, or `postgres` with what belongs to it.

use std::{num::NonZeroU32, str::FromStr};

use clap::ValueEnum as _;
use forgeline::store::{Durability, SqliteOptions};

use super::{
    super::database::{DeltaMode, PostgresFlags, PostgresUrl, StorePlace},
    ConfigValues, OverridingFlags,
};

/// A URL, as messages expect it.
const EXPECTED: &str = "expected a URL such as postgres://user@host:5432/database";

/// Reads the place; missing options mean memory.
pub(super) fn read_store(
    values: &mut ConfigValues<'_, '_>,
    above: &OverridingFlags<'_>,
) -> StorePlace {
    let path = values.path("database", above.database);
    let megabytes: Option<NonZeroU32> =
        values.parsed("database_megabytes", "a whole number of at least 1");
    let durability = values
        .parsed("database_durability", "\"process\" or \"power\"")
        .map_or_else(Durability::default, |KnownDurability(durability)| durability);
    let is_file = values.is_given("database", above.database);
    let deltas =
        values.parsed("deltas", "\"durable\" or \"async\"").map(|KnownDeltas(deltas)| deltas);
    let deltas = above.deltas.or(deltas);
    let flags = PostgresFlags {
        postgres: read_url(values, "postgres", above.postgres.postgres.as_ref()),
        postgres_direct: read_url(
            values,
            "postgres_direct",
            above.postgres.postgres_direct.as_ref(),
        ),
        postgres_password_file: values
            .path("postgres_password_file", above.postgres.postgres_password_file.as_deref()),
        deltas: deltas.unwrap_or_default(),
    };
    if deltas.is_some() && flags.postgres.is_none() {
        let problem = "`deltas` needs `postgres`, the URL of the database";
        values.mistakes.push(problem.to_owned());
    }
    if let Some(place) = read_postgres(values, &flags, is_file) {
        return place;
    }
    path.map_or(StorePlace::Memory, |path| {
        let mut options = SqliteOptions::new(path).durability(durability);
        options.max_bytes = megabytes.map(|number| u64::from(number.get()) << 20);
        StorePlace::File(options)
    })
}

/// The failures that acknowledged events survive, by their name in the configuration.
struct KnownDurability(Durability);

impl FromStr for KnownDurability {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "process" => Ok(Self(Durability::Process)),
            "power" => Ok(Self(Durability::Power)),
            _ => Err(()),
        }
    }
}

/// The commit of pieces of answers, by its name in the configuration.
struct KnownDeltas(DeltaMode);

impl FromStr for KnownDeltas {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        DeltaMode::from_str(name, false).map(Self)
    }
}

/// Returns the database that flags name.
fn read_postgres(
    values: &mut ConfigValues<'_, '_>,
    flags: &PostgresFlags,
    is_file: bool,
) -> Option<StorePlace> {
    if flags.postgres.is_none() {
        if flags.postgres_direct.is_some() || flags.postgres_password_file.is_some() {
            let problem = "`postgres_direct` and `postgres_password_file` need `postgres`, the URL of the database";
            values.mistakes.push(problem.to_owned());
        }
        return None;
    }
    if is_file {
        let problem = "`postgres` and `database` exclude each other; omit one of them";
        values.mistakes.push(problem.to_owned());
    }
    match flags.place() {
        Ok(place) => place,
        Err(refused) => {
            values.mistakes.push(refused.to_string());
            None
        }
    }
}

/// Returns the URL of a member, of which messages show nothing; one of a flag is above all.
fn read_url(
    values: &mut ConfigValues<'_, '_>,
    path: &str,
    flag: Option<&PostgresUrl>,
) -> Option<PostgresUrl> {
    let url = flag.cloned().or_else(|| values.parsed(path, "a URL in quotes"))?;
    if url.is_url() {
        return Some(url);
    }
    let place = match flag {
        Some(_) => format!("--{}", path.replace('_', "-")),
        None => values.place(path),
    };
    values.mistakes.push(format!("{place}: {EXPECTED}"));
    None
}
