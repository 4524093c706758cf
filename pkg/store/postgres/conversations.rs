//! The conversation store of [`PostgresStore`].

use super::{
    PostgresStore,
    conversation_rows::{conversation, head},
    conversation_writes::{LINES, MESSAGES},
    pool::RepeatRule,
    values::values,
};
use crate::{
    ConversationKey, ConversationPage, ConversationQuery, ConversationRecord, ConversationStatus,
    ConversationStore, Entry, EraseMode, Erased, RunWriter, StoreError, StoreFuture, StoredMessage,
    conversation_record::{status_number, to_message},
    entry_texts::EntryTexts,
    integers::int,
    list_cursor::{ListCursor, page},
};
use forgeline_types::Text;

const BEGIN: &str = "INSERT INTO forgeline.conversation (scope, id, owner, agent, title, status, created_ms, updated_ms) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING no";

const GET: &str =
    concat!("SELECT ", head!(), " FROM forgeline.conversation WHERE scope = $1 AND id = $2");

const LIST: &str = concat!(
    "SELECT ",
    head!(),
    " FROM forgeline.conversation WHERE scope = $1 AND ($2::text IS NULL OR owner = $2) \
     AND ($3::text IS NULL OR agent = $3) AND ($4::bigint IS NULL OR (updated_ms, id) < ($4, $5)) \
     ORDER BY updated_ms DESC, id DESC LIMIT $6"
);

/// Changes a conversation that was not changed since it was read.
const CHANGE: &str = "UPDATE forgeline.conversation SET title = $3, status = $4, updated_ms = $5 \
     WHERE scope = $1 AND id = $2 AND status = $6 AND title IS NOT DISTINCT FROM $7 RETURNING no";

/// Maximum number of attempts to change a conversation that others change, too.
const MAX_TRIES: usize = 16;

impl PostgresStore {
    pub(super) async fn conversation(
        &self,
        key: &ConversationKey,
    ) -> Result<ConversationRecord, StoreError> {
        let (scope, id) = (key.scope.as_str(), key.id.as_str());
        let row = self.0.pool.row(RepeatRule::Safe, GET, values![scope, id]).await?;
        conversation(&row.ok_or_else(|| StoreError::no_conversation(key))?)
    }

    /// Changes the title or the status, if the current status allows it.
    async fn change_conversation(
        &self,
        key: &ConversationKey,
        title: Option<Text>,
        status: Option<ConversationStatus>,
        at_ms: u64,
    ) -> Result<(), StoreError> {
        for _ in 0..MAX_TRIES {
            let before = self.conversation(key).await?;
            let mut after = before.clone();
            after.change(title.clone(), status, at_ms)?;
            let (scope, id) = (key.scope.as_str(), key.id.as_str());
            let [old, new] = [before.status, after.status].map(status_int);
            let (title, at_ms) = (after.title.as_deref(), int(at_ms));
            let was = before.title.as_deref();
            let values = values![scope, id, title, new, at_ms, old, was];
            if self.0.pool.row(RepeatRule::Safe, CHANGE, values).await?.is_some() {
                return Ok(());
            }
        }
        let reason = format!("conversation `{}` is changed by others all the time", key.id);
        Err(StoreError::Unavailable { reason })
    }
}

fn status_int(status: ConversationStatus) -> i16 {
    i16::try_from(status_number(status)).unwrap_or_default()
}

impl ConversationStore for PostgresStore {
    fn begin(&self, new: ConversationRecord) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let (scope, id) = (new.key.scope.as_str(), new.key.id.as_str());
            let (owner, agent, title) =
                (new.owner.as_str(), new.agent.as_str(), new.title.as_deref());
            let (status, created, updated) =
                (status_int(new.status), int(new.created_ms), int(new.updated_ms));
            let values = values![scope, id, owner, agent, title, status, created, updated];
            let begun = self.0.pool.row(RepeatRule::Unsafe, BEGIN, values).await?;
            begun.map(drop).ok_or_else(|| StoreError::exists("conversation", id))
        })
    }

    fn get<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, ConversationRecord> {
        Box::pin(self.conversation(key))
    }

    fn list(&self, query: ConversationQuery) -> StoreFuture<'_, ConversationPage> {
        Box::pin(async move {
            let after = ListCursor::read(query.after.as_ref())?;
            let (scope, owner, agent) =
                (query.scope.as_str(), query.owner.as_deref(), query.agent.as_deref());
            let at_ms = after.as_ref().map(|after| int(after.at_ms));
            let name = after.as_ref().map(|after| after.name.as_str());
            let most = int(query.most as u64).saturating_add(1);
            let values = values![scope, owner, agent, at_ms, name, most];
            let rows = self.0.pool.rows(RepeatRule::Safe, LIST, values).await?;
            let found = rows.iter().map(conversation).collect::<Result<Vec<_>, _>>()?;
            let (page, next) = page(found, query.most, ListCursor::of_conversation);
            Ok(ConversationPage::new(page, next))
        })
    }

    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let texts = EntryTexts::of(&entry)?;
            self.append_entry(key, at, texts, writer).await
        })
    }

    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, String)>> {
        Box::pin(async move {
            let lines = self.texts(key, LINES, int(from), int(most as u64)).await?;
            Ok(lines.into_iter().map(|(number, _, line)| (number, line)).collect())
        })
    }

    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredMessage>> {
        Box::pin(async move {
            let messages = self.texts(key, MESSAGES, int(from), int(most as u64)).await?;
            let message = |(number, at_ms, text): (u64, u64, String)| {
                Ok(StoredMessage::new(number, at_ms, to_message(&text)?))
            };
            messages.into_iter().map(message).collect()
        })
    }

    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.change_conversation(key, Some(title), None, at_ms))
    }

    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.change_conversation(key, None, Some(status), at_ms))
    }

    fn delete<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, bool> {
        Box::pin(self.delete_conversation(key))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, Erased> {
        Box::pin(self.erase_conversations(scope, owner, mode))
    }
}
