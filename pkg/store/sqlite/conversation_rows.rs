//! The rows of conversations in their stored form.

use std::collections::HashMap;

use rusqlite::Connection;

use super::statements::{int, number, row};
use crate::{
    ConversationStatus, StoreError,
    blobs::{BlobHash, hashes, join},
};

pub(super) const STATUSES: [ConversationStatus; 3] =
    [ConversationStatus::Active, ConversationStatus::Ended, ConversationStatus::Erased];

pub(super) fn status_number(status: ConversationStatus) -> i64 {
    STATUSES.iter().position(|other| *other == status).map_or(0, |at| int(at as u64))
}

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
