//! The tool by which a model asks about a background agent.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    nesting::{self, ParentWait},
    tools::{Tool, ToolContext, ToolEffects, ToolError, ToolFuture, ToolOutput},
};
use forgeline_types::{Json, Text};

/// Maximum wait of one call for the end of an agent, in seconds.
const WAIT_SECONDS: u32 = 60;

/// Maximum time of one call, in which a parent agent also waits for a slot.
const TIMEOUT: Duration = Duration::from_mins(10);

/// The tool by which a model asks about a background agent.
#[derive(Debug)]
pub(super) struct AgentResult {
    name: Text,
    /// The name of the tool that starts agents.
    begins: Text,
    description: String,
    max_result_chars: Option<usize>,
}

#[derive(Deserialize)]
struct ResultArguments {
    agent: String,
    #[serde(default)]
    wait_seconds: u32,
    #[serde(default)]
    stop: bool,
}

impl AgentResult {
    /// Returns the tool for agents started by the tool named `begins`.
    pub(super) fn new(begins: &Text, max_result_chars: Option<usize>) -> Self {
        let description = format!(
            "Returns the report of an agent that `{begins}` started in the background, or says \
            that it is still working."
        );
        Self { name: Self::name_for(begins), begins: begins.clone(), description, max_result_chars }
    }

    /// Returns the name of the tool for agents started by the tool named `begins`.
    pub(super) fn name_for(begins: &str) -> Text {
        format!("{begins}_result").into()
    }
}

impl Tool for AgentResult {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> Value {
        let (agent, wait) = (
            "The handle of the agent, such as `name-1`.",
            "Maximum time to wait for the agent to finish; 0 by default.",
        );
        json!({
            "type": "object",
            "properties": {
                "agent": { "type": "string", "description": agent },
                "wait_seconds": {
                    "type": "integer", "minimum": 0, "maximum": WAIT_SECONDS, "description": wait,
                },
                "stop": { "type": "boolean", "description": "true: stop the agent, because it is \
                    no longer needed." },
            },
            "required": ["agent"],
            "additionalProperties": false,
        })
    }

    fn may_repeat(&self) -> bool {
        true
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::Reads
    }

    fn timeout(&self) -> Option<Duration> {
        Some(TIMEOUT)
    }

    fn max_result_chars(&self) -> Option<usize> {
        self.max_result_chars
    }

    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture {
        let begins = self.begins.clone();
        Box::pin(async move {
            let ResultArguments { agent, wait_seconds, stop } =
                arguments.read().map_err(|error| ToolError::invalid("agent", error.to_string()))?;
            let Some(draw) = nesting::above().draw else {
                return Err(ToolError::failed("the tool was called by no agent"));
            };
            let mut asked = draw.find(&begins, &agent)?;
            if stop {
                asked.stop.cancel();
            }
            let seconds = if stop { WAIT_SECONDS } else { wait_seconds.min(WAIT_SECONDS) };
            let waiting = ParentWait::begin(nesting::family());
            let report = tokio::select! {
                biased;
                report = asked.ended() => Some(report),
                () = context.cancelled().cancelled() => Some(Err(ToolError::Cancelled { abandoned: false })),
                () = tokio::time::sleep(Duration::from_secs(seconds.into())) => None,
            };
            drop(waiting);
            match report {
                // An agent that failed before it was asked to stop has its own error.
                Some(Err(ToolError::Cancelled { .. }))
                    if stop && !context.cancelled().is_cancelled() =>
                {
                    Ok(ToolOutput::new(format!("The agent `{agent}` is stopped.")))
                }
                Some(report) => report,
                None => Ok(ToolOutput::new(format!(
                    "The agent `{agent}` is still working. Ask again later, with `wait_seconds` to \
                    wait for it."
                ))),
            }
        })
    }
}
