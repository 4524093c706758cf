//! The conversations of all callers: those in memory, and those in the store.

use std::sync::Arc;

use axum::http::StatusCode;

use super::{
    ConversationCache, ConversationForRun, LiveConversation, agents::AgentSet, title::title,
};
use crate::{
    Problem,
    access::scope::scope,
    http::ids::check_id,
    input::{client_tools::ClientTools, stored_input::StoredInput},
    journal::{LogProgress, StoredJournal, resume_error::ResumeError, rewound::TakenBack},
    problem::MAX_SHOWN,
};
use forgeline_agent::{Agent, Caller, RunInput};
use forgeline_store::{
    ConversationKey, ConversationRecord, ConversationStore, StoreError, StoredRun,
    private::{new_id, now_ms},
};
use forgeline_types::{AgentError, ErrorCode, Message, Text, private::clipped};

/// The conversations in memory and in the store, and the agents that they are with.
pub(crate) struct ConversationDirectory {
    agents: Arc<AgentSet>,
    store: Arc<dyn ConversationStore>,
    /// `true` if other nodes write conversations, too.
    is_shared: bool,
    log_progress: Arc<LogProgress>,
    cache: ConversationCache,
}

impl ConversationDirectory {
    pub(crate) fn new(
        agents: Arc<AgentSet>,
        store: Arc<dyn ConversationStore>,
        is_shared: bool,
    ) -> Self {
        let (log_progress, cache) = (Arc::default(), ConversationCache::default());
        Self { agents, store, is_shared, log_progress, cache }
    }

    /// Returns the conversations in memory.
    pub(crate) fn cache(&self) -> &ConversationCache {
        &self.cache
    }

    /// Returns the number of events in the log of each active run.
    pub(crate) fn log_progress(&self) -> &LogProgress {
        &self.log_progress
    }

    /// Returns `true` if a conversation with this agent, or the default one, may begin with the messages of a client.
    pub(crate) fn takes_history(&self, agent: Option<&Text>) -> bool {
        self.agents.takes_history(agent)
    }

    /// Returns the requested conversation, or a new one that begins with `history`, with a title taken from the first message, and with the agent of a run
    /// for this caller.
    pub(crate) async fn for_run(
        &self,
        caller: &Caller,
        (agent, id, tools): (Option<Text>, Option<Text>, Option<&ClientTools>),
        (input, history): (&RunInput, Vec<Message>),
    ) -> Result<ConversationForRun, Problem> {
        let scope = scope(caller);
        if let Some(id) = &id {
            check_id("`conversation_id`", id)?;
            if let Some(known) = self.known(&scope, id).await? {
                return self.go_on(caller, known, (agent, tools), (input, history)).await;
            }
        }
        let name = agent.clone().unwrap_or_else(|| self.agents.default_name().clone());
        let own = self.agents.for_caller(&name, caller).await?;
        check_run(&own, input, tools)?;
        let is_nameless = id.is_none();
        let id = id.unwrap_or_else(|| new_id("conv-"));
        let key = ConversationKey::new(scope.clone(), id.clone());
        let mut new = ConversationRecord::new(key, caller.id.clone(), name, now_ms());
        new.title = title(&input.text());
        match self.store.begin(new.clone()).await {
            Ok(()) => {
                let live = self.of_stored(&new, &own);
                if self.is_shared {
                    live.journal.note_read(0).await;
                }
                let added = self.cache.add(&scope, live);
                self.give(&scope, &added, history).await?;
                if added.owner != caller.id {
                    return Err(Problem::not_found("conversation", &added.id));
                }
                Ok(ConversationForRun { is_nameless, ..ConversationForRun::new(added, &own) })
            }
            // Another request was faster.
            Err(StoreError::Exists { .. }) => {
                let known = self.known(&scope, &id).await?;
                let known = known.ok_or_else(|| Problem::not_found("conversation", &id))?;
                self.go_on(caller, known, (agent, tools), (input, history)).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a conversation that was created for a run which did not begin, and whose id no client knows.
    pub(crate) async fn forget_unused(&self, scope: &Text, id: &Text) {
        self.cache.remove(scope, id);
        let key = ConversationKey::new(scope.clone(), id.clone());
        if let Err(error) = self.store.delete(&key).await {
            tracing::warn!(%error, "an empty conversation is left");
        }
    }

    /// Returns a conversation that exists for the next run of its owner.
    async fn go_on(
        &self,
        caller: &Caller,
        known: KnownConversation,
        (agent, tools): (Option<Text>, Option<&ClientTools>),
        (input, history): (&RunInput, Vec<Message>),
    ) -> Result<ConversationForRun, Problem> {
        let (id, owner, name) = known.about();
        if *owner != caller.id {
            return Err(Problem::not_found("conversation", id));
        }
        if let KnownConversation::Stored(stored) = &known
            && stored.status.is_last()
        {
            let detail = "the conversation has ended; start another one";
            return Err(Problem::new(StatusCode::CONFLICT, "ended", detail));
        }
        if let Some(other) = agent.filter(|agent| agent != name) {
            return Err(other_agent(name, &other));
        }
        let (scope, own) = (scope(caller), self.agents.for_caller(name, caller).await?);
        let live = match known {
            KnownConversation::Live(live, head) => {
                live.refresh_to(head).await?;
                live
            }
            KnownConversation::Stored(stored) => {
                let read = self.of_stored(&stored, &own);
                read.reread().await?;
                self.cache.add(&scope, read)
            }
        };
        check_run(&own, input, tools)?;
        self.give(&scope, &live, history).await?;
        Ok(ConversationForRun::new(live, &own))
    }

    /// Puts the messages of a client at the beginning of a conversation in which nothing has been said: another request may have found it meanwhile, and
    /// spoken first.
    async fn give(
        &self,
        scope: &Text,
        conversation: &LiveConversation,
        history: Vec<Message>,
    ) -> Result<(), Problem> {
        if history.is_empty() {
            return Ok(());
        }
        let _giving = conversation.giving.lock().await;
        let key = ConversationKey::new(scope.clone(), conversation.id.clone());
        if conversation.handle.transcript().is_empty() && !self.has_lines(&key).await? {
            let given = conversation.handle.give(history.into_iter().map(Arc::new).collect());
            given.await.map_err(|error| conversation.journal.problem(error))?;
        }
        Ok(())
    }

    /// Returns `true` for a conversation in which something has been said, of whichever caller. One that exists without that was created by a request
    /// that ended there.
    pub(crate) async fn has_begun(&self, caller: &Caller, id: &Text) -> Result<bool, Problem> {
        let scope = scope(caller);
        let cached = self.cache.find(&scope, id).filter(|_| !self.is_shared);
        if cached.is_some_and(|known| !known.handle.transcript().is_empty()) {
            return Ok(true);
        }
        self.has_lines(&ConversationKey::new(scope, id.clone())).await
    }

    async fn has_lines(&self, key: &ConversationKey) -> Result<bool, Problem> {
        match self.store.lines(key, 0, 1).await {
            Ok(lines) => Ok(!lines.is_empty()),
            Err(StoreError::NotFound { .. }) => Ok(false),
            // Something was said in it, and cannot be read.
            Err(StoreError::Corrupt { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn of_stored(&self, stored: &ConversationRecord, agent: &Agent) -> LiveConversation {
        let (store, log_progress) = (Arc::clone(&self.store), Arc::clone(&self.log_progress));
        let journal = StoredJournal::new(store, stored.key.clone(), log_progress, self.is_shared);
        LiveConversation::new(stored, agent, journal)
    }

    /// Returns a conversation from memory or the store; `None` if neither has it.
    async fn known(
        &self,
        scope: &Text,
        id: &Text,
    ) -> Result<Option<KnownConversation>, StoreError> {
        let cached = match self.cache.find(scope, id) {
            Some(live) if !self.is_shared => return Ok(Some(KnownConversation::Live(live, None))),
            cached => cached,
        };
        let stored = match self.store.get(&ConversationKey::new(scope.clone(), id.clone())).await {
            Err(StoreError::NotFound { .. }) => {
                // Another node may have deleted it.
                self.cache.remove(scope, id);
                return Ok(None);
            }
            stored => Box::new(stored?),
        };
        if cached.as_ref().is_some_and(|live| !live.is_that_of(&stored)) {
            // Another node has deleted it, and another caller, or the same, has begun one with its id.
            self.cache.remove(scope, id);
            return Ok(Some(KnownConversation::Stored(stored)));
        }
        Ok(Some(match cached {
            Some(live) if !stored.status.is_last() => {
                KnownConversation::Live(live, Some(stored.entries))
            }
            _ => KnownConversation::Stored(stored),
        }))
    }

    /// Returns the conversation of a run to resume, with the agent for the run's caller; its journal has not been read yet.
    pub(crate) async fn of_run_to_resume(
        &self,
        record: &StoredRun,
    ) -> Result<ConversationForRun, ResumeError> {
        let scope = &record.key.scope;
        let failed = |why: String| ResumeError::from(AgentError::new(ErrorCode::Journal, why));
        let known = self.known(scope, &record.conversation).await?;
        let known = known.ok_or_else(|| failed("its conversation does not exist".to_owned()))?;
        let (_, _, name) = known.about();
        if !self.agents.has(name) {
            let why = format!("the service no longer has the agent `{name}`");
            return Err(ResumeError::NoAgent(AgentError::new(ErrorCode::Journal, why)));
        }
        let caller = StoredInput::read(record).caller(record);
        let own = self.agents.for_caller(name, &caller).await;
        let own = own.map_err(|problem| {
            // Another node, or this one a little later, may make the agent.
            if self.is_shared && problem.is_busy() {
                return StoreError::unavailable(problem.to_string()).into();
            }
            failed(problem.to_string())
        })?;
        let live = match known {
            KnownConversation::Live(live, _) => live,
            KnownConversation::Stored(stored) => {
                self.cache.add(scope, self.of_stored(&stored, &own))
            }
        };
        Ok(ConversationForRun::new(live, &own))
    }

    /// Returns the journal of the conversation of a run; needs no agent.
    pub(crate) fn journal_of(&self, record: &StoredRun) -> StoredJournal {
        let (scope, id) = (&record.key.scope, &record.conversation);
        if let Some(known) = self.cache.find(scope, id) {
            return known.journal.clone();
        }
        let store = Arc::clone(&self.store);
        StoredJournal::new(store, record.conversation_key(), Arc::default(), self.is_shared)
    }

    /// Returns the messages of a conversation that were taken back; those read so far if its journal is damaged.
    pub(crate) async fn taken_back(&self, key: &ConversationKey) -> Result<TakenBack, Problem> {
        let store = &*self.store;
        let known = self.cache.find(&key.scope, &key.id);
        let mut taken = TakenBack::default();
        let read = match &known {
            Some(known) => {
                let mut kept = known.taken_back.lock().await;
                let read = kept.read(store, key).await;
                taken.clone_from(&kept);
                read
            }
            None => taken.read(store, key).await,
        };
        match read {
            Ok(()) | Err(StoreError::Corrupt { .. }) => Ok(taken),
            Err(error) => Err(error.into()),
        }
    }
}

/// A conversation that exists, in memory or only in the store.
enum KnownConversation {
    /// One in memory, with the number of its entries in the store if other nodes write it, too.
    Live(Arc<LiveConversation>, Option<u64>),
    Stored(Box<ConversationRecord>),
}

impl KnownConversation {
    /// Returns its id, its owner and the name of its agent.
    fn about(&self) -> (&Text, &Text, &Text) {
        match self {
            Self::Live(live, _) => (&live.id, &live.owner, &live.agent_name),
            Self::Stored(stored) => (&stored.key.id, &stored.owner, &stored.agent),
        }
    }
}

/// Returns the error for a request that names another agent than that of its conversation.
fn other_agent(own: &str, named: &str) -> Problem {
    let named = clipped(named, MAX_SHOWN);
    let detail = format!(
        "the conversation is with the agent `{own}`, not with `{named}`; name `{own}` or none, or start another conversation"
    );
    Problem::new(StatusCode::CONFLICT, "other_agent", detail)
}

/// Refuses a model that the agent does not offer (the host decides which models a request may choose), an input that the model cannot read, and a tool of
/// the request that has the name of one of the agent's tools.
fn check_run(agent: &Agent, input: &RunInput, tools: Option<&ClientTools>) -> Result<(), Problem> {
    let status = StatusCode::BAD_REQUEST;
    let no_model =
        |error: AgentError| Problem::new(status, "unknown_model", error.message.to_string());
    agent.check_model(input).map_err(no_model)?;
    let unfit = |error: AgentError| Problem::new(status, "unfit_input", error.message.to_string());
    agent.check_input(input).map_err(unfit)?;
    tools.map_or(Ok(()), |tools| tools.check_beside(agent))
}
