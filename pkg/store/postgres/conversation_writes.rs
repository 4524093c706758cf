//! Additions to conversations, and their erasure. Each is one statement.

use super::{
    PostgresStore,
    conversation_rows::head,
    pool::RepeatRule,
    run_fence::{fenced, is_written},
    values::{column, count, values},
};
use crate::{
    ConversationKey, ConversationStatus, EraseMode, Erased, RunWriter, StoreError,
    conversation_record::{erased, status_number, to_json, to_message},
    entry_texts::EntryTexts,
    integers::int,
};

/// Adds an entry to a conversation that is active and has this number of entries, unless another claim of its run is newer.
const APPEND: &str = concat!(
    "WITH fenced AS (",
    fenced!("$10", "$11", "$12"),
    "),
grown AS (
    UPDATE forgeline.conversation SET entries = entries + 1, messages = messages + cardinality($6::text[]),
        updated_ms = greatest(updated_ms, $4)
    WHERE scope = $1 AND id = $2 AND entries = $3 AND status = 0
    AND ",
    is_written!("$10", "$11", "$12"),
    "
    RETURNING no, messages - cardinality($6::text[]) AS begins),
lines AS (
    INSERT INTO forgeline.line (conversation, number, text) SELECT no, $3, $5 FROM grown WHERE $5 IS NOT NULL),
texts AS (
    INSERT INTO forgeline.message (conversation, number, at_ms, text)
    SELECT grown.no, grown.begins + part.place - 1, $7, part.text
    FROM grown, unnest($6::text[]) WITH ORDINALITY AS part (text, place)),
used AS (
    INSERT INTO forgeline.blob_use (conversation, hash) SELECT grown.no, part.hash
    FROM grown, unnest($8::bytea[]) AS part (hash) ON CONFLICT DO NOTHING RETURNING hash),
blobs AS (
    INSERT INTO forgeline.blob AS blob (hash, text, uses) SELECT part.hash, part.text, 1
    FROM used JOIN unnest($8::bytea[], $9::text[]) AS part (hash, text) USING (hash) ORDER BY part.hash
    ON CONFLICT (hash) DO UPDATE SET uses = blob.uses + 1)
SELECT no FROM grown"
);

/// Deletes a conversation with all its data; parts that no other one uses are deleted later.
const DELETE: &str = "
WITH gone AS (DELETE FROM forgeline.conversation WHERE no = $1 RETURNING no),
lines AS (DELETE FROM forgeline.line USING gone WHERE conversation = gone.no),
texts AS (DELETE FROM forgeline.message USING gone WHERE conversation = gone.no),
used AS (DELETE FROM forgeline.blob_use USING gone WHERE conversation = gone.no RETURNING hash),
freed AS (UPDATE forgeline.blob SET uses = uses - 1 FROM used WHERE blob.hash = used.hash)
SELECT no FROM gone";

/// Erases the content of a conversation, except that of its messages.
const BURY: &str = "
WITH buried AS (
    UPDATE forgeline.conversation SET owner = '', title = NULL, status = $3
    WHERE scope = $1 AND id = $2 AND messages = $4 RETURNING no),
lines AS (DELETE FROM forgeline.line USING buried WHERE conversation = buried.no),
texts AS (
    UPDATE forgeline.message SET text = part.text FROM buried, unnest($5::bigint[], $6::text[]) AS part (number, text)
    WHERE conversation = buried.no AND message.number = part.number),
used AS (DELETE FROM forgeline.blob_use USING buried WHERE conversation = buried.no RETURNING hash),
freed AS (UPDATE forgeline.blob SET uses = uses - 1 FROM used WHERE blob.hash = used.hash)
SELECT no FROM buried";

/// Deletes the parts that no conversation uses; one that is used again at this moment stays.
const FREE: &str = "DELETE FROM forgeline.blob WHERE uses = 0";

const OF_OWNER: &str = concat!(
    "SELECT ",
    head!(),
    " FROM forgeline.conversation WHERE scope = $1 AND owner = $2 LIMIT 64"
);

pub(super) const MESSAGES: &str = "
SELECT message.number, message.at_ms, message.text FROM forgeline.conversation LEFT JOIN LATERAL (
    SELECT number, at_ms, text FROM forgeline.message
    WHERE conversation = forgeline.conversation.no AND number >= $3 ORDER BY number LIMIT $4) AS message ON true
WHERE scope = $1 AND id = $2 ORDER BY message.number";

pub(super) const LINES: &str = "
SELECT line.number, 0::bigint, line.text FROM forgeline.conversation LEFT JOIN LATERAL (
    SELECT number, text FROM forgeline.line
    WHERE conversation = forgeline.conversation.no AND number >= $3 ORDER BY number LIMIT $4) AS line ON true
WHERE scope = $1 AND id = $2 ORDER BY line.number";

impl PostgresStore {
    pub(super) async fn append_entry(
        &self,
        key: &ConversationKey,
        at: u64,
        mut texts: EntryTexts,
        writer: Option<&RunWriter>,
    ) -> Result<(), StoreError> {
        let (scope, id, entries, at_ms) =
            (key.scope.as_str(), key.id.as_str(), int(at), int(texts.at_ms));
        let line = texts.line.as_deref();
        let messages: Vec<_> = texts.messages.iter().map(String::as_str).collect();
        texts.blobs.sort();
        texts.blobs.dedup_by(|one, other| one.0 == other.0);
        let hashes: Vec<&[u8]> = texts.blobs.iter().map(|(hash, _)| &hash[..]).collect();
        let blobs: Vec<&str> = texts.blobs.iter().map(|(_, text)| text.as_str()).collect();
        let run = writer.map(|writer| (writer.run.scope.as_str(), writer.run.name.as_str()));
        let (run_scope, run_id) = (run.map(|run| run.0), run.map(|run| run.1));
        let epoch = writer.map(|writer| int(writer.epoch));
        let values = values![
            scope, id, entries, at_ms, line, messages, at_ms, hashes, blobs, run_scope, run_id,
            epoch
        ];
        if self.0.pool.row(RepeatRule::Unsafe, APPEND, values).await?.is_some() {
            return Ok(());
        }
        let head = self.conversation(key).await?;
        self.fence(writer).await?;
        head.check_end(at)?;
        let reason = format!("conversation `{}` was changed meanwhile; append again", key.id);
        Err(StoreError::Unavailable { reason })
    }

    pub(super) async fn delete_conversation(
        &self,
        key: &ConversationKey,
    ) -> Result<bool, StoreError> {
        let is_found = self.delete_rows(key).await?;
        self.free_parts().await?;
        Ok(is_found)
    }

    /// Deletes the rows of a conversation; returns `false` if there was none. Its number is read first: the answer of a statement that deletes may be lost.
    async fn delete_rows(&self, key: &ConversationKey) -> Result<bool, StoreError> {
        let (scope, id) = (key.scope.as_str(), key.id.as_str());
        let sql = "SELECT no FROM forgeline.conversation WHERE scope = $1 AND id = $2";
        let row = self.0.pool.row(RepeatRule::Safe, sql, values![scope, id]).await?;
        let Some(row) = row else { return Ok(false) };
        let no: i64 = column(&row, 0)?;
        self.0.pool.rows(RepeatRule::Safe, DELETE, values![no]).await?;
        Ok(true)
    }

    async fn free_parts(&self) -> Result<(), StoreError> {
        self.0.pool.rows(RepeatRule::Safe, FREE, values![]).await.map(drop)
    }

    pub(super) async fn erase_conversations(
        &self,
        scope: &str,
        owner: &str,
        mode: EraseMode,
    ) -> Result<Erased, StoreError> {
        let mut all = Erased::default();
        if owner.is_empty() {
            return Ok(all);
        }
        if mode.is_dry_run() {
            let sql = "SELECT count(*), coalesce(sum(messages), 0)::bigint FROM forgeline.conversation \
                       WHERE scope = $1 AND owner = $2";
            let row = self.0.pool.row(RepeatRule::Safe, sql, values![scope, owner]).await?;
            let Some(row) = row else { return Ok(all) };
            return Ok(Erased::new(count(&row, 0)?, count(&row, 1)?));
        }
        loop {
            let found = self.0.pool.rows(RepeatRule::Safe, OF_OWNER, values![scope, owner]).await?;
            if found.is_empty() {
                // Also after an earlier attempt that failed before this.
                self.free_parts().await?;
                return Ok(all);
            }
            for row in &found {
                let head = super::conversation_rows::conversation(row)?;
                let is_erased = match mode {
                    EraseMode::Hard => self.delete_rows(&head.key).await?,
                    EraseMode::Tombstone => self.bury(&head.key).await?,
                    EraseMode::Count => true,
                };
                if is_erased {
                    all.conversations += 1;
                    all.messages += head.messages;
                }
            }
        }
    }

    /// Erases all but the number, the times and the roles of messages; returns `false` if another writer was faster.
    async fn bury(&self, key: &ConversationKey) -> Result<bool, StoreError> {
        let (mut numbers, mut left) = (Vec::new(), Vec::new());
        let mut from = 0;
        loop {
            let page = self.texts(key, MESSAGES, from, 1_000).await?;
            for (number, _, text) in &page {
                numbers.push(int(*number));
                left.push(to_json(&erased(&to_message(text)?))?);
            }
            let Some((last, ..)) = page.last() else { break };
            from = int(last + 1);
        }
        let (scope, id, count) = (key.scope.as_str(), key.id.as_str(), int(numbers.len() as u64));
        let status = i16::try_from(status_number(ConversationStatus::Erased)).unwrap_or_default();
        let left: Vec<_> = left.iter().map(String::as_str).collect();
        let values = values![scope, id, status, count, numbers, left];
        Ok(self.0.pool.row(RepeatRule::Safe, BURY, values).await?.is_some())
    }
}
