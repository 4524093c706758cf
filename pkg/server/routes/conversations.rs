//! The routes that list, read, rename and delete conversations.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::message_runs::with_runs;
use crate::{
    Problem, Service,
    access::{caller::RequestCaller, scope::scope},
    conversations::{size, title::is_plain},
    http::{
        extract::{JsonBody, PathParameters, QueryParameters},
        ids::check_id,
    },
    journal::rewound::TakenBack,
    retention::DataRetention,
    runs::directory::RunDirectory,
};
use forgeline_agent as agent;
use forgeline_store::{
    ConversationKey, ConversationQuery, ConversationRecord, ConversationStore, StoredMessage,
    Stores, private::now_ms,
};
use forgeline_types::Text;

/// Maximum number of entries of a page, and the default.
const MAX_PAGE: usize = 200;
const PAGE: usize = 50;

/// Size of the messages after which a page ends, in bytes, and the number of messages read at a time.
const PAGE_BYTES: usize = 4 << 20;
const STEP: usize = 8;

/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 200;

/// The requested part of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageQuery {
    after: Option<Text>,
    /// The number of the message before which the page ends.
    before: Option<Text>,
    limit: Option<usize>,
    agent: Option<Text>,
}

/// The id of a chat.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChatQuery {
    id: Option<Text>,
}

/// The id of a chat, or the list of chats, and the requested part.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryQuery {
    id: Option<Text>,
    after: Option<Text>,
    before: Option<Text>,
    limit: Option<usize>,
    agent: Option<Text>,
}

/// A change of a conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TitleChange {
    #[schemars(with = "String")]
    title: Text,
}

type JsonResult = Result<Json<Value>, Problem>;

impl PageQuery {
    fn most(&self) -> Result<usize, Problem> {
        page_size(self.limit)
    }
}

/// Returns the number of entries of a page, as requested.
pub(super) fn page_size(limit: Option<usize>) -> Result<usize, Problem> {
    let most = limit.unwrap_or(PAGE);
    let detail = || Problem::bad(format!("`limit` must be a number from 1 to {MAX_PAGE}"));
    (1..=MAX_PAGE).contains(&most).then_some(most).ok_or_else(detail)
}

/// Returns a conversation as callers see it.
fn shown(conversation: &ConversationRecord) -> Value {
    json!({
        "id": conversation.key.id,
        "agent": conversation.agent,
        "title": conversation.title,
        "status": conversation.status,
        "created_ms": conversation.created_ms,
        "updated_ms": conversation.updated_ms,
        "messages": conversation.messages,
    })
}

/// Returns a conversation of this caller; a conversation of another caller is not found.
async fn find(
    store: &dyn ConversationStore,
    caller: &agent::Caller,
    id: &str,
) -> Result<ConversationRecord, Problem> {
    check_id("the conversation id", id)?;
    let key = ConversationKey::new(scope(caller), id);
    let found = store.get(&key).await?;
    let is_own = found.owner == caller.id;
    is_own.then_some(found).ok_or_else(|| Problem::not_found("conversation", id))
}

pub(super) async fn list(
    State(stores): State<Stores>,
    RequestCaller(caller): RequestCaller,
    QueryParameters(page): QueryParameters<PageQuery>,
) -> JsonResult {
    if page.before.is_some() {
        return Err(Problem::bad(
            "`before` is for the messages of one conversation; use `after` to read on in the list",
        ));
    }
    let mut query = ConversationQuery::new(scope(&caller), page.most()?).owner(caller.id.clone());
    query.after = page.after;
    query.agent = page.agent;
    let page = stores.conversations.list(query).await?;
    let conversations: Vec<_> = page.conversations.iter().map(shown).collect();
    Ok(Json(json!({ "conversations": conversations, "next": page.next })))
}

/// Returns a conversation and a page of its messages; messages that were taken back are marked.
pub(super) async fn show(
    State(service): State<Service>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
    QueryParameters(page): QueryParameters<PageQuery>,
) -> JsonResult {
    show_page(&service, &caller, &id, page, false).await
}

/// Returns a conversation and a page of its messages, without those that were taken back if `is_chat`.
async fn show_page(
    service: &Service,
    caller: &agent::Caller,
    id: &str,
    page: PageQuery,
    is_chat: bool,
) -> JsonResult {
    let found = find(&*service.0.stores.conversations, caller, id).await?;
    let most = page.most()?;
    let taken = service.0.conversations.taken_back(&found.key).await?;
    let left_out = if is_chat { taken.clone() } else { TakenBack::default() };
    let of = (&*service.0.stores.conversations, &found.key, &left_out);
    let messages = match (&page.after, &page.before) {
        (Some(_), Some(_)) => {
            return Err(Problem::bad("`after` and `before` cannot be used together"));
        }
        (after, None) => page_of(of, behind(after.as_deref())?, most).await?,
        (None, Some(before)) => {
            let end = number(before).ok_or_else(|| {
                Problem::bad("`before` must be the unchanged `previous` of a page")
            })?;
            page_before(of, end.min(found.messages), most).await?
        }
    };
    let next = messages.last().map(|last| last.number).filter(|last| last + 1 < found.messages);
    let previous = messages.first().map(|first| first.number).filter(|first| *first > 0);
    let mut answer = shown(&found);
    if let Value::Object(fields) = &mut answer {
        let (stores, agent) = ((&service.0.stores, &*service.0.agents), (&*found.agent, caller));
        let mut shown_messages = with_runs(stores, &found.key, agent, &messages).await?;
        for (stored, message) in messages.iter().zip(&mut shown_messages) {
            if let Value::Object(fields) = message
                && taken.has(stored.number)
            {
                fields.insert("taken_back".to_owned(), true.into());
            }
        }
        let page = json!({ "messages": shown_messages, "next": next, "previous": previous });
        fields.insert("page".to_owned(), page);
        let open = service.0.runs.open_run(caller, id).await?;
        fields.insert("open_run".to_owned(), open.map(|run| run.id().to_owned()).into());
    }
    Ok(Json(answer))
}

/// A conversation, and those of its messages to leave out.
type MessageSelection<'o> = (&'o dyn ConversationStore, &'o ConversationKey, &'o TakenBack);

/// Returns at most `most` messages, ending after one that fills the page.
async fn page_of(
    (store, key, left_out): MessageSelection<'_>,
    from: u64,
    most: usize,
) -> Result<Vec<StoredMessage>, Problem> {
    let (mut page, mut bytes, mut at) = (Vec::new(), 0, from);
    while page.len() < most && bytes < PAGE_BYTES {
        let step = STEP.min(most - page.len());
        let messages = store.messages(key, at, step).await?;
        let is_all = messages.len() < step;
        for message in messages {
            if bytes >= PAGE_BYTES {
                break;
            }
            at = message.number + 1;
            if left_out.has(message.number) {
                continue;
            }
            bytes += size(&message.message);
            page.push(message);
        }
        if is_all {
            break;
        }
    }
    Ok(page)
}

/// Returns at most `most` messages before number `end`, beginning at one that fills the page.
async fn page_before(
    (store, key, left_out): MessageSelection<'_>,
    end: u64,
    most: usize,
) -> Result<Vec<StoredMessage>, Problem> {
    let (mut page, mut bytes, mut at) = (Vec::new(), 0, end);
    while page.len() < most && bytes < PAGE_BYTES && at > 0 {
        let step = STEP.min(most - page.len());
        let from = at.saturating_sub(step as u64);
        let count = usize::try_from(at - from).unwrap_or(step);
        let messages = store.messages(key, from, count).await?;
        let wanted = |it: &StoredMessage| it.number < at && !left_out.has(it.number);
        for message in messages.into_iter().rev().filter(wanted) {
            if bytes >= PAGE_BYTES {
                break;
            }
            bytes += size(&message.message);
            page.push(message);
        }
        at = from;
    }
    page.reverse();
    Ok(page)
}

/// Returns the number after the last message seen.
fn behind(seen: Option<&str>) -> Result<u64, Problem> {
    let Some(seen) = seen else { return Ok(0) };
    let next = number(seen).and_then(|number| number.checked_add(1));
    next.ok_or_else(|| Problem::bad("`after` must be the unchanged `next` of a page"))
}

/// Parses the number of a message as pages contain it.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

pub(super) async fn rename(
    State(stores): State<Stores>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
    JsonBody(TitleChange { title }): JsonBody<TitleChange>,
) -> JsonResult {
    let store = &*stores.conversations;
    let found = find(store, &caller, &id).await?;
    let title = title.trim();
    if title.is_empty() || title.chars().count() > MAX_TITLE_CHARS || !title.chars().all(is_plain) {
        let detail = format!(
            "`title` must have 1 to {MAX_TITLE_CHARS} characters, without control characters and characters that change the direction of text"
        );
        return Err(Problem::bad(detail));
    }
    store.rename(&found.key, title.into(), now_ms()).await?;
    Ok(Json(shown(&store.get(&found.key).await?)))
}

pub(super) async fn delete(
    State(stores): State<Stores>,
    State(runs): State<Arc<RunDirectory>>,
    State(retention): State<Arc<DataRetention>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
) -> Result<StatusCode, Problem> {
    let found = find(&*stores.conversations, &caller, &id).await?;
    // Runs before the last one count, too.
    if runs.has_open(&found.key.scope, &found.key.id).await? {
        let detail = "a run of the conversation is under way; cancel it first";
        return Err(Problem::new(StatusCode::CONFLICT, "run_under_way", detail));
    }
    retention.delete_conversation(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the list of chats or, with an id, a page of a chat's messages without those that were taken back; by default, the last page.
pub(super) async fn history(
    State(service): State<Service>,
    caller: RequestCaller,
    QueryParameters(HistoryQuery { id, after, before, limit, agent }): QueryParameters<
        HistoryQuery,
    >,
) -> JsonResult {
    let mut page = PageQuery { after, before, limit, agent };
    let Some(id) = id else {
        return list(State(service.0.stores.clone()), caller, QueryParameters(page)).await;
    };
    let RequestCaller(caller) = caller;
    if page.after.is_none() && page.before.is_none() {
        page.before = Some(u64::MAX.to_string().into());
    }
    show_page(&service, &caller, &id, page, true).await
}

/// Deletes a chat.
pub(super) async fn forget(
    stores: State<Stores>,
    runs: State<Arc<RunDirectory>>,
    retention: State<Arc<DataRetention>>,
    caller: RequestCaller,
    QueryParameters(ChatQuery { id }): QueryParameters<ChatQuery>,
) -> Response {
    let Some(id) = id else {
        return Problem::bad("name the chat to delete: `?id=`").into_response();
    };
    delete(stores, runs, retention, caller, PathParameters(id.to_string())).await.into_response()
}
