//! A part of the system prompt that is cached for a time.

use std::{sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use tokio::{sync::Mutex, time::Instant};

use super::{PromptContext, SystemPrompt};
use crate::run::OutsideSources;
use forgeline_types::{AgentError, Text};

/// A part of the system prompt that is built once and cached for a time, for all runs of the agent.
///
/// Use it for content that all runs share, such as a web page: a text about one caller would be shown to the
/// next. Runs that start while the part is being built wait for it. A failure is not cached.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use forgeline::{
///     agent::{DefaultAgent, prompts::{CachedPrompt, PromptContext}},
///     llm::demo::DemoProvider,
/// };
///
/// let menu = |_: PromptContext| async { Ok("Today there is soup.".to_owned()) };
/// let menu = CachedPrompt::new(menu, Duration::from_secs(3_600));
/// let agent = DefaultAgent::builder(DemoProvider::new()).system(menu).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug)]
pub struct CachedPrompt<P> {
    part: Arc<P>,
    kept_for: Duration,
    kept: Arc<Mutex<Option<CachedText>>>,
}

/// The cached text.
#[derive(Debug)]
struct CachedText {
    made: Instant,
    text: String,
    /// The sources of the text from outside in the prompt at the time the text was built.
    outside: OutsideSources,
}

impl<P: SystemPrompt + 'static> CachedPrompt<P> {
    /// Returns a part whose text is cached for `kept_for`.
    #[must_use]
    pub fn new(part: P, kept_for: Duration) -> Self {
        Self { part: Arc::new(part), kept_for, kept: Arc::default() }
    }
}

impl<P: SystemPrompt + 'static> SystemPrompt for CachedPrompt<P> {
    fn on_found(&self, names: &[Text]) -> Option<BoxFuture<'static, Result<String, AgentError>>> {
        self.part.on_found(names)
    }

    fn build(&self, context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        let (part, kept_for, kept) = (self.part.clone(), self.kept_for, self.kept.clone());
        Box::pin(async move {
            let mut kept = kept.lock().await;
            if let Some(CachedText { made, text, outside }) = &*kept
                && made.elapsed() < kept_for
            {
                context.add_outside(outside);
                return Ok(text.clone());
            }
            let text = part.build(context.clone()).await?;
            // A part that answers in place of the model is built again for the next run.
            if !context.has_answered() {
                let (made, outside) = (Instant::now(), context.outside());
                *kept = Some(CachedText { made, text: text.clone(), outside });
            }
            Ok(text)
        })
    }

    fn is_optional(&self) -> bool {
        self.part.is_optional()
    }
}
