//! Deletion and erasure of conversations.

use rusqlite::{Connection, params};

use super::{
    conversation_rows::{status_number, whole},
    statements::{execute, int, number, rows},
};
use crate::{
    ConversationStatus, EraseMode, Erased, StoreError,
    conversation_record::{erased, to_json, to_message},
};

/// Deletes a conversation with all its data.
pub(super) fn delete(connection: &Connection, id: i64) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM line WHERE conversation = ?",
        "DELETE FROM message WHERE conversation = ?",
        "DELETE FROM conversation WHERE id = ?",
    ] {
        execute(connection, sql, [id])?;
    }
    release(connection, id)
}

/// Deletes the long parts that no other conversation uses.
fn release(connection: &Connection, id: i64) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM blob WHERE hash IN (SELECT hash FROM blob_use AS own WHERE conversation = ?1 \
         AND NOT EXISTS (SELECT 1 FROM blob_use AS other \
         WHERE other.hash = own.hash AND other.conversation <> ?1))",
        "DELETE FROM blob_use WHERE conversation = ?1",
    ] {
        execute(connection, sql, [id])?;
    }
    Ok(())
}

/// Maximum number of conversations erased in a transaction, so that other writes do not wait for all of them.
const MAX_ERASED: i64 = 8;

/// Erases some conversations of an owner in a scope, or counts all of them.
pub(super) fn erase(
    connection: &Connection,
    scope: &str,
    owner: &str,
    mode: EraseMode,
) -> Result<Erased, StoreError> {
    let mut count = Erased::default();
    if owner.is_empty() {
        return Ok(count);
    }
    let most = if mode.is_dry_run() { i64::MAX } else { MAX_ERASED };
    let sql = "SELECT id, messages FROM conversation WHERE scope = ? AND owner = ? LIMIT ?";
    let found: Vec<(i64, i64)> = rows(connection, sql, params![scope, owner, most])?;
    for (id, messages) in found {
        count.conversations += 1;
        count.messages += number(messages);
        match mode {
            EraseMode::Count => {}
            EraseMode::Hard => delete(connection, id)?,
            EraseMode::Tombstone => bury(connection, id)?,
        }
    }
    Ok(count)
}

/// Erases all but the number, the times and the roles of messages.
fn bury(connection: &Connection, id: i64) -> Result<(), StoreError> {
    let mut from = 0;
    loop {
        let sql = "SELECT number, at_ms, text FROM message WHERE conversation = ? AND number >= ? ORDER BY number LIMIT 100";
        let messages = whole(connection, rows(connection, sql, [id, int(from)])?)?;
        let Some((last, ..)) = messages.last() else { break };
        from = last + 1;
        for (place, _, text) in messages {
            let left = to_json(&erased(&to_message(&text)?))?;
            let sql = "UPDATE message SET text = ? WHERE conversation = ? AND number = ?";
            execute(connection, sql, params![left, id, int(place)])?;
        }
    }
    execute(connection, "DELETE FROM line WHERE conversation = ?", [id])?;
    let sql = "UPDATE conversation SET owner = '', title = NULL, status = ? WHERE id = ?";
    execute(connection, sql, [status_number(ConversationStatus::Erased), id])?;
    release(connection, id)
}
