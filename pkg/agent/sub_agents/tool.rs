//! The tool that runs an agent.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use super::result_tool::AgentResult;
use crate::{
    default_agent::Agent,
    nesting::Places,
    run::Budget,
    tools::{Tool, ToolContext, ToolError, ToolFuture},
};
use forgeline_types::{Json, Text};

/// Default maximum depth of nested sub-agents below the first agent.
const MAX_DEPTH: u32 = 3;

/// Default maximum number of agents of one tool that work at the same time.
const PLACES: usize = 8;

/// Default maximum time of one call.
const TIMEOUT: Duration = Duration::from_mins(10);

/// An agent as a tool of other agents: a call gives it a task, and returns its final text. See
/// [`Agent::into_tool`].
///
/// Each call is a run of a [conversation](Agent::conversation) of its own, which starts with the task and, if so
/// configured, the [last messages](Self::recent), and is discarded at its end. The run has the
/// context of its parent run: its caller, whose permissions apply, its deadline and its
/// cancellation; and it may use a part of the rest of the parent's budget. Requests of the
/// sub-agent to a person or the client go through the parent run, with ids of their own. Its events
/// arrive as [`SubAgentEvent`](crate::notice::SubAgentEvent).
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use forgeline::{
///     agent::{Agent, sub_agents::SubAgent, tools::Calculator},
///     llm::demo::DemoProvider,
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
/// use serde_json::json;
///
/// let below = Agent::builder(DemoProvider::new()).tool(Calculator).build()?;
/// let tool = SubAgent::new(below, "reckoner", "Works out sums.").timeout(Duration::from_secs(30));
/// let call = ScriptedTurn::new().call("reckoner", json!({ "task": "What is 6 * 7?" }));
/// let provider = ScriptedProvider::new([call, ScriptedTurn::new().text("Done.")]);
/// let outcome = Agent::builder(provider).tool(tool).build()?.run("Ask.").await?;
/// assert!(outcome.messages[2].tool_results().any(|result| result.content.contains("42")));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SubAgent {
    pub(super) agent: Agent,
    pub(super) name: Text,
    description: String,
    pub(super) budget: Budget,
    pub(super) recent: usize,
    pub(super) max_depth: u32,
    pub(super) places: Places,
    pub(super) timeout: Duration,
    max_result_chars: Option<usize>,
    in_background: bool,
}

#[derive(Deserialize)]
struct TaskArguments {
    task: String,
    #[serde(default)]
    background: bool,
}

impl Agent {
    /// Returns the agent as a tool of other agents, for the tasks in its description. See [`SubAgent`].
    #[must_use]
    pub fn into_tool(self, name: impl Into<Text>, description: impl Into<String>) -> SubAgent {
        SubAgent::new(self, name, description)
    }
}

impl SubAgent {
    /// Returns an agent as a tool.
    #[must_use]
    pub fn new(agent: Agent, name: impl Into<Text>, description: impl Into<String>) -> Self {
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
            in_background: false,
        }
    }

    forgeline_types::setters! {
        SubAgent:
        /// Narrows the budget of each call. Default: an equal part, for each open call, of the remaining
        /// budget of the parent run; what the call did not use goes back.
        budget(Budget),
        /// Gives each call at most this many of the last messages of the parent conversation, before its task; 6 is
        /// typical. Calls are included with their results: an open call, such as this one, is left out. Default: none.
        ///
        /// # Examples
        ///
        /// ```
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// use forgeline::{agent::Agent, testing::{ScriptedProvider, ScriptedTurn}};
        /// use serde_json::json;
        ///
        /// let below = ScriptedProvider::new([ScriptedTurn::new().text("Looked.")]);
        /// let tool = Agent::builder(below.clone()).build()?.into_tool("helper", "Helps.").recent(6);
        /// let call = ScriptedTurn::new().call("helper", json!({ "task": "Look for it." }));
        /// let provider = ScriptedProvider::new([call, ScriptedTurn::new().text("Done.")]);
        /// Agent::builder(provider).tool(tool).build()?.run("Where is the key?").await?;
        /// let texts: Vec<_> = below.requests()[0].messages.iter().map(|it| it.text()).collect();
        /// assert_eq!(texts, ["Where is the key?", "Look for it."]);
        /// # Ok(())
        /// # }
        /// ```
        recent(usize),
        /// Sets the maximum depth of sub-agents below the first agent; the lowest limit among all ancestors applies. Default: 3.
        max_depth(u32),
    }

    /// Sets the slots in which calls work. A call made by a sub-agent uses the slots of that
    /// sub-agent. Default: 8 of its own.
    #[must_use]
    pub fn places(mut self, places: &Places) -> Self {
        self.places = places.clone();
        self
    }

    forgeline_types::setters! {
        SubAgent:
        /// Sets the maximum time of one call, including the wait for a slot, but not the time in which the
        /// sub-agent's run only waits for people or for the client. Default: 10 min.
        timeout(Duration),
        /// Sets the maximum length of the text that one call reports, in characters; the model reads a
        /// note instead of a longer text. Default: that of the agent which asks.
        max_result_chars(some usize),
    }

    /// Lets calls work in the background; returns this tool, and the tool by which the model asks
    /// about such a call: its name is that of this one followed by `_result`.
    ///
    /// A call with `background` returns immediately, with a handle. The agent works while the parent run continues, and
    /// ends with it: a model that wants the report must ask for it before it answers. The parent run counts as one more
    /// sharer of the rest of the budget. A run can have at most 32 background agents.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::Agent, testing::{ScriptedProvider, ScriptedTurn}};
    /// use serde_json::json;
    ///
    /// let below = ScriptedProvider::new([ScriptedTurn::new().text("It rains.")]);
    /// let weather = Agent::builder(below).build()?.into_tool("weather", "Looks at the weather.");
    /// let provider = ScriptedProvider::new([
    ///     ScriptedTurn::new().call("weather", json!({ "task": "Look.", "background": true })),
    ///     ScriptedTurn::new().call("weather_result", json!({ "agent": "weather-1", "wait_seconds": 10 })),
    ///     ScriptedTurn::new().text("Stay in."),
    /// ]);
    /// let agent = Agent::builder(provider).tools(weather.in_background()).build()?;
    /// let outcome = agent.run("Shall we go out?").await?;
    /// assert!(outcome.messages[4].tool_results().any(|result| result.content == "It rains."));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn in_background(mut self) -> [Arc<dyn Tool>; 2] {
        self.in_background = true;
        let result = AgentResult::new(&self.name, self.max_result_chars);
        [Arc::new(self), Arc::new(result)]
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
        let task = "The complete task. The agent sees nothing but this text.";
        let mut properties = json!({ "task": { "type": "string", "description": task } });
        if self.in_background {
            let background = format!(
                "true: start the task and continue with other work; call `{}` for the report.",
                AgentResult::name_for(&self.name),
            );
            properties["background"] = json!({ "type": "boolean", "description": background });
        }
        json!({
            "type": "object",
            "properties": properties,
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
            let TaskArguments { task, background } =
                arguments.read().map_err(|error| ToolError::invalid("task", error.to_string()))?;
            if task.trim().is_empty() {
                return Err(ToolError::invalid("task", "is empty; describe the task"));
            }
            if background && this.in_background {
                return this.begin(context, task);
            }
            this.work(context, task).await
        })
    }
}
