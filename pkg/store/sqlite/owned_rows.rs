//! Erasure of an owner's rows in a table.

use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::{SqliteStore, errors, rows::number, writer::work};
use crate::{EraseMode, StoreError};
use forgeline_types::Text;

/// The statements for the rows of an owner, with the scope as `?1` and the owner as `?2`.
pub(super) struct OwnedRows {
    pub(super) count: &'static str,
    pub(super) delete: &'static str,
    pub(super) bury: &'static str,
}

impl SqliteStore {
    /// Erases the rows of an owner, or counts them; an owner with an empty name has none.
    pub(super) fn erase_rows(
        &self,
        rows: &'static OwnedRows,
        scope: &str,
        owner: &str,
        mode: EraseMode,
    ) -> BoxFuture<'_, Result<u64, StoreError>> {
        if owner.is_empty() {
            return Box::pin(std::future::ready(Ok(0)));
        }
        let whose = Arc::new((Text::from(scope), Text::from(owner)));
        let write = work(move |connection| {
            let whose = Arc::clone(&whose);
            Box::pin(async move {
                let (scope, owner) = (whose.0.as_str(), whose.1.as_str());
                let counted = sqlx::query_scalar(rows.count).bind(scope).bind(owner);
                let count = counted.fetch_one(&mut *connection).await.map_err(errors::of)?;
                let sql = match mode {
                    EraseMode::Count => return Ok(number(count)),
                    EraseMode::Hard => rows.delete,
                    EraseMode::Tombstone => rows.bury,
                };
                let done = sqlx::query(sql).bind(scope).bind(owner).execute(connection).await;
                done.map(|_| number(count)).map_err(errors::of)
            })
        });
        Box::pin(async move {
            let count = self.0.writer.write(0, write, None).await?;
            if count > 0 && !mode.is_dry_run() {
                self.deleted();
            }
            Ok(count)
        })
    }
}
