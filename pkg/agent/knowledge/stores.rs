//! Memory stores that keep memories in the process or in a file.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    KnowledgeError, KnowledgeFuture, MemoryStore, Note, Owner,
    file::{self, blocking},
    notes::OwnedNotes,
};
use forgeline_types::Text;

/// A memory store in this process, shared by its clones. Its content is lost when the process ends.
///
/// An owner can have at most 1,000 memories of 16 KiB each, and 1 MiB in total.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{Agent, knowledge::{LocalMemoryStore, MemoryTools}},
///     llm::demo::DemoProvider,
/// };
///
/// let tools = MemoryTools::new(LocalMemoryStore::default());
/// let agent = Agent::builder(DemoProvider::new()).tools(tools.into_tools()).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct LocalMemoryStore {
    notes: Arc<Mutex<OwnedNotes>>,
}

impl LocalMemoryStore {
    fn lock(&self) -> MutexGuard<'_, OwnedNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows the type only, without the memories.
impl fmt::Debug for LocalMemoryStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LocalMemoryStore").finish_non_exhaustive()
    }
}

/// Returns a future that is ready.
fn ready<T: Send + 'static>(done: Result<T, KnowledgeError>) -> KnowledgeFuture<T> {
    Box::pin(std::future::ready(done))
}

impl MemoryStore for LocalMemoryStore {
    fn save(&self, owner: Owner, note: Note) -> KnowledgeFuture<()> {
        ready(self.lock().save(&owner, note).map(|_| ()))
    }

    fn load(&self, owner: Owner, key: Text) -> KnowledgeFuture<Option<Note>> {
        ready(Ok(self.lock().load(&owner, &key)))
    }

    fn find(&self, owner: Owner, query: String, most: usize) -> KnowledgeFuture<Vec<Note>> {
        ready(Ok(self.lock().find(&owner, &query, most)))
    }

    fn keys(&self, owner: Owner, most: usize) -> KnowledgeFuture<Vec<Text>> {
        ready(Ok(self.lock().keys(&owner, most)))
    }

    fn delete(&self, owner: Owner, key: Text) -> KnowledgeFuture<bool> {
        ready(Ok(self.lock().delete(&owner, &key)))
    }
}

/// A memory store in a file that only its owner can read: JSON lines with a version.
///
/// The file is created with the first memory. Each change writes a new file beside the old one and renames it, so the
/// file is always complete. Processes that share the file lock another one beside it with the suffix `.lock`; a process
/// that arrives while another is changing the file fails with [`KnowledgeError::Busy`]. A damaged file is an error with
/// line and byte, and is not overwritten. The limits are those of [`LocalMemoryStore`].
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, knowledge::{FileMemoryStore, MemoryTools}},
///     llm::demo::DemoProvider,
/// };
///
/// let tools = MemoryTools::new(FileMemoryStore::new("memories.jsonl"));
/// let agent = Agent::builder(DemoProvider::new()).tools(tools.into_tools()).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FileMemoryStore {
    path: Arc<Path>,
    /// The lock held while the file is changed, even if the future is dropped.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl FileMemoryStore {
    /// Returns the store in the file at `path`, which need not exist. Nothing is read or written yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into(), turn: Arc::default() }
    }

    /// Reads from the memories.
    fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&OwnedNotes) -> T + Send + 'static,
    ) -> KnowledgeFuture<T> {
        let path = Arc::clone(&self.path);
        Box::pin(blocking(move || Ok(read(&notes(&path)?))))
    }

    /// Changes the memories; `change` returns `true` when there is something to write.
    fn changing(
        &self,
        change: impl FnOnce(&mut OwnedNotes) -> Result<bool, KnowledgeError> + Send + 'static,
    ) -> KnowledgeFuture<bool> {
        let (path, turn) = (Arc::clone(&self.path), Arc::clone(&self.turn));
        Box::pin(async move {
            let turn = turn.lock_owned().await;
            blocking(move || {
                let _turn = turn;
                let _lock = file::lock(&path)?;
                let mut notes = notes(&path)?;
                let is_changed = change(&mut notes)?;
                if is_changed {
                    file::replace(&path, &notes.to_file()?)?;
                }
                Ok(is_changed)
            })
            .await
        })
    }
}

fn notes(path: &Path) -> Result<OwnedNotes, KnowledgeError> {
    file::read_file(path)?
        .map_or_else(|| Ok(OwnedNotes::default()), |bytes| OwnedNotes::from_file(&bytes))
}

impl MemoryStore for FileMemoryStore {
    fn save(&self, owner: Owner, note: Note) -> KnowledgeFuture<()> {
        let saving = self.changing(move |notes| notes.save(&owner, note));
        Box::pin(async move { saving.await.map(|_| ()) })
    }

    fn load(&self, owner: Owner, key: Text) -> KnowledgeFuture<Option<Note>> {
        self.reading(move |notes| notes.load(&owner, &key))
    }

    fn find(&self, owner: Owner, query: String, most: usize) -> KnowledgeFuture<Vec<Note>> {
        self.reading(move |notes| notes.find(&owner, &query, most))
    }

    fn keys(&self, owner: Owner, most: usize) -> KnowledgeFuture<Vec<Text>> {
        self.reading(move |notes| notes.keys(&owner, most))
    }

    fn delete(&self, owner: Owner, key: Text) -> KnowledgeFuture<bool> {
        self.changing(move |notes| Ok(notes.delete(&owner, &key)))
    }
}
