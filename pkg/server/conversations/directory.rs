//! The conversations of all callers: those in memory, and those in the store.

use std::sync::Arc;

use axum::http::StatusCode;

use super::{ConversationCache, LiveConversation, agents::AgentSet, title::title};
use crate::{
    Problem,
    access::scope::scope,
    http::ids::check_id,
    input::client_tools::ClientTools,
    journal::{LogProgress, StoredJournal, rewound::TakenBack},
    problem::MAX_SHOWN,
};
use forgeline_agent::{Agent, Caller, RunInput};
use forgeline_store::{
    ConversationKey, ConversationRecord, ConversationStore, RunRecord, StoreError,
    private::{new_id, now_ms},
};
use forgeline_types::{AgentError, ErrorCode, Message, Text, private::clipped};

/// The conversations in memory and in the store, and the agents that they are with.
pub(crate) struct ConversationDirectory {
    agents: Arc<AgentSet>,
    store: Arc<dyn ConversationStore>,
    log_progress: Arc<LogProgress>,
    cache: ConversationCache,
}

impl ConversationDirectory {
    pub(crate) fn new(agents: Arc<AgentSet>, store: Arc<dyn ConversationStore>) -> Self {
        Self { agents, store, log_progress: Arc::default(), cache: ConversationCache::default() }
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

    /// Returns the requested conversation, or a new one that begins with `history`, with a title taken from the first message.
    pub(crate) async fn for_run(
        &self,
        caller: &Caller,
        (agent, id, tools): (Option<Text>, Option<Text>, Option<&ClientTools>),
        (input, history): (&RunInput, Vec<Message>),
    ) -> Result<Arc<LiveConversation>, Problem> {
        let scope = scope(caller);
        let missing = |id: &Text| Problem::not_found("conversation", id);
        if let Some(id) = &id {
            check_id("`conversation_id`", id)?;
            if let Some(known) = self.find(&scope, id).await? {
                if known.owner != caller.id {
                    return Err(missing(id));
                }
                if let Some(other) = agent.filter(|agent| *agent != known.agent_name) {
                    return Err(other_agent(&known.agent_name, &other));
                }
                check_run(&known.agent, input, tools)?;
                self.give(&scope, &known, history).await?;
                return Ok(known);
            }
        }
        let name = agent.unwrap_or_else(|| self.agents.default_name().clone());
        let Some(agent) = self.agents.get(&name) else {
            return Err(Problem::not_found("agent", &name));
        };
        check_run(agent, input, tools)?;
        let id = id.unwrap_or_else(|| new_id("conv-"));
        let key = ConversationKey::new(scope.clone(), id.clone());
        let mut new = ConversationRecord::new(key, caller.id.clone(), name, now_ms());
        new.title = title(&input.text());
        let added = match self.store.begin(new.clone()).await {
            Ok(()) => {
                let added = self.cache.add(&scope, self.of_stored(&new, agent));
                self.give(&scope, &added, history).await?;
                added
            }
            // Another request was faster.
            Err(StoreError::Exists { .. }) => {
                self.find(&scope, &id).await?.ok_or_else(|| missing(&id))?
            }
            Err(error) => return Err(error.into()),
        };
        if added.owner != caller.id {
            return Err(missing(&added.id));
        }
        Ok(added)
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
        if self.cache.find(&scope, id).is_some_and(|known| !known.handle.transcript().is_empty()) {
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
        let journal = StoredJournal::new(store, stored.key.clone(), log_progress);
        LiveConversation::new(stored, agent, journal)
    }

    /// Returns a conversation from memory or the store; `None` if neither has it.
    async fn find(
        &self,
        scope: &Text,
        id: &Text,
    ) -> Result<Option<Arc<LiveConversation>>, Problem> {
        if let Some(known) = self.cache.find(scope, id) {
            return Ok(Some(known));
        }
        let key = ConversationKey::new(scope.clone(), id.clone());
        let stored = match self.store.get(&key).await {
            Err(StoreError::NotFound { .. }) => return Ok(None),
            stored => stored?,
        };
        if stored.status.is_last() {
            let detail = "the conversation has ended; start another one";
            return Err(Problem::new(StatusCode::CONFLICT, "ended", detail));
        }
        let Some(agent) = self.agents.get(&stored.agent) else {
            return Err(Problem::not_found("agent", &stored.agent));
        };
        let conversation = self.of_stored(&stored, agent);
        conversation.reread().await?;
        Ok(Some(self.cache.add(scope, conversation)))
    }

    /// Returns the conversation of a run to resume; its journal has not been read yet.
    pub(crate) async fn of_run_to_resume(
        &self,
        record: &RunRecord,
    ) -> Result<Arc<LiveConversation>, AgentError> {
        let scope = &record.key.scope;
        if let Some(known) = self.cache.find(scope, &record.conversation) {
            return Ok(known);
        }
        let failed = |why: String| AgentError::new(ErrorCode::Journal, why);
        let stored = self.store.get(&record.conversation_key()).await;
        let stored = stored.map_err(|error| failed(error.to_string()))?;
        let agent = self.agents.get(&stored.agent).ok_or_else(|| {
            failed(format!("the service no longer has the agent `{}`", stored.agent))
        })?;
        Ok(self.cache.add(scope, self.of_stored(&stored, agent)))
    }

    /// Returns the journal of the conversation of a run; needs no agent.
    pub(crate) fn journal_of(&self, record: &RunRecord) -> StoredJournal {
        let (scope, id) = (&record.key.scope, &record.conversation);
        if let Some(known) = self.cache.find(scope, id) {
            return known.journal.clone();
        }
        StoredJournal::new(Arc::clone(&self.store), record.conversation_key(), Arc::default())
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
