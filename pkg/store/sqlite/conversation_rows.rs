//! The rows of conversations in their stored form.

use std::collections::HashMap;

use rusqlite::Connection;

use super::statements::{number, row};
pub(super) use crate::conversation_record::{STATUSES, status_number};
use crate::{
    StoreError,
    blobs::{BlobHash, hashes, join},
};

/// Reinserts the long parts into texts.
pub(super) fn whole(
    connection: &Connection,
    texts: Vec<(i64, i64, String)>,
) -> Result<Vec<(u64, u64, String)>, StoreError> {
    let mut known: HashMap<BlobHash, String> = HashMap::new();
    for hash in texts.iter().flat_map(|(_, _, text)| hashes(text)) {
        if known.contains_key(&hash) {
            continue;
        }
        let found = row(connection, "SELECT text FROM blob WHERE hash = ?", [&hash[..]])?;
        known.extend(found.map(|(text,): (String,)| (hash, text)));
    }
    let whole = texts.into_iter().map(|(at, ms, text)| {
        let joined = join(&text, |hash| known.get(hash));
        let missing = || StoreError::Corrupt { reason: "a part of an entry is missing".to_owned() };
        Ok((number(at), number(ms), joined.ok_or_else(missing)?))
    });
    whole.collect()
}
