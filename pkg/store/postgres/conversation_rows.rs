//! The rows of conversations in their stored form.

use std::collections::{HashMap, HashSet};

use tokio_postgres::Row;

use super::{
    PostgresStore,
    pool::RepeatRule,
    values::{column, count, values},
};
use crate::{
    ConversationKey, ConversationRecord, StoreError,
    blobs::{BlobHash, hashes, join},
    conversation_record::{STATUSES, status_number},
};

/// The columns of a conversation, in the order of [`conversation`].
macro_rules! head {
    () => {
        "scope, id, owner, agent, title, status, created_ms, updated_ms, entries, messages"
    };
}
pub(super) use head;

/// Returns the conversation in a row.
pub(super) fn conversation(row: &Row) -> Result<ConversationRecord, StoreError> {
    let key = ConversationKey::new(column::<&str>(row, 0)?, column::<&str>(row, 1)?);
    let (owner, agent) = (column::<&str>(row, 2)?, column::<&str>(row, 3)?);
    let mut found = ConversationRecord::new(key, owner, agent, count(row, 6)?);
    found.title = column::<Option<&str>>(row, 4)?.map(Into::into);
    let status = column::<i16>(row, 5)?;
    let known = STATUSES.into_iter().find(|known| status_number(*known) == i64::from(status));
    let unknown = || StoreError::corrupt(format!("unknown status {status} of a conversation"));
    found.status = known.ok_or_else(unknown)?;
    found.updated_ms = count(row, 7)?;
    (found.entries, found.messages) = (count(row, 8)?, count(row, 9)?);
    Ok(found)
}

impl PostgresStore {
    /// Reads the rows of a conversation, each with its number, its time and its text.
    pub(super) async fn texts(
        &self,
        key: &ConversationKey,
        sql: &'static str,
        from: i64,
        most: i64,
    ) -> Result<Vec<(u64, u64, String)>, StoreError> {
        let (scope, id) = (key.scope.as_str(), key.id.as_str());
        // Its long parts are read later: the conversation may be deleted meanwhile.
        for is_last in [false, true] {
            let rows =
                self.0.pool.rows(RepeatRule::Safe, sql, values![scope, id, from, most]).await?;
            if rows.is_empty() {
                return Err(StoreError::no_conversation(key));
            }
            let mut texts = Vec::with_capacity(rows.len());
            for row in &rows {
                // A conversation without such rows has one without a number.
                let Some(number) = column::<Option<i64>>(row, 0)? else { continue };
                let text = column::<&str>(row, 2)?.to_owned();
                texts.push((crate::integers::number(number), count(row, 1)?, text));
            }
            match self.whole(texts).await? {
                Some(texts) => return Ok(texts),
                None if is_last => break,
                None => {}
            }
        }
        Err(StoreError::corrupt("a part of an entry is missing"))
    }

    /// Reinserts the long parts into texts; `None` if one is missing.
    async fn whole(
        &self,
        texts: Vec<(u64, u64, String)>,
    ) -> Result<Option<Vec<(u64, u64, String)>>, StoreError> {
        let wanted: HashSet<BlobHash> =
            texts.iter().flat_map(|(_, _, text)| hashes(text)).collect();
        let mut known: HashMap<BlobHash, String> = HashMap::new();
        if !wanted.is_empty() {
            let wanted: Vec<&[u8]> = wanted.iter().map(|hash| &hash[..]).collect();
            let sql = "SELECT hash, text FROM forgeline.blob WHERE hash = ANY($1)";
            for row in self.0.pool.rows(RepeatRule::Safe, sql, values![wanted]).await? {
                let hash = BlobHash::try_from(column::<&[u8]>(&row, 0)?);
                let hash = hash.map_err(|_| StoreError::corrupt("a hash has another length"))?;
                known.insert(hash, column(&row, 1)?);
            }
        }
        let joined = texts.into_iter().map(|(number, at_ms, text)| {
            Some((number, at_ms, join(&text, |hash| known.get(hash))?))
        });
        Ok(joined.collect())
    }
}
