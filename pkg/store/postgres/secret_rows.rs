//! The table of encrypted secrets of [`PostgresStore`].

use tokio_postgres::Row;

use super::{
    PostgresStore,
    pool::RepeatRule,
    values::{SqlValue, column, values},
};
use crate::{SecretRow, SecretRows, StoreError, StoreFuture, integers::int};
use forgeline_types::Text;

const ROW: &str = "SELECT container, name, key, sealed FROM forgeline.secret \
     WHERE container = $1 AND name = $2";

const PUT: &str = "INSERT INTO forgeline.secret AS known (container, name, key, sealed) SELECT $1, $2, $3, $4 \
     WHERE (SELECT count(*) FROM forgeline.secret WHERE container = $1 AND name <> $2) < $5 \
     ON CONFLICT (container, name) DO UPDATE SET key = excluded.key, sealed = excluded.sealed RETURNING 1";

const REPLACE: &str = "UPDATE forgeline.secret SET key = $3, sealed = $4 \
     WHERE container = $1 AND name = $2 AND key = $5 AND sealed = $6 RETURNING 1";

const REMOVE: &str = "DELETE FROM forgeline.secret WHERE container = $1 AND name = $2 RETURNING 1";

const NAMES: &str = "SELECT name FROM forgeline.secret WHERE container = $1 ORDER BY name";

const OF_OTHER_KEYS: &str = "SELECT container, name, key, sealed FROM forgeline.secret \
     WHERE (container, name) > ($1, $2) AND key <> $3 ORDER BY container, name LIMIT $4";

fn from_row(row: &Row) -> Result<SecretRow, StoreError> {
    let sealed = column::<&[u8]>(row, 3)?.to_vec();
    let text = |at| column::<&str>(row, at);
    Ok(SecretRow::new(text(0)?, text(1)?, text(2)?, sealed))
}

impl PostgresStore {
    /// Executes a statement that returns a row if it changes one.
    async fn change_secrets(
        &self,
        rule: RepeatRule,
        sql: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<bool, StoreError> {
        Ok(self.0.pool.row(rule, sql, values).await?.is_some())
    }
}

impl SecretRows for PostgresStore {
    fn row<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, Option<SecretRow>> {
        Box::pin(async move {
            let row = self.0.pool.row(RepeatRule::Safe, ROW, values![container, name]).await?;
            row.as_ref().map(from_row).transpose()
        })
    }

    fn put(&self, row: SecretRow, most: usize) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let (container, name) = (row.container.as_str(), row.name.as_str());
            let (key, sealed, most) = (row.key.as_str(), row.sealed.as_slice(), int(most as u64));
            let values = values![container, name, key, sealed, most];
            self.change_secrets(RepeatRule::Safe, PUT, values).await
        })
    }

    fn replace(&self, old: SecretRow, new: SecretRow) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let (container, name) = (old.container.as_str(), old.name.as_str());
            let (key, sealed) = (new.key.as_str(), new.sealed.as_slice());
            let (old_key, old_sealed) = (old.key.as_str(), old.sealed.as_slice());
            let values = values![container, name, key, sealed, old_key, old_sealed];
            self.change_secrets(RepeatRule::Unsafe, REPLACE, values).await
        })
    }

    fn remove<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            // Done again, it would find nothing.
            self.change_secrets(RepeatRule::Unsafe, REMOVE, values![container, name]).await
        })
    }

    fn row_names<'a>(&'a self, container: &'a str) -> StoreFuture<'a, Vec<Text>> {
        Box::pin(async move {
            let rows = self.0.pool.rows(RepeatRule::Safe, NAMES, values![container]).await?;
            rows.iter().map(|row| Ok(column::<&str>(row, 0)?.into())).collect()
        })
    }

    fn rows_of_other_keys<'a>(
        &'a self,
        key: &'a str,
        after: Option<(Text, Text)>,
        most: usize,
    ) -> StoreFuture<'a, Vec<SecretRow>> {
        Box::pin(async move {
            let (container, name) = after.unwrap_or_default();
            let (container, name) = (container.as_str(), name.as_str());
            let most = int(most as u64);
            let values = values![container, name, key, most];
            let rows = self.0.pool.rows(RepeatRule::Safe, OF_OTHER_KEYS, values).await?;
            rows.iter().map(from_row).collect()
        })
    }
}
