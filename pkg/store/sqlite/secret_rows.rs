//! The table of encrypted secrets of [`SqliteStore`].

use rusqlite::{Connection, params};

use super::{
    SqliteStore,
    statements::{execute, int, row, rows},
};
use crate::{SecretRow, SecretRows, StoreFuture};
use forgeline_types::Text;

const PUT: &str = "INSERT INTO secret (container, name, key, sealed) SELECT ?1, ?2, ?3, ?4 \
     WHERE (SELECT count(*) FROM secret WHERE container = ?1 AND name <> ?2) < ?5 \
     ON CONFLICT (container, name) DO UPDATE SET key = excluded.key, sealed = excluded.sealed";

const REPLACE: &str = "UPDATE secret SET key = ?3, sealed = ?4 \
     WHERE container = ?1 AND name = ?2 AND key = ?5 AND sealed = ?6";

const OF_OTHER_KEYS: &str = "SELECT container, name, key, sealed FROM secret \
     WHERE (container, name) > (?1, ?2) AND key <> ?3 ORDER BY container, name LIMIT ?4";

type RowTuple = (String, String, String, Vec<u8>);

fn from_tuple((container, name, key, sealed): RowTuple) -> SecretRow {
    SecretRow::new(container, name, key, sealed)
}

impl SqliteStore {
    /// Changes rows with a statement; returns `false` if it changed none. Earlier rows are removed from the WAL with the next sweep.
    async fn change_secrets(
        &self,
        bytes: usize,
        change: impl Fn(&Connection) -> Result<usize, crate::StoreError> + Send + 'static,
    ) -> Result<bool, crate::StoreError> {
        let count = self.0.writer.write(bytes, change).await?;
        if count > 0 {
            self.deleted();
        }
        Ok(count > 0)
    }
}

impl SecretRows for SqliteStore {
    fn row<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, Option<SecretRow>> {
        let (container, name) = (container.to_owned(), name.to_owned());
        Box::pin(self.query(move |connection| {
            let sql =
                "SELECT container, name, key, sealed FROM secret WHERE container = ? AND name = ?";
            Ok(row(connection, sql, [container, name])?.map(from_tuple))
        }))
    }

    fn put(&self, row: SecretRow, most: usize) -> StoreFuture<'_, bool> {
        let most = int(most as u64);
        Box::pin(self.change_secrets(row.sealed.len(), move |connection| {
            let (container, name) = (row.container.as_str(), row.name.as_str());
            let values = params![container, name, row.key.as_str(), row.sealed, most];
            execute(connection, PUT, values)
        }))
    }

    fn replace(&self, old: SecretRow, new: SecretRow) -> StoreFuture<'_, bool> {
        Box::pin(self.change_secrets(new.sealed.len(), move |connection| {
            let (container, name) = (old.container.as_str(), old.name.as_str());
            let key = (new.key.as_str(), old.key.as_str());
            let values = params![container, name, key.0, new.sealed, key.1, old.sealed];
            execute(connection, REPLACE, values)
        }))
    }

    fn remove<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        let (container, name) = (container.to_owned(), name.to_owned());
        Box::pin(async move {
            let sql = "DELETE FROM secret WHERE container = ? AND name = ?";
            let delete = move |connection: &Connection| {
                execute(connection, sql, [container.as_str(), name.as_str()])
            };
            let was_there = self.change_secrets(0, delete).await?;
            self.purge().await;
            Ok(was_there)
        })
    }

    fn row_names<'a>(&'a self, container: &'a str) -> StoreFuture<'a, Vec<Text>> {
        let container = container.to_owned();
        Box::pin(self.query(move |connection| {
            let sql = "SELECT name FROM secret WHERE container = ? ORDER BY name";
            let names: Vec<(String,)> = rows(connection, sql, [container])?;
            Ok(names.into_iter().map(|(name,)| Text::from(name)).collect())
        }))
    }

    fn rows_of_other_keys<'a>(
        &'a self,
        key: &'a str,
        after: Option<(Text, Text)>,
        most: usize,
    ) -> StoreFuture<'a, Vec<SecretRow>> {
        let (container, name) = after.unwrap_or_default();
        let (key, most) = (key.to_owned(), int(most as u64));
        Box::pin(self.query(move |connection| {
            let values = params![container.as_str(), name.as_str(), key, most];
            let found: Vec<RowTuple> = rows(connection, OF_OTHER_KEYS, values)?;
            Ok(found.into_iter().map(from_tuple).collect())
        }))
    }
}
