//! The version of the schema, and the steps to the newest one.

use tokio_postgres::{Client, GenericClient};

use super::{
    errors::StatementFailure,
    schema::STEPS,
    values::{column, values},
};
use crate::StoreError;

/// The advisory lock of nodes that migrate a database.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1718579820, 0)";

const _: () = assert!(STEPS.len() == SchemaPlan::OWN as usize, "each step leads to one version");

/// The version of the schema in a database, and the migrations to the newest one.
///
/// # Examples
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{PostgresOptions, PostgresStore};
///
/// let plan = PostgresStore::check(&PostgresOptions::new("postgres://service@localhost/app")).await?;
/// if plan.found < plan.own {
///     println!("would be migrated from version {} to {}:\n{}", plan.found, plan.own, plan.sql());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaPlan {
    /// The version of the schema in the database; 0 if there is none.
    pub found: u32,
    /// The version that this library uses.
    pub own: u32,
}

impl SchemaPlan {
    /// The newest version.
    const OWN: u32 = 2;

    /// Returns the statements that migrate the database, for an operator who executes them without this library; empty if nothing is to be done.
    #[must_use]
    pub fn sql(&self) -> String {
        let mut sql = String::new();
        for (version, step) in (1..=self.own).zip(&STEPS).skip(self.found as usize) {
            sql.extend(step.up.iter().copied());
            sql.push_str(&set_version(version));
        }
        sql
    }

    /// Returns the statements that go back from this library's version to an earlier one, and drop what that cannot keep; empty for a later one.
    #[must_use]
    pub fn sql_back_to(version: u32) -> String {
        let mut sql = String::new();
        for (before, step) in (0..Self::OWN).zip(&STEPS).rev() {
            if before < version {
                break;
            }
            sql.push_str(step.down);
            if before > 0 {
                sql.push_str(&set_version(before));
            }
        }
        sql
    }
}

fn set_version(version: u32) -> String {
    format!("UPDATE forgeline.about SET version = {version};\n")
}

/// Reads the version of the schema without changing anything.
///
/// # Errors
///
/// Returns [`StoreError::Newer`] for a newer version, and [`StoreError::Corrupt`] for the schema of another program.
pub(super) async fn look(client: &impl GenericClient) -> Result<SchemaPlan, StoreError> {
    let sql = "SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace = pg_namespace.oid), \
               to_regclass('forgeline.about') IS NOT NULL FROM pg_namespace WHERE nspname = 'forgeline'";
    let rows = client.query_typed(sql, values![]).await.map_err(|error| failed(&error))?;
    let new = SchemaPlan { found: 0, own: SchemaPlan::OWN };
    let Some(row) = rows.first() else { return Ok(new) };
    let (has_tables, is_ours): (bool, bool) = (column(row, 0)?, column(row, 1)?);
    if !has_tables {
        return Ok(new);
    }
    let foreign = || {
        StoreError::Corrupt {
        reason: "the schema `forgeline` of the database belongs to another program; use another database"
            .to_owned(),
    }
    };
    if !is_ours {
        return Err(foreign());
    }
    let sql = "SELECT program = 'forgeline', version FROM forgeline.about";
    let rows = client.query_typed(sql, values![]).await.map_err(|_| foreign())?;
    let row = rows.first().ok_or_else(foreign)?;
    if !column::<bool>(row, 0)? {
        return Err(foreign());
    }
    let found = u32::try_from(column::<i32>(row, 1)?).map_err(|_| foreign())?;
    if found > SchemaPlan::OWN {
        return Err(StoreError::newer(u64::from(found), u64::from(SchemaPlan::OWN)));
    }
    Ok(SchemaPlan { found, ..new })
}

/// Migrates the schema to the newest version, in one transaction; nodes that start together wait for one another.
pub(super) async fn migrate(client: &mut Client) -> Result<(), StoreError> {
    let plan = look(client).await?;
    if plan.found == plan.own {
        return Ok(());
    }
    let work = async {
        let transaction = client.transaction().await?;
        transaction.batch_execute("SET LOCAL lock_timeout = '10s'").await?;
        transaction.batch_execute(LOCK).await?;
        Ok(transaction)
    };
    let transaction = work.await.map_err(|error| failed(&error))?;
    // Another node may have done it in the meantime.
    let plan = look(&transaction).await?;
    transaction.batch_execute(&plan.sql()).await.map_err(|error| failed(&error))?;
    transaction.commit().await.map_err(|error| failed(&error))
}

fn failed(error: &tokio_postgres::Error) -> StoreError {
    StatementFailure::of(error).into_error()
}
