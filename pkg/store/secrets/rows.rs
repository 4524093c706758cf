//! The rows of encrypted secrets, which engines keep.

use std::fmt;

use crate::StoreFuture;
use forgeline_types::Text;

/// A stored secret, encrypted.
///
/// # Examples
///
/// ```
/// use forgeline::store::SecretRow;
///
/// let row = SecretRow::new("user-ann", "openai", "0011223344556677", vec![1, 2, 3]);
/// assert_eq!(row.container, "user-ann");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecretRow {
    /// The container of its scope.
    pub container: Text,
    /// Its name.
    pub name: Text,
    /// The id of the key that encrypted it.
    pub key: Text,
    /// The encrypted value; at most 17 KiB.
    pub sealed: Vec<u8>,
}

impl SecretRow {
    /// Returns a row.
    #[must_use]
    pub fn new(
        container: impl Into<Text>,
        name: impl Into<Text>,
        key: impl Into<Text>,
        sealed: Vec<u8>,
    ) -> Self {
        Self { container: container.into(), name: name.into(), key: key.into(), sealed }
    }
}

impl fmt::Debug for SecretRow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("SecretRow");
        shown.field("container", &self.container).field("name", &self.name);
        shown.field("key", &self.key).finish_non_exhaustive()
    }
}

/// The table of encrypted secrets of an engine: bytes by container and name. [`SealedSecrets`](super::SealedSecrets) makes a
/// [`SecretStore`](super::SecretStore) of it; an engine encrypts nothing itself.
///
/// Every operation completes within 10 s, if necessary with [`StoreError::Slow`](crate::StoreError::Slow), and is done whole or not at all.
pub trait SecretRows: Send + Sync + 'static {
    /// Returns a row.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn row<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, Option<SecretRow>>;

    /// Adds a row, or replaces the one of its container and name; returns `false`, and changes nothing, if it is a new one and the container has `most`
    /// rows.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn put(&self, row: SecretRow, most: usize) -> StoreFuture<'_, bool>;

    /// Replaces a row by another one of its container and name; returns `false`, and changes nothing, if the store has another one or none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn replace(&self, old: SecretRow, new: SecretRow) -> StoreFuture<'_, bool>;

    /// Removes a row; returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn remove<'a>(&'a self, container: &'a str, name: &'a str) -> StoreFuture<'a, bool>;

    /// Returns the names of the rows of a container, sorted by their bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn row_names<'a>(&'a self, container: &'a str) -> StoreFuture<'a, Vec<Text>>;

    /// Returns at most `most` rows that another key than this one encrypted, of all containers, sorted by container and name; only those after the given
    /// container and name, if there are any.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn rows_of_other_keys<'a>(
        &'a self,
        key: &'a str,
        after: Option<(Text, Text)>,
        most: usize,
    ) -> StoreFuture<'a, Vec<SecretRow>>;
}
