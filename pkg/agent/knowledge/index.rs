//! An index of documents by their words.

use std::{fmt, path::PathBuf, sync::Arc};

use super::{
    KnowledgeError, KnowledgeFuture, KnowledgeIndex, Owner, Passage,
    file::{self, blocking},
    lines, passages,
};
use crate::{agent::lexical::Ranking, types::Text};

/// Most bytes of the texts of an index.
const MAX_BYTES: usize = 32 << 20;

/// The kind of the file.
const KIND: &str = "knowledge";

/// An index of documents that needs no model: passages of at most 2 KiB are ranked by their words (BM25).
///
/// Words are runs of letters and digits of any script, in lower case; where writing has no spaces, letters and
/// pairs of them. The same documents give the same order, whatever order they came in. The texts have at most
/// 32 MiB. Each caller sees all documents: give agents indexes of their own, or implement [`KnowledgeIndex`],
/// where callers may not.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{DefaultAgent, knowledge::{KnowledgeTools, LexicalIndex}},
///     llm::demo::DemoProvider,
/// };
///
/// let index = LexicalIndex::new([("pump.md", "Turn the pump off first.")])?;
/// let tools = KnowledgeTools::new(index);
/// let agent = DefaultAgent::builder(DemoProvider::new()).tools(tools.into_tools()).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct LexicalIndex {
    content: Arc<Content>,
}

struct Content {
    passages: Vec<Passage>,
    ranking: Ranking,
}

impl LexicalIndex {
    /// Returns the index of documents, each a name and a text. It takes time in proportion to the texts.
    ///
    /// # Errors
    ///
    /// When the texts have more than 32 MiB.
    pub fn new(
        documents: impl IntoIterator<Item = (impl Into<Text>, impl AsRef<str>)>,
    ) -> Result<Self, KnowledgeError> {
        let mut all = Vec::new();
        let mut bytes = 0;
        for (name, text) in documents {
            let (name, text) = (name.into(), text.as_ref());
            bytes = counted(bytes, text)?;
            all.extend(passages::of(text).into_iter().map(|text| Passage::new(name.clone(), text)));
        }
        Ok(Self::of(all))
    }

    /// Returns the index of these passages.
    fn of(mut passages: Vec<Passage>) -> Self {
        // The sort is stable: passages of one document keep their order.
        passages.sort_by(|one, other| one.document.cmp(&other.document));
        let ranking = Ranking::new(passages.iter().map(|passage| passage.text.as_str()));
        Self { content: Arc::new(Content { passages, ranking }) }
    }

    /// Reads the index that [`write_to`](Self::write_to) wrote.
    ///
    /// # Errors
    ///
    /// When the file is not there, is damaged, with line and byte, or is of another version.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has no effect.
    pub async fn read_from(path: impl Into<PathBuf>) -> Result<Self, KnowledgeError> {
        let path = path.into();
        blocking(move || {
            let missing = || KnowledgeError::failed("the file is not there; write the index first");
            let content = file::read(&path)?.ok_or_else(missing)?;
            let (mut passages, mut bytes) = (Vec::new(), 0);
            lines::read(&content, KIND, |passage: Passage| {
                bytes = counted(bytes, &passage.text).map_err(|_| "the texts are too long")?;
                passages.push(passage);
                Ok(())
            })?;
            Ok(Self::of(passages))
        })
        .await
    }

    /// Writes the texts to a file that only its owner can read, in place of what is there: the old file is
    /// there or the new one, whole.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or another process writes it.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait may write the file.
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

/// Texts are counted, not shown.
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
