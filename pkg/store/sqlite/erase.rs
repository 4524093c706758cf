//! Deletion and erasure of conversations.

use sqlx::SqliteConnection;

use super::{
    errors,
    rows::{int, number},
    stored::{status_number, whole},
};
use crate::{
    ConversationStatus, EraseMode, Erased, StoreError,
    conversation::{erased, to_json, to_message},
};

/// Deletes a conversation with all its data.
pub(super) async fn delete(connection: &mut SqliteConnection, id: i64) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM line WHERE conversation = ?",
        "DELETE FROM message WHERE conversation = ?",
        "DELETE FROM conversation WHERE id = ?",
    ] {
        sqlx::query(sql).bind(id).execute(&mut *connection).await.map_err(errors::of)?;
    }
    release(connection, id).await
}

/// Deletes the long parts that no other conversation uses.
async fn release(connection: &mut SqliteConnection, id: i64) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM blob WHERE hash IN (SELECT hash FROM blob_use AS own WHERE conversation = ?1 \
         AND NOT EXISTS (SELECT 1 FROM blob_use AS other \
         WHERE other.hash = own.hash AND other.conversation <> ?1))",
        "DELETE FROM blob_use WHERE conversation = ?1",
    ] {
        sqlx::query(sql).bind(id).execute(&mut *connection).await.map_err(errors::of)?;
    }
    Ok(())
}

/// Maximum number of conversations erased in a transaction, so that other writes do not wait for all of them.
const MAX_ERASED: i64 = 8;

/// Erases some conversations of an owner in a scope, or counts all of them.
pub(super) async fn erase(
    connection: &mut SqliteConnection,
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
    let rows: Vec<(i64, i64)> = sqlx::query_as(sql)
        .bind(scope)
        .bind(owner)
        .bind(most)
        .fetch_all(&mut *connection)
        .await
        .map_err(errors::of)?;
    for (id, messages) in rows {
        count.conversations += 1;
        count.messages += number(messages);
        match mode {
            EraseMode::Count => {}
            EraseMode::Hard => delete(connection, id).await?,
            EraseMode::Tombstone => bury(connection, id).await?,
        }
    }
    Ok(count)
}

/// Erases all but the number, the times and the roles of messages.
async fn bury(connection: &mut SqliteConnection, id: i64) -> Result<(), StoreError> {
    let mut from = 0;
    loop {
        let sql = "SELECT number, at_ms, text FROM message WHERE conversation = ? AND number >= ? ORDER BY number LIMIT 100";
        let rows = sqlx::query_as(sql)
            .bind(id)
            .bind(int(from))
            .fetch_all(&mut *connection)
            .await
            .map_err(errors::of)?;
        let messages = whole(connection, rows).await?;
        let Some((last, ..)) = messages.last() else { break };
        from = last + 1;
        for (place, _, text) in messages {
            let left = to_json(&erased(&to_message(&text)?))?;
            sqlx::query("UPDATE message SET text = ? WHERE conversation = ? AND number = ?")
                .bind(left)
                .bind(id)
                .bind(int(place))
                .execute(&mut *connection)
                .await
                .map_err(errors::of)?;
        }
    }
    sqlx::query("DELETE FROM line WHERE conversation = ?")
        .bind(id)
        .execute(&mut *connection)
        .await
        .map_err(errors::of)?;
    sqlx::query("UPDATE conversation SET owner = '', title = NULL, status = ? WHERE id = ?")
        .bind(status_number(ConversationStatus::Erased))
        .bind(id)
        .execute(&mut *connection)
        .await
        .map_err(errors::of)?;
    release(connection, id).await
}
