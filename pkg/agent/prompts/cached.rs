//! A part of the system prompt that is cached for a time.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use futures_core::future::BoxFuture;
use tokio::{sync::Mutex, time::Instant};

use super::{PromptContext, SystemPrompt};
use crate::run::{Caller, OutsideSources};
use forgeline_types::{AgentError, Text};

/// A part of the system prompt that is built once and cached for a time, for all runs with the same caller, and so the same scope
/// and permissions, in the same module.
///
/// Use it for content that does not depend on anything else of a run, such as a web page: a text about the page or the input of one
/// run would be shown to the next run of that caller. Runs that start while the part is being built wait for it. A failure is not cached. At
/// most 256 texts are cached; beyond that, the one that was used the longest time ago is built again.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use forgeline::{
///     agent::{Agent, prompts::{CachedPrompt, PromptContext}},
///     llm::demo::DemoProvider,
/// };
///
/// let menu = |_: PromptContext| async { Ok("Today there is soup.".to_owned()) };
/// let menu = CachedPrompt::new(menu, Duration::from_secs(3_600));
/// let agent = Agent::builder(DemoProvider::new()).system(menu).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug)]
pub struct CachedPrompt<P> {
    part: Arc<P>,
    kept_for: Duration,
    kept: Arc<CachedTexts>,
}

/// Maximum number of texts that are cached.
const MAX_TEXTS: usize = 256;

/// The runs that share a text: those of one caller in one module.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextSharer {
    caller: Option<Caller>,
    module: Option<Text>,
}

/// The text of a caller in a module; locked while it is being built.
type TextSlot = Arc<Mutex<Option<CachedText>>>;

/// The cached texts; the last one was used last.
#[derive(Debug, Default)]
struct CachedTexts(std::sync::Mutex<Vec<(TextSharer, TextSlot)>>);

impl CachedTexts {
    /// Returns the text that a run shares, which may not be built yet.
    fn slot(&self, context: &PromptContext) -> TextSlot {
        let (caller, module) = (context.run.caller().cloned(), context.run.module());
        let sharer = TextSharer { caller, module: module.map(Text::from) };
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = texts.iter().position(|(other, _)| *other == sharer);
        let entry = match known {
            Some(at) => texts.remove(at),
            None => (sharer, TextSlot::default()),
        };
        let slot = entry.1.clone();
        texts.push(entry);
        if texts.len() > MAX_TEXTS {
            texts.remove(0);
        }
        slot
    }
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
        let (part, kept_for, kept) = (self.part.clone(), self.kept_for, self.kept.slot(&context));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunInput, run::SharedState};

    fn in_run(input: RunInput) -> PromptContext {
        PromptContext::new(Text::new(), String::new(), input.context, SharedState::default())
    }

    // Rows: N-48
    #[tokio::test(start_paused = true)]
    async fn a_cached_part_is_shown_to_its_caller_and_module_only() {
        let about = |context: PromptContext| {
            let scope = context.run.caller().and_then(|it| it.scope.clone()).unwrap_or_default();
            let id = context.run.caller().map(|it| it.id.clone()).unwrap_or_default();
            let made = format!("{scope}/{id}/{}", context.run.module().unwrap_or_default());
            std::future::ready(Ok(made))
        };
        let part = CachedPrompt::new(about, Duration::from_hours(1));
        let ann = || Caller::new("ann").scope("north");
        let runs = [
            (None, None, "//"),
            (Some(ann()), None, "north/ann/"),
            (Some(Caller::new("ann").scope("south")), None, "south/ann/"),
            (Some(Caller::new("bob").scope("north")), None, "north/bob/"),
            (Some(ann()), Some("billing"), "north/ann/billing"),
            (Some(ann()), Some("stock"), "north/ann/stock"),
        ];
        for _ in 0..2 {
            for (caller, module, want) in &runs {
                let mut input = RunInput::new("Go.");
                if let Some(caller) = caller {
                    input = input.caller(caller.clone());
                }
                if let Some(module) = module {
                    input = input.module(*module);
                }
                let text = part.build(in_run(input)).await;
                assert_eq!(text.as_deref(), Ok(*want));
            }
        }
        let many = (0..300).map(|at| Caller::new(format!("caller-{at}")));
        for caller in many {
            let input = RunInput::new("Go.").caller(caller.clone());
            let text = part.build(in_run(input)).await.unwrap();
            assert_eq!(text, format!("/{}/", caller.id), "however many there are");
            assert!(part.kept.0.lock().unwrap().len() <= MAX_TEXTS, "{}", caller.id);
        }
    }
}
