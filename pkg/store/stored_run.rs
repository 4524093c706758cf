//! A stored run.

use serde::{Deserialize, Serialize};

use super::{ConversationKey, LogKey, NodeId, RunWriter, StoreError};
use forgeline_types::{Text, UsageInfo, setters};

/// The stored data of a run. Its events are in the [log](super::EventLog) with the same key, its messages and its journal in the
/// [conversation](super::ConversationStore).
///
/// # Examples
///
/// ```
/// use forgeline::store::{LogKey, RunProgress, StoredRun};
///
/// let run = StoredRun::new(LogKey::new("team-a", "run_1"), "c1", "ann", "main", 1_000);
/// assert!(!run.progress.has_ended());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredRun {
    /// The key: its scope and id.
    pub key: LogKey,
    /// The id of its conversation, in the same scope.
    pub conversation: Text,
    /// The id of the caller that owns it; empty once it was erased.
    pub owner: Text,
    /// The name of its agent.
    pub agent: Text,
    /// The progress.
    pub progress: RunProgress,
    /// The key of the request that started it, if any.
    pub request: Option<RunRequest>,
    /// Its input as JSON, until it has ended: a run that had not started when its process died is started from it.
    pub input: Option<String>,
    /// The notes that were added since it began, in the order in which they were added; each is stored by itself, until the run ends.
    pub notes: Vec<RunNote>,
    /// The members of its request besides the input, as JSON: module, page, model and metadata.
    pub about: Option<String>,
    /// The number of times that another process resumed it, since it was last suspended.
    pub resumed: u32,
    /// The time it was created, in milliseconds since the Unix epoch.
    pub begun_ms: u64,
    /// The time it ended, in milliseconds since the Unix epoch.
    pub ended_ms: Option<u64>,
    /// The record of its end, as JSON.
    pub end: Option<String>,
    /// The record of its end, as JSON, if its log has it and the run itself not yet: whoever has read the log knows that it has ended. The store sets it where
    /// several nodes use it, in the runs that it [gets](super::RunStore::get) and [lists](super::RunStore::list), not in those that are claimed.
    pub logged_end: Option<String>,
    /// The token usage of all its requests, if known.
    pub usage: Option<UsageInfo>,
    /// The number of its last claim, or of the loss of its owner since; 0 if it never had an owner. The store sets it.
    pub epoch: u64,
    /// The node that owns it, if any. The store sets it.
    pub node: Option<NodeId>,
    /// The number of owners that died since it was last released.
    pub takeovers: u32,
    /// The time before which it is not claimed, in milliseconds since the Unix epoch by the store's clock.
    pub not_before_ms: Option<u64>,
    /// The version of its state: a node that does not know it cannot claim the run. Default: 0.
    pub version: u32,
}

impl StoredRun {
    /// Returns a run that waits for a slot.
    #[must_use]
    pub fn new(
        key: LogKey,
        conversation: impl Into<Text>,
        owner: impl Into<Text>,
        agent: impl Into<Text>,
        begun_ms: u64,
    ) -> Self {
        Self {
            key,
            conversation: conversation.into(),
            owner: owner.into(),
            agent: agent.into(),
            progress: RunProgress::Queued,
            request: None,
            input: None,
            notes: Vec::new(),
            about: None,
            resumed: 0,
            begun_ms,
            ended_ms: None,
            end: None,
            logged_end: None,
            usage: None,
            epoch: 0,
            node: None,
            takeovers: 0,
            not_before_ms: None,
            version: 0,
        }
    }

    setters! {
        StoredRun:
        request(some RunRequest),
        input(some into String),
        about(some into String),
        version(u32),
    }

    /// Returns the right of its owner to write it.
    #[must_use]
    pub fn writer(&self) -> RunWriter {
        RunWriter::new(self.key.clone(), self.epoch)
    }

    /// Returns the key of its conversation.
    #[must_use]
    pub fn conversation_key(&self) -> ConversationKey {
        ConversationKey::new(self.key.scope.clone(), self.conversation.clone())
    }
}

/// A run that has not ended, as another run of its conversation sees it.
///
/// # Examples
///
/// ```
/// use forgeline::store::{LogKey, RunPlace, RunProgress};
///
/// let run = RunPlace::new(LogKey::new("team-a", "run_1"), 1_000, RunProgress::Queued);
/// assert!(run.place() < RunPlace::new(LogKey::new("team-a", "run_2"), 1_000, RunProgress::Running).place());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunPlace {
    /// The key: its scope and id.
    pub key: LogKey,
    /// The time it was created, in milliseconds since the Unix epoch.
    pub begun_ms: u64,
    /// The progress.
    pub progress: RunProgress,
}

impl RunPlace {
    /// Returns a run with this key, time and progress.
    #[must_use]
    pub fn new(key: LogKey, begun_ms: u64, progress: RunProgress) -> Self {
        Self { key, begun_ms, progress }
    }

    /// Returns what others see of a run.
    pub(crate) fn of(run: &StoredRun) -> Self {
        Self::new(run.key.clone(), run.begun_ms, run.progress)
    }

    /// Returns its place among the runs of its conversation.
    #[must_use]
    pub fn place(&self) -> (u64, &LogKey) {
        (self.begun_ms, &self.key)
    }
}

/// A note on a run that has not ended, such as a message of the user that its journal does not contain yet.
///
/// # Examples
///
/// ```
/// use forgeline::store::{RunChange, RunNote, RunProgress};
///
/// let note = RunNote::new("cancelled", "true");
/// let change = RunChange::to(RunProgress::Running, 2_000).note(note.clone());
/// assert_eq!(change.added, [note]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunNote {
    /// The name, unique in its run.
    pub name: Text,
    /// The content, as JSON.
    pub data: String,
}

impl RunNote {
    /// Returns a note with this name and content.
    #[must_use]
    pub fn new(name: impl Into<Text>, data: impl Into<String>) -> Self {
        Self { name: name.into(), data: data.into() }
    }
}

/// The progress of a run.
///
/// # Examples
///
/// ```
/// use forgeline::store::RunProgress;
///
/// assert!(RunProgress::Interrupted.has_ended());
/// assert_eq!(RunProgress::Interrupted.as_str(), "interrupted");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunProgress {
    /// The run waits for a slot.
    Queued,
    /// The run is active.
    Running,
    /// The run waits for a person or the client.
    Waiting,
    /// The run completed.
    Completed,
    /// The run failed.
    Failed,
    /// The run was cancelled.
    Cancelled,
    /// The process of the run died, and the run could not be resumed.
    Interrupted,
}

impl RunProgress {
    /// All values, in order.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(super) const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Interrupted,
    ];

    /// Returns `true` if the run has ended.
    #[must_use]
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::Waiting)
    }

    /// Returns the name of the value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The idempotency key of a request: a second request with the same key is the same run.
///
/// # Examples
///
/// ```
/// use forgeline::store::RunRequest;
///
/// assert_ne!(RunRequest::new("k", 1), RunRequest::new("k", 2));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunRequest {
    /// The key, unique within the scope and the owner.
    pub key: Text,
    /// A digest of the rest of the request, stable across processes.
    pub digest: u64,
}

impl RunRequest {
    /// Returns a key with this digest.
    #[must_use]
    pub fn new(key: impl Into<Text>, digest: u64) -> Self {
        Self { key: key.into(), digest }
    }
}

/// A change of a run.
///
/// # Examples
///
/// ```
/// use forgeline::store::{RunChange, RunProgress};
///
/// let change = RunChange::to(RunProgress::Failed, 2_000).end("{}");
/// assert!(change.progress.has_ended());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[non_exhaustive]
pub struct RunChange {
    /// The new progress.
    pub progress: RunProgress,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// `true` if another process resumes the run.
    pub is_resumed: bool,
    /// `true` if its process suspends the run for another one: [`resumed`](StoredRun::resumed) restarts at 0.
    pub is_put_away: bool,
    /// The notes to add, each in place of an earlier one with its name. A run that ends loses its notes.
    pub added: Vec<RunNote>,
    /// The names of the notes to remove, before others are added.
    pub removed: Vec<Text>,
    /// The record of its end, as JSON.
    pub end: Option<String>,
    /// The token usage of all its requests, if known.
    pub usage: Option<UsageInfo>,
}

impl RunChange {
    /// Returns a change to this progress, at this time.
    #[must_use]
    pub fn to(progress: RunProgress, at_ms: u64) -> Self {
        let (added, removed) = (Vec::new(), Vec::new());
        let (is_resumed, is_put_away, end, usage) = (false, false, None, None);
        Self { progress, at_ms, is_resumed, is_put_away, added, removed, end, usage }
    }

    setters! {
        RunChange:
        /// Sets whether another process resumes the run.
        is_resumed(bool),
        /// Sets whether its process suspends the run for another one.
        is_put_away(bool),
        end(some into String),
    }

    /// Adds a note, in place of an earlier one with its name.
    #[must_use]
    pub fn note(mut self, note: RunNote) -> Self {
        self.added.push(note);
        self
    }

    /// Removes the note with this name, if there is one.
    #[must_use]
    pub fn without_note(mut self, name: impl Into<Text>) -> Self {
        self.removed.push(name.into());
        self
    }

    /// Sets the token usage of all its requests.
    #[must_use]
    pub fn usage(mut self, usage: Option<UsageInfo>) -> Self {
        self.usage = usage;
        self
    }
}

impl StoreError {
    /// Returns the error of a run that does not exist.
    pub(crate) fn no_run(key: &LogKey) -> Self {
        Self::NotFound { what: "run", name: key.name.clone() }
    }
}
