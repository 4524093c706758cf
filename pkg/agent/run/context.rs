//! The context of a run, for its tools and prompt parts.

use std::{
    any::Any,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Caller, SharedState, Surface};
use forgeline_types::Text;

/// The context of a run, as its [`RunInput`](super::RunInput) described it. Clones are handles to
/// the same context.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Caller, Agent, RunInput, prompts::PromptContext},
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
///
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hello, Ann.")]);
/// let agent = Agent::builder(provider.clone())
///     .system(|context: PromptContext| async move {
///         let name = context.run.caller().map(|caller| caller.id.to_string()).unwrap_or_default();
///         Ok(format!("You talk to {name}."))
///     })
///     .build()?;
/// agent.run(RunInput::from("Hi").caller(Caller::new("Ann"))).await?;
/// assert_eq!(provider.requests()[0].system.as_deref(), Some("You talk to Ann."));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunContext(Option<Arc<ContextData>>);

/// The data of a context that is not empty.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ContextData {
    pub(super) caller: Option<Caller>,
    pub(super) module: Option<Text>,
    pub(super) page: Option<Text>,
    pub(super) surface: Option<Surface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<Text>,
    pub(super) conversation: Option<Text>,
    pub(super) metadata: serde_json::Map<String, Value>,
    /// The deadline, in milliseconds since the Unix epoch.
    pub(super) deadline: Option<u64>,
    /// `true` when the message contains text from outside.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_outside: bool,
    /// The values shared within this process; not written to a journal.
    #[serde(skip)]
    pub(super) state: SharedState,
}

impl RunContext {
    /// Changes the context of a run that has not started.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut ContextData)) {
        change(Arc::make_mut(self.0.get_or_insert_default()));
    }

    /// Shares a value with a run that is resumed in another process; see [`RunInput::state`](super::RunInput::state).
    #[doc(hidden)]
    pub fn share<T: Any + Send + Sync>(&mut self, value: Arc<T>) {
        self.change(|data| data.state.insert(value));
    }

    fn get<T>(&self, part: impl FnOnce(&ContextData) -> Option<T>) -> Option<T> {
        self.0.as_deref().and_then(part)
    }

    /// Returns the caller on whose behalf the run works.
    #[must_use]
    pub fn caller(&self) -> Option<&Caller> {
        self.0.as_deref()?.caller.as_ref()
    }

    /// Returns the module of the application from which the input came.
    #[must_use]
    pub fn module(&self) -> Option<&str> {
        self.0.as_deref()?.module.as_deref()
    }

    /// Returns the page of the application from which the input came.
    #[must_use]
    pub fn page(&self) -> Option<&str> {
        self.0.as_deref()?.page.as_deref()
    }

    /// Returns the surface on which the run is shown.
    #[must_use]
    pub fn surface(&self) -> Option<Surface> {
        self.0.as_deref()?.surface
    }

    /// Returns the model that the input chose.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.0.as_deref()?.model.as_deref()
    }

    /// Returns the id of the conversation.
    #[must_use]
    pub fn conversation(&self) -> Option<&str> {
        self.0.as_deref()?.conversation.as_deref()
    }

    /// Returns all metadata of the input.
    pub(super) fn all_metadata(&self) -> Option<&serde_json::Map<String, Value>> {
        Some(&self.0.as_deref()?.metadata)
    }

    /// Returns the value of one metadata key of the input.
    #[must_use]
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.0.as_deref()?.metadata.get(key)
    }

    /// Returns the time at which the run is stopped.
    #[must_use]
    pub fn deadline(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_millis(self.get(|data| data.deadline)?))
    }

    /// Returns `true` when the input was marked as containing text from outside.
    #[must_use]
    pub fn has_outside_text(&self) -> bool {
        self.0.as_deref().is_some_and(|data| data.is_outside)
    }

    /// Returns the value of type `T` that the input shared. A run that was resumed in another
    /// process has none.
    #[must_use]
    pub fn state<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.get(|data| data.state.get())
    }
}

/// Shows the number of metadata entries and of shared values, not the values themselves.
impl fmt::Debug for RunContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("RunContext");
        if let Some(data) = &self.0 {
            shown
                .field("caller", &data.caller)
                .field("module", &data.module)
                .field("page", &data.page)
                .field("surface", &data.surface)
                .field("model", &data.model)
                .field("conversation", &data.conversation)
                .field("metadata", &data.metadata.len())
                .field("deadline", &data.deadline)
                .field("state", &data.state);
        }
        shown.finish()
    }
}
