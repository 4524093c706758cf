//! The tools for memories.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    KnowledgeError, MemoryStore, Note, Owner,
    query_arguments::{MAX_WAIT, few, owner_of, query_of, within_result},
};
use crate::tools::{Tool, ToolContext, ToolEffects, ToolError, ToolOutput, tool_fn};
use forgeline_types::{Preview, TextOrigin};

/// Maximum number of keys in one list.
const MAX_KEYS: usize = 100;

/// The tools `memory.save`, `memory.load` and `memory.delete` over a store.
///
/// A run works only with the memories of its [`Caller`](crate::Caller). `memory.save` stores a text
/// under a key and never replaces one; `memory.load` returns a memory by its key, several by their words, or
/// the list of keys; `memory.delete` cannot be undone, so a person is asked and sees the text.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Caller, Agent, RunInput, knowledge::{LocalMemoryStore, MemoryTools}},
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
/// use serde_json::json;
///
/// let note = json!({ "key": "diet", "text": "Eats no nuts." });
/// let turns = [
///     ScriptedTurn::new().call("memory.save", note),
///     ScriptedTurn::new().call("memory.load", json!({ "query": "nuts" })),
///     ScriptedTurn::new().text("Noted."),
/// ];
/// let provider = ScriptedProvider::new(turns);
/// let agent = Agent::builder(provider.clone())
///     .tools(MemoryTools::new(LocalMemoryStore::default()).into_tools())
///     .build()?;
/// agent.run(RunInput::from("I eat no nuts.").caller(Caller::new("ann"))).await?;
/// let request = &provider.requests()[2];
/// let result = request.messages.iter().flat_map(|message| message.tool_results()).last();
/// assert!(result.is_some_and(|result| result.content.contains("Eats no nuts.")));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryTools {
    store: Arc<dyn MemoryStore>,
    origin: TextOrigin,
}

#[derive(Deserialize, JsonSchema)]
struct SaveArguments {
    /// A short name, such as `diet`, that no other memory has.
    key: String,
    /// The text to remember, at most 16 KiB.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct LoadArguments {
    /// The key of one memory.
    #[serde(default)]
    key: Option<String>,
    /// Words to search for, instead of a key.
    #[serde(default)]
    query: Option<String>,
    /// Maximum number of memories, 1 to 20. Default: 5.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct DeleteArguments {
    /// The key of the memory.
    key: String,
}

impl MemoryTools {
    /// Returns the tools of a store.
    #[must_use]
    pub fn new(store: impl MemoryStore + 'static) -> Self {
        Self { store: Arc::new(store), origin: TextOrigin::Outside }
    }

    /// Sets the origin of loaded text: [`TextOrigin::Own`] where no text from outside reaches the model that
    /// saves. Default: [`TextOrigin::Outside`], because a page may have asked the model to save it.
    #[must_use]
    pub fn origin(mut self, origin: TextOrigin) -> Self {
        self.origin = origin;
        self
    }

    /// Returns the tools, for [`AgentBuilder::tools`](crate::AgentBuilder::tools).
    #[must_use]
    pub fn into_tools(self) -> Vec<Arc<dyn Tool>> {
        let Self { store, origin } = self;
        let about_save = "Saves a text under a key for later conversations.";
        let about_load = "Returns memories: the one with this `key`, or those that match `query`. \
                          Without arguments, lists the keys.";
        let about_delete = "Deletes the memory with this key. This cannot be undone.";
        let saving = Arc::clone(&store);
        let save =
            tool_fn("memory.save", about_save, move |context: ToolContext, it: SaveArguments| {
                let (store, owner) = (Arc::clone(&saving), owner_of(&context));
                async move {
                    let said = format!("remembered under `{}`", it.key);
                    store.save(owner, Note::new(it.key, it.text)).await?;
                    Ok::<_, ToolError>(said)
                }
            });
        let loading = Arc::clone(&store);
        let load =
            tool_fn("memory.load", about_load, move |context: ToolContext, it: LoadArguments| {
                load(Arc::clone(&loading), owner_of(&context), it)
            });
        let showing = Arc::clone(&store);
        let delete = tool_fn(
            "memory.delete",
            about_delete,
            move |context: ToolContext, it: DeleteArguments| {
                let (store, owner) = (Arc::clone(&store), owner_of(&context));
                async move {
                    if store.delete(owner, it.key.as_str().into()).await? {
                        return Ok(format!("forgot `{}`", it.key));
                    }
                    Err(unknown(&it.key))
                }
            },
        );
        let delete = delete.previewed_by(move |context, it: DeleteArguments| {
            let (store, owner) = (Arc::clone(&showing), owner_of(&context));
            async move {
                let note = store.load(owner, it.key.as_str().into()).await?;
                let note = note.ok_or_else(|| unknown(&it.key))?;
                Ok(Preview::text(format!("forgets `{}`:\n{}", note.key, note.text)))
            }
        });
        vec![
            // Saving the same text under the same key changes nothing.
            Arc::new(save.idempotent().timeout(MAX_WAIT)),
            Arc::new(
                load.idempotent().effects(ToolEffects::Reads).origin(origin).timeout(MAX_WAIT),
            ),
            Arc::new(delete.effects(ToolEffects::Irreversible).timeout(MAX_WAIT)),
        ]
    }
}

/// Returns the requested memories.
async fn load(
    store: Arc<dyn MemoryStore>,
    owner: Owner,
    it: LoadArguments,
) -> Result<ToolOutput, ToolError> {
    let most = few(it.limit)?;
    match (it.key, it.query) {
        (Some(_), Some(_)) => {
            Err(ToolError::invalid("key", "and `query` are both given; omit one"))
        }
        (Some(key), None) => {
            let note = store.load(owner, key.as_str().into()).await?;
            let note = note.ok_or_else(|| unknown(&key))?;
            Ok(json!({ "key": note.key, "text": note.text }).into())
        }
        (None, Some(query)) => {
            let mut notes = store.find(owner, query_of(query)?, most).await?;
            if notes.is_empty() {
                let none = "no memory contains these words; without arguments, memory.load lists \
                            the keys";
                return Ok(none.into());
            }
            let left_out = within_result(&mut notes, most, |note| note.text.len());
            Ok(json!({ "memories": notes, "left_out": left_out }).into())
        }
        (None, None) => {
            let mut keys = store.keys(owner, MAX_KEYS + 1).await?;
            let has_more = keys.len() > MAX_KEYS;
            keys.truncate(MAX_KEYS);
            Ok(json!({ "keys": keys, "has_more": has_more }).into())
        }
    }
}

/// Returns the error for a key that the owner does not have.
fn unknown(key: &str) -> ToolError {
    ToolError::failed(format!(
        "there is no memory with the key `{key}`; without arguments, memory.load lists the keys"
    ))
}

impl From<KnowledgeError> for ToolError {
    fn from(error: KnowledgeError) -> Self {
        if error == KnowledgeError::Busy {
            return Self::transient(error.to_string());
        }
        Self::failed(error.to_string())
    }
}

impl fmt::Debug for MemoryTools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryTools").field("origin", &self.origin).finish_non_exhaustive()
    }
}
