//! Statements on a connection: their values, their rows, and numbers for the database.

use rusqlite::{Connection, Params, Row};

use super::errors::store_error;
use crate::StoreError;
pub(super) use crate::integers::{int, number};

/// Runs a statement, and returns the number of rows that it changed.
pub(super) fn execute(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<usize, StoreError> {
    let done = connection.prepare_cached(sql).and_then(|mut it| it.execute(values));
    done.map_err(store_error)
}

/// Returns the rows of a query as tuples.
pub(super) fn rows<R>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<Vec<R>, StoreError>
where
    R: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error>,
{
    read_rows(connection, sql, values, |row| R::try_from(row).map_err(store_error))
}

/// Returns the first row of a query as a tuple.
pub(super) fn row<R>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<Option<R>, StoreError>
where
    R: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error>,
{
    let mut statement = connection.prepare_cached(sql).map_err(store_error)?;
    let mut rows = statement.query(values).map_err(store_error)?;
    let row = rows.next().map_err(store_error)?;
    row.map(|row| R::try_from(row).map_err(store_error)).transpose()
}

/// Returns the integer of a query with one row, or `None` for `NULL`.
pub(super) fn maybe_integer(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<Option<i64>, StoreError> {
    let row: Option<(Option<i64>,)> = row(connection, sql, values)?;
    Ok(row.and_then(|(integer,)| integer))
}

/// Returns the integer of a query with one row; 0 for `NULL`.
pub(super) fn integer(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<i64, StoreError> {
    maybe_integer(connection, sql, values).map(Option::unwrap_or_default)
}

/// Returns what a function reads from each row of a query.
pub(super) fn read_rows<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(store_error)?;
    let mut rows = statement.query(values).map_err(store_error)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(store_error)? {
        all.push(read(row)?);
    }
    Ok(all)
}
