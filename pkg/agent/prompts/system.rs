//! The parts of a system prompt.

use std::{sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::future::{join_all, try_join_all};

use super::PromptContext;
use crate::{run::OutsideSources, support::bounded};
use forgeline_types::{AgentError, Text};

/// One part of the system prompt, built anew for every run.
///
/// The parts of an agent are built concurrently and joined by an empty line in the order in which
/// they were given; empty parts are left out. A part that waits delays the run, for at most
/// [`prompt_timeout`](crate::config::AgentConfig::prompt_timeout).
///
/// # Examples
///
/// A string is a part; so is a function:
///
/// ```
/// use forgeline::{agent::{Agent, prompts::PromptContext}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new())
///     .system("You answer briefly.")
///     .system(|context: PromptContext| async move {
///         Ok(format!("This is run {}.", context.run_id))
///     })
///     .build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
pub trait SystemPrompt: Send + Sync {
    /// Returns the text of this part; an empty text is left out.
    ///
    /// # Errors
    ///
    /// An error ends the run before the model is asked.
    fn build(&self, context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>>;

    /// Returns `true` when a run continues without this part if the part fails or takes too long.
    /// Default: `false`, the run ends.
    fn is_optional(&self) -> bool {
        false
    }

    /// Returns this part's text about tools that a run finds later by `tool_search`, which are not among
    /// [`PromptContext::tool_names`]; the text is added to the result of the search. Default: `None`, nothing.
    ///
    /// # Errors
    ///
    /// On an error, the result of the search contains no such text.
    fn on_found(&self, names: &[Text]) -> Option<BoxFuture<'static, Result<String, AgentError>>> {
        let _ = names;
        None
    }
}

impl SystemPrompt for String {
    fn build(&self, _context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }
}

impl SystemPrompt for &'static str {
    fn build(&self, _context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        Box::pin(std::future::ready(Ok((*self).to_owned())))
    }
}

impl<F, R> SystemPrompt for F
where
    F: Fn(PromptContext) -> R + Send + Sync,
    R: Future<Output = Result<String, AgentError>> + Send + 'static,
{
    fn build(&self, context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        Box::pin(self(context))
    }
}

/// The joined parts of a prompt, and the answer that one of them gives in place of the model.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ComposedPrompt {
    pub(crate) text: String,
    pub(crate) answer: Option<Box<str>>,
    /// The sources of the text from outside in its parts.
    pub(crate) outside: OutsideSources,
}

/// Builds all parts concurrently, each within `limit`, and joins them.
pub(crate) async fn compose(
    parts: &[Arc<dyn SystemPrompt>],
    context: &PromptContext,
    limit: Duration,
) -> Result<ComposedPrompt, AgentError> {
    let parts = parts.iter().enumerate().map(|(at, part)| {
        let build = async move { part.build(context.of_part(at)).await.map(Some) };
        bounded("a part of the system prompt", limit, part.is_optional(), build)
    });
    let made = try_join_all(parts).await?;
    // The answer of a part that failed is ignored.
    let whole = made.iter().enumerate().filter(|(_, text)| text.is_some());
    let answer = whole.into_iter().find_map(|(at, _)| context.answer_of(at));
    let says_something = |text: &&String| !text.trim().is_empty();
    let told = made
        .iter()
        .enumerate()
        .filter_map(|(at, text)| text.as_ref().filter(says_something).map(|text| (at, text.len())));
    context.keep_places(told);
    let mut texts = made.into_iter().flatten().filter(|text| says_something(&text));
    let mut text = texts.next().unwrap_or_default();
    texts.for_each(|more| text.extend(["\n\n", &more]));
    Ok(ComposedPrompt { text, answer, outside: context.outside() })
}

/// Builds the parts' texts about found tools, each within `limit`; returns `None` when no part has any.
pub(crate) fn notes(
    parts: &[Arc<dyn SystemPrompt>],
    names: &[Text],
    limit: Duration,
) -> Option<BoxFuture<'static, String>> {
    let made: Vec<_> = parts.iter().filter_map(|part| part.on_found(names)).collect();
    if made.is_empty() || names.is_empty() {
        return None;
    }
    let made = made.into_iter().map(move |work| async move {
        // A tool can be used without its text.
        bounded("a note on tools that were found", limit, true, work).await.unwrap_or_default()
    });
    Some(Box::pin(async move {
        let texts = join_all(made).await;
        texts.into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_types::ErrorCode;

    const LIMIT: Duration = Duration::from_secs(1);

    // Covers: E-27, T-33, T-34
    #[tokio::test]
    async fn parts_are_joined_in_order_and_empty_ones_leave_no_gap() {
        let slow = |_: PromptContext| async {
            tokio::task::yield_now().await;
            Ok("first".to_owned())
        };
        let parts: [Arc<dyn SystemPrompt>; 3] = [Arc::new(slow), Arc::new(""), Arc::new("last")];
        let made = compose(&parts, &PromptContext::default(), LIMIT).await;
        let text = made.map(|made| made.text);
        assert_eq!(text.as_deref(), Ok("first\n\nlast"));
    }

    // Covers: T-35
    #[tokio::test]
    async fn a_part_that_fails_aborts() {
        let error = AgentError::new(ErrorCode::Internal, "no clock");
        let failing = |_: PromptContext| {
            std::future::ready(Err(AgentError::new(ErrorCode::Internal, "no clock")))
        };
        let parts: [Arc<dyn SystemPrompt>; 2] = [Arc::new("a"), Arc::new(failing)];
        assert_eq!(compose(&parts, &PromptContext::default(), LIMIT).await, Err(error));
    }
}
