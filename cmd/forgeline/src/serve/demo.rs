//! What the demo model can do in a service besides: ask the person on the page, and something that needs approval.

use std::sync::{Arc, Mutex, PoisonError};

use forgeline::{
    agent::tools::{ClientTool, Tool, ToolContext, ToolEffects, ToolError, ToolFuture, ToolOutput},
    types::Json,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Most notes that are kept.
const MAX_NOTES: usize = 100;

/// Returns the tools. The demo model calls one that a prompt names, with its arguments in quotes.
pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    let text = |name: &str, what: &str| {
        let properties = json!({ name: { "type": "string", "description": what } });
        json!({ "type": "object", "properties": properties, "required": [name] })
    };
    let ask = "Asks the person in front of the page a question, and returns the answer.";
    let confirm = "Lets the person in front of the page confirm or decline something.";
    vec![
        Arc::new(ClientTool::new("ask_user", ask, text("question", "What is asked."))),
        Arc::new(ClientTool::new("confirm", confirm, text("message", "What is to be confirmed."))),
        Arc::new(NoteKeeper { notes: Mutex::default(), schema: text("text", "The note.") }),
    ]
}

/// Keeps notes for as long as the service runs; a person is asked before each.
struct NoteKeeper {
    notes: Mutex<Vec<String>>,
    schema: Value,
}

#[derive(Deserialize)]
struct NoteArguments {
    text: String,
}

impl Tool for NoteKeeper {
    fn name(&self) -> &'static str {
        "notes.keep"
    }

    fn description(&self) -> &'static str {
        "Keeps a note until the service ends; a person is asked first."
    }

    fn schema(&self) -> Value {
        self.schema.clone()
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::Irreversible
    }

    fn execute(&self, _context: ToolContext, arguments: Json) -> ToolFuture {
        let kept = self.keep(&arguments);
        Box::pin(async move { kept })
    }
}

impl NoteKeeper {
    fn keep(&self, arguments: &Json) -> Result<ToolOutput, ToolError> {
        let NoteArguments { text } =
            arguments.read().map_err(|error| ToolError::invalid("", error.to_string()))?;
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() >= MAX_NOTES {
            return Err(ToolError::failed(format!("there are {MAX_NOTES} notes already")));
        }
        notes.push(text);
        Ok(ToolOutput::from(format!("Kept as note {}.", notes.len())))
    }
}
