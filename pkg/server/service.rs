//! The service: agents, their runs, and the callers that may use them.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument as _;

use super::{
    Identify, Keep, Problem,
    access::{
        origins::Origins,
        scope::scope,
        usage::{Held, Usage, What},
    },
    conversations::{Conversation, Conversations, regenerate::Again, title::title, turns::Turn},
    durable::Streams,
    health::Checks,
    input::client_tools::{self, ClientTools},
    journal::{StoredJournal, Told},
    metrics::{Metrics, latency::LatencyWindow, latency_records::LatencyRecords},
    readers::scope_events,
    retention::Sweeping,
    runs::{
        Runs,
        places::{Place, Places},
        run::Run,
    },
};
use crate::{
    agent::{Caller, DefaultAgent, RunInput, RunStream, Ways},
    store::{
        Conversation as StoredConversation, ConversationKey, EventLog, LogError, LogKey,
        NotificationChannel, RunBegun, RunChange, RunProgress, RunRecord, RunRequest, StoreError,
        Stores, new_id, now_ms,
    },
    types::{AgentError, Text},
};

/// Maximum length of a conversation id or an idempotency key, in bytes.
const MAX_ID_BYTES: usize = 200;

/// Maximum size of a request's module, page, model and metadata together, in bytes.
pub(super) const MAX_ABOUT_BYTES: usize = 16 << 10;

/// A set of agents as a service. Clones refer to the same service. See [the module](super).
#[derive(Clone)]
pub struct Service(pub(super) Arc<Inside>);

pub(super) struct Inside {
    pub(super) agents: BTreeMap<Text, DefaultAgent>,
    pub(super) default: Text,
    pub(super) identify: Box<dyn Identify>,
    pub(super) stores: Stores,
    pub(super) told: Arc<Told>,
    pub(super) streams: Streams,
    pub(super) long_poll: Duration,
    pub(super) runs: Runs,
    pub(super) conversations: Conversations,
    pub(super) places: Arc<Places>,
    pub(super) usage: Arc<Usage>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) latency: Option<Arc<LatencyWindow>>,
    pub(super) checks: Checks,
    pub(super) records: Arc<LatencyRecords>,
    pub(super) tasks: TaskTracker,
    /// Cancelled to suspend the runs.
    pub(super) away: CancellationToken,
    /// Cancelled to end the streams.
    pub(super) ends: CancellationToken,
    pub(super) keep: Keep,
    pub(super) sweeping: Sweeping,
    pub(super) origins: Origins,
    pub(super) has_console: bool,
}

/// A request for a run.
pub(crate) struct Asked {
    pub(super) input: RunInput,
    pub(super) agent: Option<Text>,
    pub(super) conversation: Option<Text>,
    /// The tools sent with the request.
    pub(super) tools: Option<Arc<ClientTools>>,
    /// The idempotency key, and a digest of the rest of the request.
    pub(super) request: Option<(Text, u64)>,
    /// The chat whose last answer is regenerated.
    pub(super) again: Option<Again>,
}

impl Service {
    pub(super) fn identify(&self, parts: &axum::http::request::Parts) -> Result<Caller, Problem> {
        self.0.identify.identify(parts)
    }

    /// Returns `true` if the routes include the web console.
    pub(super) fn has_console(&self) -> bool {
        self.0.has_console
    }

    pub(super) fn log(&self) -> Arc<dyn EventLog> {
        Arc::clone(&self.0.stores.log)
    }

    pub(super) fn stores(&self) -> &Stores {
        &self.0.stores
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(super) fn metrics_text(&self) -> String {
        self.0.metrics.text(&self.0.usage, &self.0.places)
    }

    pub(super) fn latency(&self) -> Option<&LatencyWindow> {
        self.0.latency.as_deref()
    }

    pub(super) fn checks(&self) -> &Checks {
        &self.0.checks
    }

    /// Returns `true` once the service accepts no more runs.
    pub(super) fn is_ending(&self) -> bool {
        self.0.tasks.is_closed()
    }

    /// Returns `true` if any run of the conversation has not ended, including runs before the last one.
    pub(super) fn is_under_way(&self, scope: &Text, conversation: &str) -> bool {
        !self.0.runs.open(scope, conversation).is_empty()
    }

    pub(super) fn origins(&self) -> &Origins {
        &self.0.origins
    }

    pub(super) fn usage(&self) -> &Arc<Usage> {
        &self.0.usage
    }

    pub(super) fn streams(&self) -> &Streams {
        &self.0.streams
    }

    pub(super) fn long_poll(&self) -> Duration {
        self.0.long_poll
    }

    /// Returns the agents, the default agent first.
    pub(super) fn agents(&self) -> impl Iterator<Item = (&Text, &DefaultAgent)> {
        let (first, others): (Vec<_>, Vec<_>) =
            self.0.agents.iter().partition(|(name, _)| **name == self.0.default);
        first.into_iter().chain(others)
    }

    /// Starts a run. The run continues without readers, and starts completely even if this future is dropped.
    pub(super) async fn begin(&self, caller: Caller, asked: Asked) -> Result<Arc<Run>, Problem> {
        let this = self.clone();
        let whole = async move { this.begin_whole(caller, asked).await };
        let begun = tokio::spawn(whole.in_current_span());
        begun.await.unwrap_or_else(|_| Err(Problem::busy("the run could not start", 5)))
    }

    async fn begin_whole(&self, caller: Caller, asked: Asked) -> Result<Arc<Run>, Problem> {
        let inside = &self.0;
        self.start_sweeping();
        let Asked { input, agent, conversation, tools, request, again } = asked;
        let scope = scope(&caller);
        if let Some((key, digest)) = &request {
            check_id("`Idempotency-Key`", key)?;
            let earlier = inside.stores.runs.of_request(&scope, &caller.id, key).await?;
            if let Some(earlier) = earlier {
                return self.same(&earlier, *digest);
            }
        }
        if inside.tasks.is_closed() {
            return Err(Problem::busy("the service is shutting down", 30));
        }
        inside.usage.limits().check_input(&input.text())?;
        let about = input.about();
        if about.as_ref().is_some_and(|about| about.len() > MAX_ABOUT_BYTES) {
            let detail = format!(
                "module, page, model and metadata have more than {MAX_ABOUT_BYTES} bytes together; send less"
            );
            return Err(Problem::bad(detail));
        }
        inside.usage.begin_run(&caller)?;
        let held = inside.usage.hold(&scope, What::Run)?;
        let Some(place) = inside.places.queue() else {
            let detail = "the service is busy and could not start this run; try again later";
            return Err(Problem::busy(detail, 5));
        };
        let named = (agent, conversation, tools.as_deref());
        let conversation = self.conversation(&caller, named, &input).await?;
        let input = input.caller(caller.clone()).conversation(conversation.id.clone());
        let kept = client_tools::keep(&input, tools.as_deref());
        let kept = kept.map_err(|error| Problem::bad(error.to_string()))?;
        let input = match tools {
            Some(tools) => input.state(tools),
            None => input,
        };
        let stream = conversation.agent.run_stream(input);
        let key = LogKey::new(scope, stream.run_id());
        let (id, owner) = (conversation.id.clone(), caller.id.clone());
        let mut record =
            RunRecord::new(key.clone(), id, owner, conversation.agent_name.clone(), now_ms())
                .input(kept);
        record.request = request.map(|(key, digest)| RunRequest::new(key, digest));
        record.about.clone_from(&about);
        let digest = record.request.as_ref().map_or(0, |request| request.digest);
        match inside.stores.runs.begin(record).await? {
            RunBegun::New => {}
            // Another request with the same key was faster.
            RunBegun::Same(earlier) => return self.same(&earlier, digest),
            RunBegun::Other => return Err(other_request()),
        }
        let ways = Ways::of(&stream);
        let run = Run::new(key.clone(), conversation.id.clone(), caller.id, ways);
        let run = Arc::new(run.about(about));
        let log = &inside.stores.log;
        let ready = async {
            if let Some(again) = &again {
                self.take_back(&run.key.scope, &conversation, again).await?;
            }
            log.create(key).await?;
            // A reader of the scope that starts now finds the run in memory until it is noted in the log, and in the log from then on.
            inside.runs.add(&run);
            Ok(scope_events::note(&**log, &run).await?)
        };
        if let Err(problem) = ready.await {
            inside.runs.remove(&run.key);
            drop(log.remove(&run.key).await);
            // The run was not acknowledged: the same request may start it again.
            if inside.stores.runs.delete(&run.key).await.is_err() {
                run.keep(&inside.stores, RunChange::to(RunProgress::Failed, now_ms())).await;
            }
            return Err(problem);
        }
        let turn = conversation.begin(&run);
        inside.metrics.begin_run();
        tracing::info!(run_id = run.id(), conversation = %run.conversation, "a run begins");
        self.drive(Arc::clone(&run), stream, turn, (place, held));
        Ok(run)
    }

    fn drive(
        &self,
        run: Arc<Run>,
        stream: RunStream,
        turn: Turn,
        (mut place, held): (Place, Held),
    ) {
        let this = self.clone();
        if !turn.is_first() {
            // A run that waits for an earlier one, which may be waiting for a person, does not occupy a slot that another run could use.
            place.leave();
        }
        self.0.tasks.spawn(async move {
            let comes = run.cancel.run_until_cancelled(turn.comes());
            this.0.away.run_until_cancelled(comes).await;
            this.drive_here(&run, stream, place, 0).await;
            drop((turn, held));
        });
    }

    pub(super) async fn drive_here(&self, run: &Run, stream: RunStream, place: Place, from: u64) {
        let (inside, begun) = (&self.0, Instant::now());
        inside.records.begin(run.id());
        let stores = (&inside.stores, &*inside.told);
        let ending = run.drive(stream, stores, place, from, &inside.away).await;
        // Nothing is kept of a run that was erased.
        let is_known = inside.runs.find(&run.key.scope, run.id()).is_some();
        inside.records.keep(run, is_known.then_some(&inside.stores)).await;
        let Some(ending) = ending else { return };
        if ending.is_unsaid && is_known {
            self.keep_said_of(&run.key).await;
        }
        let end = run.tell_end(&inside.stores, ending).await;
        inside.conversations.grown(&run.key.scope, &run.conversation);
        let (status, took) = (run.shown().status(), begun.elapsed());
        inside.metrics.end_run(status, end.seq.saturating_sub(from), took);
        tracing::info!(run_id = run.id(), status, events = end.seq, ?took, "a run has ended");
    }

    /// Returns the run that an earlier request with the same key started, if both requests are equal.
    fn same(&self, earlier: &RunRecord, digest: u64) -> Result<Arc<Run>, Problem> {
        if earlier.request.as_ref().is_none_or(|request| request.digest != digest) {
            return Err(other_request());
        }
        Ok(self.known(earlier))
    }

    /// Returns the run of a stored record: the one in memory if there is one.
    fn known(&self, record: &RunRecord) -> Arc<Run> {
        let scope = &record.key.scope;
        if let Some(run) = self.0.runs.find(scope, &record.key.name) {
            return run;
        }
        Arc::new(Self::not_here(record))
    }

    /// Returns a run that is not active in this process, from its record.
    pub(super) fn not_here(record: &RunRecord) -> Run {
        Run::stored(record)
    }

    /// Returns the requested conversation, or a new one with a title taken from the first message.
    async fn conversation(
        &self,
        caller: &Caller,
        (agent, id, tools): (Option<Text>, Option<Text>, Option<&ClientTools>),
        input: &RunInput,
    ) -> Result<Arc<Conversation>, Problem> {
        let scope = scope(caller);
        let missing = |id: &Text| Problem::not_found("conversation", id);
        if let Some(id) = &id {
            check_id("`conversation_id`", id)?;
            if let Some(known) = self.find_conversation(&scope, id).await? {
                let other = agent.filter(|agent| *agent != known.agent_name);
                if known.owner != caller.id || other.is_some() {
                    return Err(missing(id));
                }
                check_run(&known.agent, input, tools)?;
                return Ok(known);
            }
        }
        let name = agent.unwrap_or_else(|| self.0.default.clone());
        let Some(agent) = self.0.agents.get(&name) else {
            return Err(Problem::not_found("agent", &name));
        };
        check_run(agent, input, tools)?;
        let id = id.unwrap_or_else(|| new_id("conv-"));
        let key = ConversationKey::new(scope.clone(), id.clone());
        let mut new = StoredConversation::new(key, caller.id.clone(), name, now_ms());
        new.title = title(&input.text());
        let added = match self.0.stores.conversations.begin(new.clone()).await {
            Ok(()) => self.0.conversations.add(&scope, self.of_stored(&new, agent)),
            // Another request was faster.
            Err(StoreError::Exists { .. }) => {
                self.find_conversation(&scope, &id).await?.ok_or_else(|| missing(&id))?
            }
            Err(error) => return Err(error.into()),
        };
        if added.owner != caller.id {
            return Err(missing(&added.id));
        }
        Ok(added)
    }

    pub(super) fn of_stored(
        &self,
        stored: &StoredConversation,
        agent: &DefaultAgent,
    ) -> Conversation {
        let Inside { stores, told, .. } = &*self.0;
        let store = Arc::clone(&stores.conversations);
        let journal = StoredJournal::new(store, stored.key.clone(), Arc::clone(told));
        Conversation::new(stored, agent, journal)
    }

    /// Returns a conversation from memory or the store; `None` if neither has it.
    async fn find_conversation(
        &self,
        scope: &Text,
        id: &Text,
    ) -> Result<Option<Arc<Conversation>>, Problem> {
        if let Some(known) = self.0.conversations.find(scope, id) {
            return Ok(Some(known));
        }
        let key = ConversationKey::new(scope.clone(), id.clone());
        let stored = match self.0.stores.conversations.get(&key).await {
            Err(StoreError::NotFound { .. }) => return Ok(None),
            stored => stored?,
        };
        if stored.status.is_last() {
            let detail = "the conversation has ended; start another one";
            return Err(Problem::new(axum::http::StatusCode::CONFLICT, "ended", detail));
        }
        let Some(agent) = self.0.agents.get(&stored.agent) else {
            return Err(Problem::not_found("agent", &stored.agent));
        };
        let conversation = self.of_stored(&stored, agent);
        conversation.reread().await?;
        Ok(Some(self.0.conversations.add(scope, conversation)))
    }

    pub(super) fn add_run(&self, run: &Arc<Run>) {
        self.0.runs.add(run);
    }

    /// Spawns a task that a shutdown waits for.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn(work);
    }

    /// Returns a run of this caller; a run of another caller is not found.
    pub(super) async fn run(&self, caller: &Caller, id: &str) -> Result<Arc<Run>, Problem> {
        let scope = scope(caller);
        let run = match self.0.runs.find(&scope, id) {
            Some(run) => run,
            None => match self.0.stores.runs.get(&LogKey::new(scope, id)).await {
                Err(StoreError::NotFound { .. }) => return Err(Problem::not_found("run", id)),
                record => Arc::new(Self::not_here(&record?)),
            },
        };
        if run.owner == caller.id { Ok(run) } else { Err(Problem::not_found("run", id)) }
    }

    /// Returns a run of this caller to a reader. For a run that was retired, the error says so.
    pub(super) async fn run_to_read(&self, caller: &Caller, id: &str) -> Result<Arc<Run>, Problem> {
        match self.run(caller, id).await {
            Err(problem) if problem.is_not_found() => {
                let (log, key) = (self.log(), LogKey::new(scope(caller), id));
                let was_there = scope_events::was_of(log, &key, caller).await?;
                let retired = || LogError::Retired { name: key.name.clone() };
                Err(if was_there { retired().into() } else { problem })
            }
            run => run,
        }
    }

    /// Returns the caller's runs that have not ended.
    pub(super) fn open_runs(&self, scope: &Text, owner: &str) -> Vec<Arc<Run>> {
        let mut runs = self.0.runs.all();
        runs.retain(|run| run.key.scope == *scope && run.owner == owner && !run.has_ended());
        runs
    }

    pub(super) fn notifications(&self) -> Arc<dyn NotificationChannel> {
        Arc::clone(&self.0.stores.notifications)
    }

    /// Returns the active run of a conversation, preferring one that its user has not left for another.
    pub(super) fn open_run(&self, caller: &Caller, conversation: &str) -> Option<Arc<Run>> {
        let runs = self.0.runs.open(&scope(caller), conversation);
        let run = runs.iter().find(|run| !run.steering.is_left()).or(runs.first());
        run.filter(|run| run.owner == caller.id).cloned()
    }

    /// Returns the active run of a conversation, preceded by the runs that its user has left for it.
    pub(super) fn runs_to_stop(&self, caller: &Caller, conversation: &str) -> Vec<Arc<Run>> {
        let mut runs = self.0.runs.open(&scope(caller), conversation);
        runs.retain(|run| run.owner == caller.id);
        let left = runs.iter().take_while(|run| run.steering.is_left()).count();
        runs.truncate(left + 1);
        runs
    }
}

pub(super) fn check_id(what: &str, id: &str) -> Result<(), Problem> {
    if id.is_empty() || id.len() > MAX_ID_BYTES || id.chars().any(char::is_control) {
        let detail =
            format!("{what} must have 1 to {MAX_ID_BYTES} bytes, without control characters");
        return Err(Problem::bad(detail));
    }
    Ok(())
}

/// Returns a digest of a request that is stable across processes, to recognize the request when it is repeated.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    let hash = Sha256::digest(bytes);
    hash.iter().take(8).fold(0, |digest, byte| digest << 8 | u64::from(*byte))
}

/// Refuses a model that the agent does not offer (the host decides which models a request may choose), an input that the model cannot read, and a tool of
/// the request that has the name of one of the agent's tools.
fn check_run(
    agent: &DefaultAgent,
    input: &RunInput,
    tools: Option<&ClientTools>,
) -> Result<(), Problem> {
    let status = axum::http::StatusCode::BAD_REQUEST;
    let no_model =
        |error: AgentError| Problem::new(status, "unknown_model", error.message.to_string());
    agent.check_model(input).map_err(no_model)?;
    let unfit = |error: AgentError| Problem::new(status, "unfit_input", error.message.to_string());
    agent.check_input(input).map_err(unfit)?;
    tools.map_or(Ok(()), |tools| tools.check_beside(agent))
}

fn other_request() -> Problem {
    let detail = "the key was already used for another request; use a new one";
    Problem::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, "other_request", detail)
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Service")
            .field("agents", &self.0.agents.keys())
            .finish_non_exhaustive()
    }
}
