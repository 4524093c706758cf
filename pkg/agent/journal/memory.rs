//! A journal in memory.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Journal, JournalEntry, JournalFuture, JournalLine};

/// A journal in memory, whose lines are shared by its clones. Its text is a snapshot that can be stored and read again.
///
/// # Examples
///
/// A run that is suspended in the middle of an answer and finished by another agent:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, journal::MemoryJournal},
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
///
/// let journal = MemoryJournal::default();
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Once").hang()]);
/// let agent = Agent::builder(provider).build()?.conversation().with_journal(journal.clone());
/// let mut stream = agent.run_stream("Tell me a story.");
/// for _ in 0..4 {
///     stream.next().await;
/// }
/// drop(stream);
/// let snapshot = journal.to_string();
///
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Once upon a time.")]);
/// let journal = MemoryJournal::from(snapshot.as_str());
/// let agent = Agent::builder(provider).build()?;
/// let outcome = agent.conversation().with_journal(journal).resume().await?.ok_or("no run was open")?;
/// assert_eq!(outcome.text, "Once upon a time.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    lines: Arc<Mutex<Vec<String>>>,
}

impl MemoryJournal {
    /// Returns the lines so far, for storage elsewhere.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the lines, each with a line end, as in the file of a [`FileJournal`](super::FileJournal).
/// The text is a snapshot of the conversation and its open run; read it with `From`.
impl fmt::Display for MemoryJournal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock().iter().try_for_each(|line| {
            formatter.write_str(line)?;
            formatter.write_str("\n")
        })
    }
}

/// Reads the text of a journal. Nothing is checked before
/// [`resume`](crate::Conversation::resume), which rejects, with an error that says so, text
/// that was edited or truncated, or written by another version or another agent.
impl From<&str> for MemoryJournal {
    fn from(text: &str) -> Self {
        Self::from(text.lines().map(str::to_owned).collect::<Vec<_>>())
    }
}

impl From<Vec<String>> for MemoryJournal {
    fn from(lines: Vec<String>) -> Self {
        Self { lines: Arc::new(Mutex::new(lines)) }
    }
}

impl Journal for MemoryJournal {
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
        self.lock().push(entry.to_string());
        Box::pin(std::future::ready(Ok(())))
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        let lines = self.lines().into_iter().map(JournalLine::new).collect();
        Box::pin(std::future::ready(Ok(lines)))
    }
}
