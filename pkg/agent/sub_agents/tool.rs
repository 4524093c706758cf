//! The tool that an agent is.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::DropGuard;

use super::{Above, Family, Places, SubAgentEvent, places::Waiting, recent::recent};
use crate::{
    agent::{
        Budget, DefaultAgent, OutcomeKind, RunInput, RunOutcome, RunStream, nesting,
        tools::{Tool, ToolContext, ToolError, ToolFuture, ToolOutput},
    },
    types::{Json, Text, TextOrigin},
};

/// Most agents that are deep below the first.
const MAX_DEPTH: u32 = 3;

/// Most agents that work at the same time, below one tool.
const PLACES: usize = 8;

/// Longest time of one call.
const TIMEOUT: Duration = Duration::from_mins(10);

/// An agent as a tool of others: a call gives it a task, and reads its final text. See
/// [`DefaultAgent::into_tool`].
///
/// Each call is a run of a [fork](DefaultAgent::fork): it begins with the task, and the
/// [last messages](Self::recent) if it is to, and forgets it at its end.
/// The run has the context of the run that asks: its caller, for whom permissions are looked up, its deadline,
/// and its cancel; and it may spend a part of what is left of its budget. What the agent below asks a person or the
/// client about is asked through the run above, with ids of its own. Its events come as [`SubAgentEvent`].
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use forgeline::{
///     agent::{DefaultAgent, SubAgent, tools::Calculator},
///     llm::demo::DemoProvider,
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
/// use serde_json::json;
///
/// let below = DefaultAgent::builder(DemoProvider::new()).tool(Calculator).build()?;
/// let tool = SubAgent::new(below, "reckoner", "Works out sums.").timeout(Duration::from_secs(30));
/// let call = ScriptedTurn::new().call("reckoner", json!({ "task": "What is 6 * 7?" }));
/// let provider = ScriptedProvider::new([call, ScriptedTurn::new().text("Done.")]);
/// let outcome = DefaultAgent::builder(provider).tool(tool).build()?.run("Ask.").await?;
/// assert!(outcome.messages[2].tool_results().any(|result| result.content.contains("42")));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SubAgent {
    agent: DefaultAgent,
    name: Text,
    description: String,
    budget: Budget,
    recent: usize,
    max_depth: u32,
    places: Places,
    timeout: Duration,
    max_result_chars: Option<usize>,
}

#[derive(Deserialize)]
struct Asked {
    task: String,
}

impl DefaultAgent {
    /// Returns the agent as a tool of others, for tasks that the description tells. See [`SubAgent`].
    #[must_use]
    pub fn into_tool(self, name: impl Into<Text>, description: impl Into<String>) -> SubAgent {
        SubAgent::new(self, name, description)
    }
}

impl SubAgent {
    /// Returns an agent as a tool.
    #[must_use]
    pub fn new(agent: DefaultAgent, name: impl Into<Text>, description: impl Into<String>) -> Self {
        Self {
            agent,
            name: name.into(),
            description: description.into(),
            budget: Budget::default(),
            recent: 0,
            max_depth: MAX_DEPTH,
            places: Places::new(PLACES),
            timeout: TIMEOUT,
            max_result_chars: None,
        }
    }

    /// Narrows the budget of each call. Default: an equal part, for each call that is open, of what is left to the run
    /// which asks; what it did not use goes back.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Gives each call at most this many of the last messages of the conversation above, before its task; 6 are usual.
    /// Calls come with their results: a call that is open, as this one, is left out. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::DefaultAgent, testing::{ScriptedProvider, ScriptedTurn}};
    /// use serde_json::json;
    ///
    /// let below = ScriptedProvider::new([ScriptedTurn::new().text("Looked.")]);
    /// let tool = DefaultAgent::builder(below.clone()).build()?.into_tool("helper", "Helps.").recent(6);
    /// let call = ScriptedTurn::new().call("helper", json!({ "task": "Look for it." }));
    /// let provider = ScriptedProvider::new([call, ScriptedTurn::new().text("Done.")]);
    /// DefaultAgent::builder(provider).tool(tool).build()?.run("Where is the key?").await?;
    /// let texts: Vec<_> = below.requests()[0].messages.iter().map(|it| it.text()).collect();
    /// assert_eq!(texts, ["Where is the key?", "Look for it."]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn recent(mut self, messages: usize) -> Self {
        self.recent = messages;
        self
    }

    /// Sets how deep agents may be below the first; the lowest bound of those above holds. Default: 3.
    #[must_use]
    pub fn max_depth(mut self, levels: u32) -> Self {
        self.max_depth = levels;
        self
    }

    /// Sets the places in which calls work. A call inside an agent below takes the places of that one.
    /// Default: 8 of its own.
    #[must_use]
    pub fn places(mut self, places: &Places) -> Self {
        self.places = places.clone();
        self
    }

    /// Sets the longest time of one call, the wait for a place included. Default: 10 min.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Sets the longest text that one call reports, in characters; the model reads a note instead of a longer
    /// one. Default: that of the agent which asks.
    #[must_use]
    pub fn max_result_chars(mut self, chars: usize) -> Self {
        self.max_result_chars = Some(chars);
        self
    }

    /// Runs a task to its end, in a place.
    async fn work(self, context: ToolContext, task: String) -> Result<ToolOutput, ToolError> {
        let (above, inherited) = (nesting::family(), nesting::above());
        let draw = inherited.draw.clone();
        let family = Family::below(above.as_deref(), self.max_depth, &self.places, draw)?;
        let family = Arc::new(family);
        let waiting = Waiting::begin(above);
        let stop = context.cancelled().clone();
        let result = if family.begin(&stop).await {
            let run = self.run(&context, inherited, task);
            let result = nesting::as_child(Arc::clone(&family), run).await;
            family.end();
            result
        } else {
            Err(ToolError::Cancelled { abandoned: false })
        };
        waiting.end(&stop).await;
        result
    }

    /// Runs a task to its end, and passes its events on.
    async fn run(
        &self,
        context: &ToolContext,
        above: Above,
        task: String,
    ) -> Result<ToolOutput, ToolError> {
        let budget = above.draw.map_or(self.budget, |draw| draw.take(self.budget));
        if let Some(limit) = budget.zero() {
            return Err(self.failed(&format!("nothing is left of `{limit}`")));
        }
        let mut input = RunInput::from(task).budget(budget);
        input.context = context.run().clone();
        let agent = self.agent.fork();
        agent.hears_outside_text(above.has_outside_text);
        if let Some(memory) = above.memory.filter(|_| self.recent > 0) {
            let messages = recent(memory.lock().transcript().messages(), self.recent);
            let mut own = agent.0.memory.lock();
            for message in messages {
                own.add(message);
            }
        }
        let cancel = context.cancelled().child_token();
        let _stopped: DropGuard = cancel.clone().drop_guard();
        let mut stream =
            RunStream::below(Arc::clone(&agent.0), input, cancel, above.steering.as_ref());
        while let Some(envelope) = stream.next().await {
            let (run_id, call_id) = (context.run_id().into(), context.call_id().into());
            let event = SubAgentEvent::new(run_id, call_id, self.name.clone(), envelope);
            if let Some(event) = event.into_event() {
                context.send(|| event).await;
            }
        }
        let outcome = stream.outcome().await.map_err(|error| self.failed(&error.to_string()))?;
        let output = ToolOutput::new(self.report(outcome)?);
        let is_outside = agent.has_outside_text();
        Ok(if is_outside { output.origin(TextOrigin::Outside) } else { output })
    }

    /// Returns what the model reads of a run.
    fn report(&self, outcome: RunOutcome) -> Result<String, ToolError> {
        let RunOutcome { reason, text, .. } = outcome;
        match reason {
            OutcomeKind::QuestionAsked { question, .. } => Ok(format!(
                "The agent `{}` needs an answer before it can go on; ask it again with the whole task and the answer. \
                 Its question: {question}",
                self.name
            )),
            OutcomeKind::Empty => Err(self.failed("it gave no answer")),
            OutcomeKind::Cut | OutcomeKind::LimitReached { .. } => Ok(format!(
                "[The agent `{}` was at a limit; this may be incomplete.]\n{text}",
                self.name
            )),
            OutcomeKind::Answer
            | OutcomeKind::PromptAnswered
            | OutcomeKind::TaskCompleted { .. }
            | OutcomeKind::Conversed { .. }
            | OutcomeKind::Tool { .. }
            | OutcomeKind::Failed { .. } => Ok(text),
        }
    }

    fn failed(&self, problem: &str) -> ToolError {
        ToolError::failed(format!(
            "the agent `{}` failed: {problem}; give it a smaller task, or go on without it",
            self.name
        ))
    }
}

impl Tool for SubAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> Value {
        let task = "The whole task, with all that is needed for it: the agent knows nothing else.";
        json!({
            "type": "object",
            "properties": { "task": { "type": "string", "description": task } },
            "required": ["task"],
            "additionalProperties": false,
        })
    }

    fn timeout(&self) -> Option<Duration> {
        Some(self.timeout)
    }

    fn max_result_chars(&self) -> Option<usize> {
        self.max_result_chars
    }

    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture {
        let this = self.clone();
        Box::pin(async move {
            let Asked { task } =
                arguments.read().map_err(|error| ToolError::invalid("task", error.to_string()))?;
            if task.trim().is_empty() {
                return Err(ToolError::invalid("task", "is empty; say what is to be done"));
            }
            this.work(context, task).await
        })
    }
}
