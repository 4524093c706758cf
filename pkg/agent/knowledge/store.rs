//! The traits for memory stores and knowledge indexes.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{KnowledgeError, Owner};
use forgeline_types::Text;

/// The future of an operation on a store or an index.
pub type KnowledgeFuture<T> = BoxFuture<'static, Result<T, KnowledgeError>>;

/// A memory: a text stored under a key.
///
/// # Examples
///
/// ```
/// use forgeline::agent::knowledge::Note;
///
/// assert_eq!(Note::new("diet", "Ann eats no nuts.").key, "diet");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Note {
    /// The key, unique per owner.
    pub key: Text,
    /// The text.
    pub text: String,
}

impl Note {
    /// Returns a memory with this key and text.
    #[must_use]
    pub fn new(key: impl Into<Text>, text: impl Into<String>) -> Self {
        Self { key: key.into(), text: text.into() }
    }
}

/// A passage of a document.
///
/// # Examples
///
/// ```
/// use forgeline::agent::knowledge::Passage;
///
/// assert_eq!(Passage::new("guide.md", "Turn it off first.").document, "guide.md");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Passage {
    /// The name of the document.
    pub document: Text,
    /// The text.
    pub text: String,
}

impl Passage {
    /// Returns a passage of the document with this name.
    #[must_use]
    pub fn new(document: impl Into<Text>, text: impl Into<String>) -> Self {
        Self { document: document.into(), text: text.into() }
    }
}

/// A store of memories that outlive a conversation; [`MemoryTools`](super::MemoryTools) make it available to a model.
///
/// The memories of one [`Owner`] are neither returned to another nor changed by one. Futures own
/// what they need, behind `Arc`s; the tools wait for at most ten seconds.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::agent::knowledge::{LocalMemoryStore, MemoryStore as _, Note, Owner};
///
/// let store = LocalMemoryStore::default();
/// store.save(Owner::default(), Note::new("diet", "Ann eats no nuts.")).await?;
/// let found = store.find(Owner::default(), "nuts".to_owned(), 5).await?;
/// assert_eq!(found[0].key, "diet");
/// # Ok(())
/// # }
/// ```
pub trait MemoryStore: Send + Sync {
    /// Stores a memory. Saving the same text under the same key changes nothing; another text is
    /// refused and never replaces the first.
    ///
    /// # Errors
    ///
    /// Returns an error when a part is empty or too large, the key is taken, a limit is reached, or the store fails.
    fn save(&self, owner: Owner, note: Note) -> KnowledgeFuture<()>;

    /// Returns the memory under a key.
    ///
    /// # Errors
    ///
    /// Returns an error when the store fails.
    fn load(&self, owner: Owner, key: Text) -> KnowledgeFuture<Option<Note>>;

    /// Returns at most `most` memories that match a query, the best first.
    ///
    /// # Errors
    ///
    /// Returns an error when the store fails.
    fn find(&self, owner: Owner, query: String, most: usize) -> KnowledgeFuture<Vec<Note>>;

    /// Returns at most `most` keys of the owner, in order.
    ///
    /// # Errors
    ///
    /// Returns an error when the store fails.
    fn keys(&self, owner: Owner, most: usize) -> KnowledgeFuture<Vec<Text>>;

    /// Removes the memory under a key. Returns `false` when the owner does not have the key.
    ///
    /// # Errors
    ///
    /// Returns an error when the store fails.
    fn delete(&self, owner: Owner, key: Text) -> KnowledgeFuture<bool>;
}

impl<T: MemoryStore + ?Sized> MemoryStore for Arc<T> {
    fn save(&self, owner: Owner, note: Note) -> KnowledgeFuture<()> {
        (**self).save(owner, note)
    }

    fn load(&self, owner: Owner, key: Text) -> KnowledgeFuture<Option<Note>> {
        (**self).load(owner, key)
    }

    fn find(&self, owner: Owner, query: String, most: usize) -> KnowledgeFuture<Vec<Note>> {
        (**self).find(owner, query, most)
    }

    fn keys(&self, owner: Owner, most: usize) -> KnowledgeFuture<Vec<Text>> {
        (**self).keys(owner, most)
    }

    fn delete(&self, owner: Owner, key: Text) -> KnowledgeFuture<bool> {
        (**self).delete(owner, key)
    }
}

/// An index of documents; [`KnowledgeTools`](super::KnowledgeTools) make it available to a model.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::agent::knowledge::{KnowledgeIndex as _, LexicalIndex, Owner};
///
/// let index = LexicalIndex::new([("pump.md", "Turn the pump off first.")])?;
/// let found = index.query(Owner::default(), "pump".to_owned(), 5).await?;
/// assert_eq!(found[0].document, "pump.md");
/// # Ok(())
/// # }
/// ```
pub trait KnowledgeIndex: Send + Sync {
    /// Returns at most `most` passages that match a query and that the owner may see, the best first.
    ///
    /// # Errors
    ///
    /// Returns an error when the index fails.
    fn query(&self, owner: Owner, query: String, most: usize) -> KnowledgeFuture<Vec<Passage>>;
}
