//! An index of documents by their words.

use std::{fmt, path::PathBuf, sync::Arc};

use super::{
    KnowledgeError, KnowledgeFuture, KnowledgeIndex, Owner, Passage,
    file::{self, blocking},
    lines, passages,
};
use crate::lexical::WordRanking;
use forgeline_types::Text;

/// Maximum bytes of the texts of an index.
const MAX_BYTES: usize = 32 << 20;

/// The kind of the file, in its header.
const KIND: &str = "knowledge";

/// An index of documents that needs no model: passages of at most 2 KiB are ranked by their words (BM25).
///
/// Words are runs of letters and digits of any script, in lower case; in scripts without spaces,
/// letters and pairs of letters. The same documents give the same order, regardless of the order in
/// which they were added. The texts are limited to 32 MiB. Every caller sees all documents: where
/// callers must not, give each agent its own index, or implement [`KnowledgeIndex`].
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{Agent, knowledge::{KnowledgeTools, LexicalIndex}},
///     llm::demo::DemoProvider,
/// };
///
/// let index = LexicalIndex::new([("pump.md", "Turn the pump off first.")])?;
/// let tools = KnowledgeTools::new(index);
/// let agent = Agent::builder(DemoProvider::new()).tools(tools.into_tools()).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct LexicalIndex {
    content: Arc<IndexContent>,
}

struct IndexContent {
    passages: Vec<Passage>,
    ranking: WordRanking,
}

impl LexicalIndex {
    /// Creates an index of documents, each a name and a text. Takes time in proportion to the texts.
    ///
    /// # Errors
    ///
    /// Returns an error when the texts exceed 32 MiB.
    pub fn new(
        documents: impl IntoIterator<Item = (impl Into<Text>, impl AsRef<str>)>,
    ) -> Result<Self, KnowledgeError> {
        let mut all = Vec::new();
        let mut bytes = 0;
        for (name, text) in documents {
            let (name, text) = (name.into(), text.as_ref());
            bytes = counted(bytes, text)?;
            all.extend(
                passages::split_passages(text)
                    .into_iter()
                    .map(|text| Passage::new(name.clone(), text)),
            );
        }
        Ok(Self::from_passages(all))
    }

    /// Returns the index of these passages.
    fn from_passages(mut passages: Vec<Passage>) -> Self {
        // The sort is stable: passages of one document keep their order.
        passages.sort_by(|one, other| one.document.cmp(&other.document));
        let ranking = WordRanking::new(passages.iter().map(|passage| passage.text.as_str()));
        Self { content: Arc::new(IndexContent { passages, ranking }) }
    }

    /// Reads an index written by [`write_to`](Self::write_to).
    ///
    /// # Errors
    ///
    /// Returns an error when the file does not exist, is damaged (with line and byte), or has another version.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn read_from(path: impl Into<PathBuf>) -> Result<Self, KnowledgeError> {
        let path = path.into();
        blocking(move || {
            let missing =
                || KnowledgeError::failed("the file does not exist; write the index first");
            let content = file::read_file(&path)?.ok_or_else(missing)?;
            let (mut passages, mut bytes) = (Vec::new(), 0);
            lines::read_lines(&content, KIND, |passage: Passage| {
                bytes = counted(bytes, &passage.text).map_err(|_| "the texts are too long")?;
                passages.push(passage);
                Ok(())
            })?;
            Ok(Self::from_passages(passages))
        })
        .await
    }

    /// Writes the texts to a file that only its owner can read, replacing an existing file
    /// atomically: either the old file is there or the new one, complete.
    ///
    /// # Errors
    ///
    /// Returns an error when the file cannot be written, or another process is writing it.
    ///
    /// # Cancel safety
    ///
    /// The file may still be written after the future is dropped.
    pub async fn write_to(&self, path: impl Into<PathBuf>) -> Result<(), KnowledgeError> {
        let (path, content) = (path.into(), Arc::clone(&self.content));
        blocking(move || {
            let _lock = file::lock(&path)?;
            file::replace(&path, &lines::write(KIND, content.passages.iter())?)
        })
        .await
    }
}

/// Adds the bytes of a text.
fn counted(bytes: usize, text: &str) -> Result<usize, KnowledgeError> {
    let bytes = bytes.saturating_add(text.len());
    if bytes > MAX_BYTES {
        return Err(KnowledgeError::TooLarge { what: "texts of an index", bytes, most: MAX_BYTES });
    }
    Ok(bytes)
}

/// Shows the number of passages, not their texts.
impl fmt::Debug for LexicalIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passages = self.content.passages.len();
        formatter.debug_struct("LexicalIndex").field("passages", &passages).finish_non_exhaustive()
    }
}

impl KnowledgeIndex for LexicalIndex {
    fn query(&self, _owner: Owner, query: String, most: usize) -> KnowledgeFuture<Vec<Passage>> {
        let content = &self.content;
        let found = content.ranking.find(&query, most);
        let passages = found.into_iter().filter_map(|(at, _)| content.passages.get(at).cloned());
        Box::pin(std::future::ready(Ok(passages.collect())))
    }
}
