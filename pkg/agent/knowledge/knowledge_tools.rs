//! The tool for searching documents.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    KnowledgeIndex,
    query_arguments::{MAX_WAIT, few, owner_of, query_of, within_result},
};
use crate::tools::{Tool, ToolContext, ToolEffects, ToolError, ToolOutput, tool_fn};
use forgeline_types::TextOrigin;

/// The tool `knowledge.query` over an index.
///
/// # Examples
///
/// ```
/// use forgeline::agent::knowledge::{KnowledgeTools, LexicalIndex};
///
/// let index = LexicalIndex::new([("pump.md", "Turn the pump off first.")])?;
/// let tools = KnowledgeTools::new(index).into_tools();
/// assert_eq!(tools[0].name(), "knowledge.query");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct KnowledgeTools {
    index: Arc<dyn KnowledgeIndex>,
    origin: TextOrigin,
}

#[derive(Deserialize, JsonSchema)]
struct KnowledgeQuery {
    /// Words to search for.
    query: String,
    /// Maximum number of passages, 1 to 20. Default: 5.
    #[serde(default)]
    limit: Option<usize>,
}

impl KnowledgeTools {
    /// Returns the tools of an index.
    #[must_use]
    pub fn new(index: impl KnowledgeIndex + 'static) -> Self {
        Self { index: Arc::new(index), origin: TextOrigin::Project }
    }

    /// Sets the origin of the documents: [`TextOrigin::Outside`] where others write them. Default:
    /// [`TextOrigin::Project`].
    #[must_use]
    pub fn origin(mut self, origin: TextOrigin) -> Self {
        self.origin = origin;
        self
    }

    /// Returns the tools, for [`AgentBuilder::tools`](crate::AgentBuilder::tools).
    #[must_use]
    pub fn into_tools(self) -> Vec<Arc<dyn Tool>> {
        let Self { index, origin } = self;
        let about = "Searches the documents, and returns the passages that match.";
        let query =
            tool_fn("knowledge.query", about, move |context: ToolContext, it: KnowledgeQuery| {
                let (index, owner) = (Arc::clone(&index), owner_of(&context));
                async move {
                    let most = few(it.limit)?;
                    let mut passages = index.query(owner, query_of(it.query)?, most).await?;
                    if passages.is_empty() {
                        let none = "no passage contains any of these words; try other words";
                        return Ok(ToolOutput::from(none));
                    }
                    let left_out = within_result(&mut passages, most, |passage| passage.text.len());
                    Ok::<_, ToolError>(json!({ "passages": passages, "left_out": left_out }).into())
                }
            });
        let query = query.idempotent().effects(ToolEffects::Reads);
        vec![Arc::new(query.origin(origin).timeout(MAX_WAIT))]
    }
}

impl fmt::Debug for KnowledgeTools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KnowledgeTools")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
