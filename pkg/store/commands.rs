//! The commands of runs.

use super::{LogKey, RunWriter, StoreError, StoreFuture};
use forgeline_types::Text;

/// Maximum size of a command's key, kind and body together, in bytes.
pub const MAX_COMMAND_BYTES: usize = 16 << 20;

/// Maximum number of unanswered commands of a run.
pub const MAX_UNANSWERED: usize = 1_000;

/// Commands to runs, such as a message of the user, an answer to a request, or a cancellation. Any node stores a command; the node that owns the run reads
/// it and answers it. A run that has no owner keeps its commands for the next one.
///
/// The commands of a run have numbers that grow in the order in which they were stored. They are deleted when the run ends.
///
/// Every operation except [`wait`](Self::wait) and [`wait_for_answer`](Self::wait_for_answer) completes within 10 s, if necessary with
/// [`StoreError::Slow`].
///
/// # Cancel safety
///
/// If a future is dropped, its changes are made either completely or not at all. A wait that is dropped loses nothing.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{
///     CommandSent, CommandStore, InMemoryStore, LogKey, NodeId, RunCommand, RunStore, RunWriter, StoredRun,
/// };
///
/// let (store, node, key) = (InMemoryStore::new(), NodeId::random(), LogKey::new("team-a", "run_1"));
/// RunStore::begin(&store, StoredRun::new(key.clone(), "c1", "ann", "main", 1_000), Some(&node)).await?;
/// let CommandSent::New(number) = store.send(&key, RunCommand::new("cancel", "cancel", "{}")).await? else {
///     panic!("the key is new");
/// };
/// let open = store.unanswered(&key, 0, 10).await?;
/// assert_eq!(open[0].command.kind, "cancel");
/// store.answer(&RunWriter::new(key.clone(), 1), number, "{}".to_owned()).await?;
/// assert_eq!(store.wait_for_answer(&key, number).await?, "{}");
/// # Ok(())
/// # }
/// ```
pub trait CommandStore: Send + Sync + 'static {
    /// Stores a command, unless the run has one with its key.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`] if there is no such run, [`StoreError::Ended`] if it has ended, or [`StoreError::Full`] if the command has more than
    /// [`MAX_COMMAND_BYTES`] or the run has [`MAX_UNANSWERED`] unanswered ones.
    fn send<'a>(&'a self, run: &'a LogKey, command: RunCommand) -> StoreFuture<'a, CommandSent>;

    /// Returns at most `most` commands of a run that have no answer, from number `from` on, in the order of their numbers; none for a run that has ended.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`] if there is no such run.
    fn unanswered<'a>(
        &'a self,
        run: &'a LogKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredCommand>>;

    /// Answers a command with JSON; the same answer again changes nothing.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`] if there is no such run or command, [`StoreError::Fenced`] if the writer no longer owns the run,
    /// [`StoreError::Ended`] if the run has ended, or [`StoreError::Exists`] if the command has another answer.
    fn answer<'a>(
        &'a self,
        writer: &'a RunWriter,
        number: u64,
        answer: String,
    ) -> StoreFuture<'a, ()>;

    /// Waits until the run has an unanswered command with the number `from` or a later one.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`] if there is no such run, or [`StoreError::Ended`] once it has ended.
    fn wait<'a>(&'a self, run: &'a LogKey, from: u64) -> StoreFuture<'a, ()>;

    /// Waits until a command has an answer, and returns it.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`] if there is no such run or command, or [`StoreError::Ended`] once the run has ended.
    fn wait_for_answer<'a>(&'a self, run: &'a LogKey, number: u64) -> StoreFuture<'a, String>;
}

/// A command to a run.
///
/// # Examples
///
/// ```
/// use forgeline::store::RunCommand;
///
/// let command = RunCommand::new("answer q1", "answer", r#"{"decided":"grant"}"#);
/// assert_eq!(command.key, "answer q1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunCommand {
    /// The key, unique in its run: a command that is sent again is stored once.
    pub key: Text,
    /// The kind, such as `cancel`.
    pub kind: Text,
    /// The content, as JSON.
    pub body: String,
}

impl RunCommand {
    /// Returns a command.
    #[must_use]
    pub fn new(key: impl Into<Text>, kind: impl Into<Text>, body: impl Into<String>) -> Self {
        Self { key: key.into(), kind: kind.into(), body: body.into() }
    }

    /// Returns the size of the command, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.key.len() + self.kind.len() + self.body.len()
    }

    /// Checks the size of the command.
    pub(crate) fn check_size(&self) -> Result<(), StoreError> {
        let bytes = self.bytes();
        if bytes <= MAX_COMMAND_BYTES {
            return Ok(());
        }
        let reason = format!(
            "a command has {bytes} bytes, more than {MAX_COMMAND_BYTES}; send a shorter one"
        );
        Err(StoreError::Full { reason })
    }
}

/// A stored command.
///
/// # Examples
///
/// ```
/// use forgeline::store::{RunCommand, StoredCommand};
///
/// let stored = StoredCommand::new(7, RunCommand::new("cancel", "cancel", "{}"));
/// assert_eq!((stored.number, stored.answer), (7, None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredCommand {
    /// The number.
    pub number: u64,
    /// The command.
    pub command: RunCommand,
    /// The answer as JSON, once the owner of the run has given it.
    pub answer: Option<String>,
}

impl StoredCommand {
    /// Returns a command without an answer.
    #[must_use]
    pub fn new(number: u64, command: RunCommand) -> Self {
        Self { number, command, answer: None }
    }
}

/// The outcome of sending a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandSent {
    /// The command was stored with this number.
    New(u64),
    /// The run has this command with the same key, which may have another content.
    Same(Box<StoredCommand>),
}

impl StoreError {
    /// Returns the error of a run that has ended.
    pub(crate) fn run_ended(key: &LogKey) -> Self {
        Self::Ended { what: "run", name: key.name.clone() }
    }

    /// Returns the error of a command that does not exist.
    pub(crate) fn no_command(number: u64) -> Self {
        Self::not_found("command", number.to_string())
    }

    /// Returns the error of a command that has another answer.
    pub(crate) fn answered(number: u64) -> Self {
        Self::exists("the answer to command", number.to_string())
    }

    /// Returns the error of a run with too many unanswered commands.
    pub(crate) fn too_many_commands(key: &LogKey) -> Self {
        let run = &key.name;
        let reason = format!(
            "run `{run}` has {MAX_UNANSWERED} unanswered commands; send this one once they are answered"
        );
        Self::Full { reason }
    }
}
