//! The conversation store of [`SqliteStore`].

use std::sync::Arc;

use futures_core::future::BoxFuture;
use sqlx::SqliteConnection;

use super::{
    SqliteStore, erase, errors,
    rows::{int, number},
    stored::{STATUSES, status_number, whole},
    within,
    writer::work,
};
use crate::{
    Conversation, ConversationKey, ConversationPage, ConversationQuery, ConversationStatus,
    ConversationStore, Entry, EraseMode, Erased, StoreError, StoredMessage,
    blobs::{Hash, Split, split},
    conversation::{to_json, to_message},
    cursor::Cursor,
};
use forgeline_types::Text;

/// A row of the table of conversations.
type Row = (i64, String, String, String, Option<String>, i64, i64, i64, i64, i64);

fn conversation(scope: &str, row: Row) -> (i64, Conversation) {
    let (id, name, owner, agent, title, status, created_ms, updated_ms, entries, messages) = row;
    let key = ConversationKey::new(scope, name);
    let mut found = Conversation::new(key, owner, agent, number(created_ms));
    found.title = title.map(Text::from);
    found.status = status_of(status);
    found.updated_ms = number(updated_ms);
    (found.entries, found.messages) = (number(entries), number(messages));
    (id, found)
}

fn status_of(number: i64) -> ConversationStatus {
    let at = usize::try_from(number).ok();
    at.and_then(|at| STATUSES.get(at)).copied().unwrap_or(ConversationStatus::Ended)
}

fn ended(key: &ConversationKey) -> StoreError {
    StoreError::Ended { what: "conversation", name: key.id.clone() }
}

pub(super) async fn find(
    connection: &mut SqliteConnection,
    key: &ConversationKey,
) -> Result<(i64, Conversation), StoreError> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT id, name, owner, agent, title, status, created_ms, updated_ms, entries, messages \
         FROM conversation WHERE scope = ? AND name = ?",
    )
    .bind(key.scope.as_str())
    .bind(key.id.as_str())
    .fetch_optional(connection)
    .await
    .map_err(errors::of)?;
    let row =
        row.ok_or_else(|| StoreError::NotFound { what: "conversation", name: key.id.clone() })?;
    Ok(conversation(&key.scope, row))
}

async fn begin(connection: &mut SqliteConnection, new: &Conversation) -> Result<(), StoreError> {
    let inserted = sqlx::query(
        "INSERT INTO conversation (scope, name, owner, agent, title, status, created_ms, updated_ms) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    )
    .bind(new.key.scope.as_str())
    .bind(new.key.id.as_str())
    .bind(new.owner.as_str())
    .bind(new.agent.as_str())
    .bind(new.title.as_deref())
    .bind(status_number(new.status))
    .bind(int(new.created_ms))
    .bind(int(new.updated_ms))
    .execute(connection)
    .await
    .map_err(errors::of)?;
    if inserted.rows_affected() == 0 {
        let name = new.key.id.clone();
        return Err(StoreError::Exists { what: "conversation", name });
    }
    Ok(())
}

/// An entry in its stored form.
struct Texts {
    line: Option<String>,
    messages: Vec<String>,
    blobs: Vec<(Hash, String)>,
    at_ms: u64,
}

impl Texts {
    fn of(entry: &Entry) -> Result<Self, StoreError> {
        let mut blobs = Vec::new();
        let mut keep = |text: &str| {
            let Split { text, blobs: parts } = split(text);
            blobs.extend(parts.into_iter().map(|(hash, part)| (hash, part.to_owned())));
            text
        };
        let line = entry.line.as_deref().map(&mut keep);
        let messages =
            entry.messages.iter().map(|message| to_json(message).map(|text| keep(&text)));
        let messages = messages.collect::<Result<_, _>>()?;
        Ok(Self { line, messages, blobs, at_ms: entry.at_ms })
    }

    fn bytes(&self) -> usize {
        let lines = self.line.iter().chain(&self.messages).map(String::len).sum::<usize>();
        lines + self.blobs.iter().map(|(_, text)| text.len()).sum::<usize>()
    }
}

async fn append(
    connection: &mut SqliteConnection,
    key: &ConversationKey,
    at: u64,
    texts: &Texts,
) -> Result<(), StoreError> {
    let (id, head) = find(connection, key).await?;
    if head.status.is_last() {
        return Err(ended(key));
    }
    if head.entries != at {
        return Err(StoreError::Behind { name: key.id.clone(), at, end: head.entries });
    }
    for (hash, text) in &texts.blobs {
        sqlx::query("INSERT INTO blob (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(&hash[..])
            .bind(text)
            .execute(&mut *connection)
            .await
            .map_err(errors::of)?;
        sqlx::query(
            "INSERT INTO blob_use (conversation, hash) VALUES (?, ?) ON CONFLICT DO NOTHING",
        )
        .bind(id)
        .bind(&hash[..])
        .execute(&mut *connection)
        .await
        .map_err(errors::of)?;
    }
    if let Some(line) = &texts.line {
        sqlx::query("INSERT INTO line (conversation, number, text) VALUES (?, ?, ?)")
            .bind(id)
            .bind(int(at))
            .bind(line)
            .execute(&mut *connection)
            .await
            .map_err(errors::of)?;
    }
    for (place, text) in (head.messages..).zip(&texts.messages) {
        sqlx::query("INSERT INTO message (conversation, number, at_ms, text) VALUES (?, ?, ?, ?)")
            .bind(id)
            .bind(int(place))
            .bind(int(texts.at_ms))
            .bind(text)
            .execute(&mut *connection)
            .await
            .map_err(errors::of)?;
    }
    sqlx::query(
        "UPDATE conversation SET entries = entries + 1, messages = messages + ?, updated_ms = MAX(updated_ms, ?) WHERE id = ?",
    )
    .bind(int(texts.messages.len() as u64))
    .bind(int(texts.at_ms))
    .bind(id)
    .execute(connection)
    .await
    .map(drop)
    .map_err(errors::of)
}

async fn list(
    connection: &mut SqliteConnection,
    query: &ConversationQuery,
) -> Result<ConversationPage, StoreError> {
    let after = Cursor::read(query.after.as_ref())?;
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, name, owner, agent, title, status, created_ms, updated_ms, entries, messages \
         FROM conversation WHERE scope = ?1 AND (?2 IS NULL OR owner = ?2) \
         AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR (updated_ms, name) < (?4, ?5)) \
         ORDER BY updated_ms DESC, name DESC LIMIT ?6",
    )
    .bind(query.scope.as_str())
    .bind(query.owner.as_deref())
    .bind(query.agent.as_deref())
    .bind(after.as_ref().map(|after| int(after.at_ms)))
    .bind(after.as_ref().map(|after| after.name.as_str()))
    .bind(int(query.most as u64).saturating_add(1))
    .fetch_all(connection)
    .await
    .map_err(errors::of)?;
    let is_more = rows.len() > query.most;
    let rows = rows.into_iter().take(query.most);
    let page: Vec<_> = rows.map(|row| conversation(&query.scope, row).1).collect();
    let place =
        |last: &Conversation| Cursor { at_ms: last.updated_ms, name: last.key.id.clone() }.write();
    let next = page.last().filter(|_| is_more).map(place);
    Ok(ConversationPage::new(page, next))
}

/// Changes the title or the status, if the current status allows it.
async fn change(
    connection: &mut SqliteConnection,
    key: &ConversationKey,
    title: Option<&str>,
    status: Option<ConversationStatus>,
    at_ms: u64,
) -> Result<(), StoreError> {
    let (id, head) = find(connection, key).await?;
    let is_refused = match status {
        Some(status) => head.status.is_last() && head.status != status,
        None => head.status == ConversationStatus::Erased,
    };
    if is_refused {
        return Err(ended(key));
    }
    let title = title.or(head.title.as_deref());
    sqlx::query("UPDATE conversation SET title = ?, status = ?, updated_ms = ? WHERE id = ?")
        .bind(title)
        .bind(status_number(status.unwrap_or(head.status)))
        .bind(int(at_ms))
        .bind(id)
        .execute(connection)
        .await
        .map(drop)
        .map_err(errors::of)
}

impl ConversationStore for SqliteStore {
    fn begin(&self, conversation: Conversation) -> BoxFuture<'_, Result<(), StoreError>> {
        let conversation = Arc::new(conversation);
        let write = work(move |connection| {
            let conversation = Arc::clone(&conversation);
            Box::pin(async move { begin(connection, &conversation).await })
        });
        Box::pin(self.0.writer.write(0, write, None))
    }

    fn get<'a>(
        &'a self,
        key: &'a ConversationKey,
    ) -> BoxFuture<'a, Result<Conversation, StoreError>> {
        Box::pin(within(async {
            let mut reader = self.0.readers.acquire().await.map_err(errors::of)?;
            find(&mut reader, key).await.map(|(_, found)| found)
        }))
    }

    fn list(
        &self,
        query: ConversationQuery,
    ) -> BoxFuture<'_, Result<ConversationPage, StoreError>> {
        Box::pin(within(async move {
            let mut reader = self.0.readers.acquire().await.map_err(errors::of)?;
            list(&mut reader, &query).await
        }))
    }

    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let texts = Texts::of(&entry)?;
            let bytes = texts.bytes();
            let shared = Arc::new((key.clone(), texts));
            let write = work(move |connection| {
                let shared = Arc::clone(&shared);
                Box::pin(async move { append(connection, &shared.0, at, &shared.1).await })
            });
            self.0.writer.write(bytes, write, None).await
        })
    }

    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<(u64, String)>, StoreError>> {
        Box::pin(within(async move {
            let mut at = self.0.readers.begin().await.map_err(errors::of)?;
            let (id, _) = find(&mut at, key).await?;
            let sql = "SELECT number, 0, text FROM line WHERE conversation = ? AND number >= ? ORDER BY number LIMIT ?";
            let rows = sqlx::query_as(sql)
                .bind(id)
                .bind(int(from))
                .bind(int(most as u64))
                .fetch_all(&mut *at)
                .await
                .map_err(errors::of)?;
            let lines = whole(&mut at, rows).await?;
            Ok(lines.into_iter().map(|(number, _, line)| (number, line)).collect())
        }))
    }

    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredMessage>, StoreError>> {
        Box::pin(within(async move {
            let mut at = self.0.readers.begin().await.map_err(errors::of)?;
            let (id, _) = find(&mut at, key).await?;
            let sql = "SELECT number, at_ms, text FROM message WHERE conversation = ? AND number >= ? ORDER BY number LIMIT ?";
            let rows = sqlx::query_as(sql)
                .bind(id)
                .bind(int(from))
                .bind(int(most as u64))
                .fetch_all(&mut *at)
                .await
                .map_err(errors::of)?;
            let read = |(number, at_ms, text): (u64, u64, String)| {
                Ok(StoredMessage::new(number, at_ms, to_message(&text)?))
            };
            whole(&mut at, rows).await?.into_iter().map(read).collect()
        }))
    }

    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let shared = Arc::new((key.clone(), title));
        let write = work(move |connection| {
            let shared = Arc::clone(&shared);
            Box::pin(
                async move { change(connection, &shared.0, Some(&shared.1), None, at_ms).await },
            )
        });
        Box::pin(self.0.writer.write(0, write, None))
    }

    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let key = Arc::new(key.clone());
        let write = work(move |connection| {
            let key = Arc::clone(&key);
            Box::pin(async move { change(connection, &key, None, Some(status), at_ms).await })
        });
        Box::pin(self.0.writer.write(0, write, None))
    }

    fn delete<'a>(&'a self, key: &'a ConversationKey) -> BoxFuture<'a, Result<bool, StoreError>> {
        let key = Arc::new(key.clone());
        let write = work(move |connection| {
            let key = Arc::clone(&key);
            Box::pin(async move {
                match find(connection, &key).await {
                    Err(StoreError::NotFound { .. }) => Ok(false),
                    found => erase::delete(connection, found?.0).await.map(|()| true),
                }
            })
        });
        Box::pin(async move {
            let was_there = self.0.writer.write(0, write, None).await?;
            self.deleted();
            self.purge().await;
            Ok(was_there)
        })
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> BoxFuture<'a, Result<Erased, StoreError>> {
        let shared = Arc::new((Text::from(scope), Text::from(owner)));
        Box::pin(async move {
            let mut all = Erased::default();
            loop {
                let shared = Arc::clone(&shared);
                let write = work(move |connection| {
                    let shared = Arc::clone(&shared);
                    Box::pin(
                        async move { erase::erase(connection, &shared.0, &shared.1, mode).await },
                    )
                });
                let some = self.0.writer.write(0, write, None).await?;
                all.conversations += some.conversations;
                all.messages += some.messages;
                if mode.is_dry_run() {
                    return Ok(all);
                }
                if some.conversations == 0 {
                    break;
                }
                self.deleted();
            }
            self.scrub().await;
            Ok(all)
        })
    }
}
