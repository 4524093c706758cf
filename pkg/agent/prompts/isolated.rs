//! A part of the system prompt that a run can go without.

use std::time::Duration;

use futures_core::future::BoxFuture;
use tokio::time::timeout;

use super::{PromptContext, SystemPrompt};
use forgeline_types::{AgentError, ErrorCode, Text};

/// A part of the system prompt that a run can do without: if the part fails or takes too long, it
/// is left out, and a log message reports that.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use forgeline::{
///     agent::{Agent, prompts::{IsolatedPrompt, PromptContext}},
///     llm::demo::DemoProvider,
/// };
///
/// let weather = |_: PromptContext| async { Ok("It rains.".to_owned()) };
/// let weather = IsolatedPrompt::new(weather).within(Duration::from_secs(1));
/// let agent = Agent::builder(DemoProvider::new()).system(weather).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct IsolatedPrompt<P> {
    part: P,
    limit: Option<Duration>,
}

impl<P: SystemPrompt> IsolatedPrompt<P> {
    /// Returns a part that may be left out.
    #[must_use]
    pub fn new(part: P) -> Self {
        Self { part, limit: None }
    }

    /// Sets the time after which the part is left out. Default:
    /// [`prompt_timeout`](crate::config::AgentConfig::prompt_timeout), which is also the maximum.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }
}

impl<P: SystemPrompt> SystemPrompt for IsolatedPrompt<P> {
    fn on_found(&self, names: &[Text]) -> Option<BoxFuture<'static, Result<String, AgentError>>> {
        self.part.on_found(names)
    }

    fn build(&self, context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        let made = self.part.build(context);
        let Some(limit) = self.limit else { return made };
        Box::pin(async move {
            timeout(limit, made).await.unwrap_or_else(|_| {
                let message = format!("a part of the system prompt took longer than {limit:?}");
                Err(AgentError::new(ErrorCode::Timeout, message))
            })
        })
    }

    fn is_optional(&self) -> bool {
        true
    }
}
