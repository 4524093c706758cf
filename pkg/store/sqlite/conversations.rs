//! The conversation store of [`SqliteStore`].

use rusqlite::{Connection, params};

use super::{
    SqliteStore,
    conversation_rows::{STATUSES, status_number, whole},
    erase,
    errors::store_error,
    run_epochs::check_writer,
    statements::{execute, int, number, row, rows},
};
use crate::{
    ConversationKey, ConversationPage, ConversationQuery, ConversationRecord, ConversationStatus,
    ConversationStore, Entry, EraseMode, Erased, RunWriter, StoreError, StoreFuture, StoredMessage,
    conversation_record::to_message,
    entry_texts::EntryTexts,
    list_cursor::{ListCursor, page},
};
use forgeline_types::Text;

/// A row of the table of conversations.
type ConversationRow = (i64, String, String, String, Option<String>, i64, i64, i64, i64, i64);

fn conversation(scope: &str, row: ConversationRow) -> (i64, ConversationRecord) {
    let (id, name, owner, agent, title, status, created_ms, updated_ms, entries, messages) = row;
    let key = ConversationKey::new(scope, name);
    let mut found = ConversationRecord::new(key, owner, agent, number(created_ms));
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

pub(super) fn find(
    connection: &Connection,
    key: &ConversationKey,
) -> Result<(i64, ConversationRecord), StoreError> {
    let sql = "SELECT id, name, owner, agent, title, status, created_ms, updated_ms, entries, messages \
               FROM conversation WHERE scope = ? AND name = ?";
    let row: Option<ConversationRow> = row(connection, sql, [key.scope.as_str(), key.id.as_str()])?;
    let row = row.ok_or_else(|| StoreError::no_conversation(key))?;
    Ok(conversation(&key.scope, row))
}

fn begin(connection: &Connection, new: &ConversationRecord) -> Result<(), StoreError> {
    let sql = "INSERT INTO conversation (scope, name, owner, agent, title, status, created_ms, updated_ms) \
               VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let inserted = execute(
        connection,
        sql,
        params![
            new.key.scope.as_str(),
            new.key.id.as_str(),
            new.owner.as_str(),
            new.agent.as_str(),
            new.title.as_deref(),
            status_number(new.status),
            int(new.created_ms),
            int(new.updated_ms),
        ],
    )?;
    if inserted == 0 {
        let name = new.key.id.clone();
        return Err(StoreError::Exists { what: "conversation", name });
    }
    Ok(())
}

/// Returns the size of the texts of an entry, in bytes.
fn size(texts: &EntryTexts) -> usize {
    let lines = texts.line.iter().chain(&texts.messages).map(String::len).sum::<usize>();
    lines + texts.blobs.iter().map(|(_, text)| text.len()).sum::<usize>()
}

fn append(
    connection: &Connection,
    key: &ConversationKey,
    at: u64,
    texts: &EntryTexts,
    writer: Option<&RunWriter>,
) -> Result<(), StoreError> {
    let (id, head) = find(connection, key)?;
    check_writer(connection, writer)?;
    head.check_end(at)?;
    for (hash, text) in &texts.blobs {
        let sql = "INSERT INTO blob (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING";
        execute(connection, sql, params![&hash[..], text])?;
        let sql = "INSERT INTO blob_use (conversation, hash) VALUES (?, ?) ON CONFLICT DO NOTHING";
        execute(connection, sql, params![id, &hash[..]])?;
    }
    if let Some(line) = &texts.line {
        let sql = "INSERT INTO line (conversation, number, text) VALUES (?, ?, ?)";
        execute(connection, sql, params![id, int(at), line])?;
    }
    for (place, text) in (head.messages..).zip(&texts.messages) {
        let sql = "INSERT INTO message (conversation, number, at_ms, text) VALUES (?, ?, ?, ?)";
        execute(connection, sql, params![id, int(place), int(texts.at_ms), text])?;
    }
    let sql = "UPDATE conversation SET entries = entries + 1, messages = messages + ?, \
               updated_ms = MAX(updated_ms, ?) WHERE id = ?";
    let messages = int(texts.messages.len() as u64);
    execute(connection, sql, [messages, int(texts.at_ms), id]).map(drop)
}

fn list(
    connection: &Connection,
    query: &ConversationQuery,
) -> Result<ConversationPage, StoreError> {
    let after = ListCursor::read(query.after.as_ref())?;
    let sql = "SELECT id, name, owner, agent, title, status, created_ms, updated_ms, entries, messages \
               FROM conversation WHERE scope = ?1 AND (?2 IS NULL OR owner = ?2) \
               AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR (updated_ms, name) < (?4, ?5)) \
               ORDER BY updated_ms DESC, name DESC LIMIT ?6";
    let rows: Vec<ConversationRow> = rows(
        connection,
        sql,
        params![
            query.scope.as_str(),
            query.owner.as_deref(),
            query.agent.as_deref(),
            after.as_ref().map(|after| int(after.at_ms)),
            after.as_ref().map(|after| after.name.as_str()),
            int(query.most as u64).saturating_add(1),
        ],
    )?;
    let found: Vec<_> = rows.into_iter().map(|row| conversation(&query.scope, row).1).collect();
    let (page, next) = page(found, query.most, ListCursor::of_conversation);
    Ok(ConversationPage::new(page, next))
}

/// Reads the rows of a conversation with a query, from a number on.
fn read(
    connection: &Connection,
    key: &ConversationKey,
    sql: &str,
    from: u64,
    most: usize,
) -> Result<Vec<(u64, u64, String)>, StoreError> {
    // A snapshot of the file, in which the rows and their long parts are consistent.
    let at = connection.unchecked_transaction().map_err(store_error)?;
    let (id, _) = find(&at, key)?;
    let found = rows(&at, sql, [id, int(from), int(most as u64)])?;
    whole(&at, found)
}

/// Changes the title or the status, if the current status allows it.
fn change(
    connection: &Connection,
    key: &ConversationKey,
    title: Option<Text>,
    status: Option<ConversationStatus>,
    at_ms: u64,
) -> Result<(), StoreError> {
    let (id, mut head) = find(connection, key)?;
    head.change(title, status, at_ms)?;
    let sql = "UPDATE conversation SET title = ?, status = ?, updated_ms = ? WHERE id = ?";
    let status = status_number(head.status);
    execute(connection, sql, params![head.title.as_deref(), status, int(at_ms), id]).map(drop)
}

fn delete(connection: &Connection, key: &ConversationKey) -> Result<bool, StoreError> {
    match find(connection, key) {
        Err(StoreError::NotFound { .. }) => Ok(false),
        found => erase::delete(connection, found?.0).map(|()| true),
    }
}

impl ConversationStore for SqliteStore {
    fn begin(&self, conversation: ConversationRecord) -> StoreFuture<'_, ()> {
        let write = move |connection: &Connection| begin(connection, &conversation);
        Box::pin(self.0.writer.write(0, write))
    }

    fn get<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, ConversationRecord> {
        let key = key.clone();
        Box::pin(self.query(move |connection| Ok(find(connection, &key)?.1)))
    }

    fn list(&self, query: ConversationQuery) -> StoreFuture<'_, ConversationPage> {
        Box::pin(self.query(move |connection| list(connection, &query)))
    }

    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let (key, texts, writer) = (key.clone(), EntryTexts::of(&entry)?, writer.cloned());
            let bytes = size(&texts);
            let write = move |connection: &Connection| {
                append(connection, &key, at, &texts, writer.as_ref())
            };
            self.0.writer.write(bytes, write).await
        })
    }

    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, String)>> {
        let sql = "SELECT number, 0, text FROM line WHERE conversation = ? AND number >= ? ORDER BY number LIMIT ?";
        let key = key.clone();
        Box::pin(self.query(move |connection| {
            let lines = read(connection, &key, sql, from, most)?;
            Ok(lines.into_iter().map(|(number, _, line)| (number, line)).collect())
        }))
    }

    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredMessage>> {
        let sql = "SELECT number, at_ms, text FROM message WHERE conversation = ? AND number >= ? ORDER BY number LIMIT ?";
        let key = key.clone();
        Box::pin(self.query(move |connection| {
            let message = |(number, at_ms, text): (u64, u64, String)| {
                Ok(StoredMessage::new(number, at_ms, to_message(&text)?))
            };
            read(connection, &key, sql, from, most)?.into_iter().map(message).collect()
        }))
    }

    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        let key = key.clone();
        let write = move |connection: &Connection| {
            change(connection, &key, Some(title.clone()), None, at_ms)
        };
        Box::pin(self.0.writer.write(0, write))
    }

    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        let key = key.clone();
        let write =
            move |connection: &Connection| change(connection, &key, None, Some(status), at_ms);
        Box::pin(self.0.writer.write(0, write))
    }

    fn delete<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, bool> {
        let key = key.clone();
        Box::pin(async move {
            let write = move |connection: &Connection| delete(connection, &key);
            let was_there = self.0.writer.write(0, write).await?;
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
    ) -> StoreFuture<'a, Erased> {
        Box::pin(async move {
            let mut all = Erased::default();
            loop {
                let (scope, owner) = (scope.to_owned(), owner.to_owned());
                let write =
                    move |connection: &Connection| erase::erase(connection, &scope, &owner, mode);
                let some = self.0.writer.write(0, write).await?;
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
