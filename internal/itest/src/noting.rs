//! A model that takes its time, and tools that note each execution: for processes that are killed.

use std::{fs::OpenOptions, io::Write as _, path::Path, sync::Arc, time::Duration};

use forgeline::{
    agent::tools::{Tool, ToolContext, ToolError, ToolFuture, ToolOutput},
    llm::{ChunkStream, Provider, ProviderFuture, Request},
    testing::{ScriptedProvider, ScriptedTurn},
    types::{Json, MessageRole, ModelInfo},
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::sleep;

/// The turns that call tools.
const TURNS: usize = 5;

/// The time between two chunks of an answer, and half of that in a tool.
const PACE: Duration = Duration::from_millis(1);

/// Returns the same answer to the same history since the user spoke.
#[must_use]
pub fn turn(request: &Request) -> ScriptedTurn {
    let since = request.messages.iter().rev().take_while(|it| it.role != MessageRole::User);
    let answers = since.filter(|it| it.role == MessageRole::Assistant).count();
    let turn = ScriptedTurn::new().thinking("Hm.").text("Step ").text(answers.to_string());
    if answers == TURNS {
        return turn;
    }
    let call = |turn: ScriptedTurn, name| turn.call(name, json!({ "step": answers }));
    ["once", "again", "once"].into_iter().fold(turn, call)
}

/// A model that takes its time.
#[derive(Debug)]
pub struct Slow(pub ScriptedProvider);

impl Provider for Slow {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let opening = self.0.stream_completion(request);
        Box::pin(async move {
            let slow = opening.await?.then(|chunk| async {
                sleep(PACE).await;
                chunk
            });
            Ok(Box::pin(slow) as ChunkStream)
        })
    }
}

/// A tool that notes each execution.
#[derive(Debug)]
pub struct Noting {
    /// Its name.
    pub name: &'static str,
    /// Whether it may run again.
    pub is_idempotent: bool,
    /// Where each execution is a line.
    pub file: Arc<Path>,
}

impl Tool for Noting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        "Notes that it ran."
    }

    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": { "step": { "type": "integer" } } })
    }

    fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture {
        let (name, file) = (self.name, Arc::clone(&self.file));
        Box::pin(async move {
            let line = format!("{name} {}\n", context.idempotency_key());
            let mut options = OpenOptions::new();
            let noted = options.append(true).create(true).open(file);
            let noted = noted.and_then(|mut file| file.write_all(line.as_bytes()));
            noted.map_err(|error| ToolError::failed(error.to_string()))?;
            sleep(PACE / 2).await;
            Ok(ToolOutput::from(format!("{name} {}", arguments.as_str())))
        })
    }
}
