//! The table of encrypted secrets of [`InMemoryStore`].

use std::collections::btree_map::Entry;

use super::{
    InMemoryStore,
    locks::{lock, ready},
    secret_table::SecretTable,
};
use crate::{
    SealedSecrets, SealingKeys, SecretError, SecretRow, SecretRows, StoreError, StoreFuture,
};
use forgeline_types::Text;

/// Maximum number of rows of all containers.
const MAX_ROWS: usize = 100_000;

fn key(row: &SecretRow) -> (Text, Text) {
    (row.container.clone(), row.name.clone())
}

fn of<'t>(table: &'t SecretTable, container: &'t str) -> impl Iterator<Item = &'t SecretRow> {
    let from = (Text::from(container), Text::new());
    let rows = table.range(from..).map(|(_, row)| row);
    rows.take_while(move |row| row.container == container)
}

impl SealedSecrets {
    /// Returns secrets in memory, encrypted with a random key; they are lost with the process.
    ///
    /// # Errors
    ///
    /// Returns [`SecretError::NoRandom`] if the operating system gives no random bytes.
    pub fn in_memory() -> Result<Self, SecretError> {
        Ok(Self::new(InMemoryStore::new(), SealingKeys::random()?))
    }
}

impl SecretRows for InMemoryStore {
    fn row<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, Option<SecretRow>> {
        let table = lock(&self.0.secrets);
        ready(Ok(table.get(&(container.into(), name.into())).cloned()))
    }

    fn put(&self, row: SecretRow, most: usize) -> StoreFuture<'_, bool> {
        let mut table = lock(&self.0.secrets);
        if !table.contains_key(&key(&row)) {
            if of(&table, &row.container).count() >= most {
                return ready(Ok(false));
            }
            if table.len() >= MAX_ROWS {
                let reason = format!("it has {MAX_ROWS} secrets in memory; use a database");
                return ready(Err(StoreError::full(reason)));
            }
        }
        table.insert(key(&row), row);
        ready(Ok(true))
    }

    fn replace(&self, old: SecretRow, new: SecretRow) -> StoreFuture<'_, bool> {
        let mut table = lock(&self.0.secrets);
        match table.entry(key(&old)) {
            Entry::Occupied(mut entry) if *entry.get() == old => {
                entry.insert(new);
                ready(Ok(true))
            }
            Entry::Occupied(_) | Entry::Vacant(_) => ready(Ok(false)),
        }
    }

    fn remove<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        let mut table = lock(&self.0.secrets);
        ready(Ok(table.remove(&(container.into(), name.into())).is_some()))
    }

    fn row_names<'a>(&'a self, container: &'a str) -> StoreFuture<'a, Vec<Text>> {
        let table = lock(&self.0.secrets);
        ready(Ok(of(&table, container).map(|row| row.name.clone()).collect()))
    }

    fn rows_of_other_keys<'a>(
        &'a self,
        key: &'a str,
        after: Option<(Text, Text)>,
        most: usize,
    ) -> StoreFuture<'a, Vec<SecretRow>> {
        let table = lock(&self.0.secrets);
        let rows = table.iter().filter(|(place, _)| after.as_ref().is_none_or(|it| *place > it));
        let rows = rows.map(|(_, row)| row).filter(|row| row.key != key);
        ready(Ok(rows.take(most).cloned().collect()))
    }
}
