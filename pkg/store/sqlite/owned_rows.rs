//! Erasure of an owner's rows in a table.

use rusqlite::Connection;

use super::{
    SqliteStore,
    statements::{execute, integer, number},
};
use crate::{EraseMode, StoreError, StoreFuture};

/// The statements for the rows of an owner, with the scope as `?1` and the owner as `?2`.
pub(super) struct OwnedRows {
    pub(super) count: &'static str,
    pub(super) delete: &'static [&'static str],
    pub(super) bury: &'static str,
}

impl OwnedRows {
    fn erase(
        &self,
        connection: &Connection,
        owner: [&str; 2],
        mode: EraseMode,
    ) -> Result<u64, StoreError> {
        let count = integer(connection, self.count, owner)?;
        let statements = match mode {
            EraseMode::Count => &[],
            EraseMode::Hard => self.delete,
            EraseMode::Tombstone => &[self.bury],
        };
        for sql in statements {
            execute(connection, sql, owner)?;
        }
        Ok(number(count))
    }
}

impl SqliteStore {
    /// Erases the rows of an owner, or counts them; an owner with an empty name has none.
    pub(super) fn erase_rows(
        &self,
        rows: &'static OwnedRows,
        scope: &str,
        owner: &str,
        mode: EraseMode,
    ) -> StoreFuture<'_, u64> {
        if owner.is_empty() {
            return Box::pin(std::future::ready(Ok(0)));
        }
        let (scope, owner) = (scope.to_owned(), owner.to_owned());
        let write = move |connection: &Connection| rows.erase(connection, [&scope, &owner], mode);
        Box::pin(async move {
            let count = self.0.writer.write(0, write).await?;
            if count > 0 && !mode.is_dry_run() {
                self.deleted();
            }
            Ok(count)
        })
    }
}
