//! A process that may be killed at any moment: it goes on with the conversation of its folder, or begins it,
//! and prints the messages at the end. Each execution of a tool is a line of the file `ran`.
#![expect(clippy::print_stdout, reason = "its output is what the test reads")]

use std::{
    error::Error, fs::OpenOptions, io::Write as _, path::PathBuf, sync::Arc, time::Duration,
};

use forgeline::{
    agent::{
        DefaultAgent,
        journal::FileJournal,
        tools::{Tool, ToolContext, ToolError, ToolFuture, ToolOutput},
    },
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

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("the folder is missing")?);
    let tool =
        |name, is_idempotent| Noting { name, is_idempotent, file: folder.join("ran").into() };
    let agent = DefaultAgent::builder(Slow(ScriptedProvider::from_fn(turn)))
        .tool(tool("once", false))
        .tool(tool("again", true))
        .journal(FileJournal::new(folder.join("journal")))
        .build()?;
    if agent.resume().await?.is_none() && agent.transcript().is_empty() {
        agent.run("Do it.").await?;
    }
    println!("{}", serde_json::to_string(&agent.transcript())?);
    Ok(())
}

/// Returns the same answer to the same history.
fn turn(request: &Request) -> ScriptedTurn {
    let answers = request.messages.iter().filter(|it| it.role == MessageRole::Assistant).count();
    let turn = ScriptedTurn::new().thinking("Hm.").text("Step ").text(answers.to_string());
    if answers == TURNS {
        return turn;
    }
    let call = |turn: ScriptedTurn, name| turn.call(name, json!({ "step": answers }));
    ["once", "again", "once"].into_iter().fold(turn, call)
}

/// A model that takes its time.
struct Slow(ScriptedProvider);

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
struct Noting {
    name: &'static str,
    is_idempotent: bool,
    file: Arc<std::path::Path>,
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
