//! The tools of the scenes.

use forgeline::{
    agent::tools::{
        ClientTool, PreviewFuture, Question, Tool, ToolContext, ToolEffects, ToolFuture, tool_fn,
    },
    types::{Json, Preview, ToolAnswer},
};
use serde_json::{Value, json};

/// Changes a note, which a person sees before.
pub(crate) struct Edit;

impl Tool for Edit {
    fn name(&self) -> &'static str {
        "notes.edit"
    }

    fn description(&self) -> &'static str {
        "Changes a note."
    }

    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": { "path": { "type": "string" }, "text": { "type": "string" } } })
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::Irreversible
    }

    fn preview(&self, _context: ToolContext, arguments: Json) -> PreviewFuture {
        let arguments = arguments.to_value();
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let (path, new) = (text("path"), text("text"));
        if path.starts_with("hidden/") {
            let diff = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+{new}\n");
            return Box::pin(std::future::ready(Ok(Some(Preview::diff(diff)))));
        }
        if path == "same.md" {
            let words = Preview::diff(format!("changes nothing in `{path}`"));
            return Box::pin(std::future::ready(Ok(Some(words))));
        }
        let diff = "--- a/notes/shopping.md\n+++ b/notes/shopping.md\n@@ -1,5 +1,6 @@\n # Shopping\n \n-- tea\n+- green tea, 200 g\n+- oat milk\n - bread\n - apples\n";
        Box::pin(std::future::ready(Ok(Some(Preview::diff(diff)))))
    }

    fn execute(&self, _context: ToolContext, arguments: Json) -> ToolFuture {
        Box::pin(std::future::ready(Ok(format!("changed: {}", arguments.as_str()).into())))
    }
}

/// Runs a command, which a person sees before.
pub(crate) struct Command;

impl Tool for Command {
    fn name(&self) -> &'static str {
        "shell.run"
    }

    fn description(&self) -> &'static str {
        "Runs a command."
    }

    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": { "command": { "type": "string" } } })
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::Irreversible
    }

    fn preview(&self, _context: ToolContext, arguments: Json) -> PreviewFuture {
        let command = arguments.to_value()["command"].as_str().unwrap_or_default().to_owned();
        Box::pin(std::future::ready(Ok(Some(Preview::command(command)))))
    }

    fn execute(&self, context: ToolContext, _arguments: Json) -> ToolFuture {
        Box::pin(async move {
            context.output("Compiling forgeline v0.1.0\n").await;
            context.output("Finished in 4.2 s\n").await;
            Ok("exit status 0".into())
        })
    }
}

/// Returns the tool that asks the user for the fields of a form.
pub(crate) fn booking() -> impl Tool {
    tool_fn("booking", "Books a table.", |context: ToolContext, _: Value| async move {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "title": "Name", "description": "For the reservation" },
                "guests": { "type": "integer", "title": "Guests", "minimum": 1, "maximum": 12, "default": 2 },
                "place": { "type": "string", "title": "Where", "enum": ["inside", "terrace"] },
                "quiet": { "type": "boolean", "title": "A quiet table" },
                "mail": { "type": "string", "title": "Mail", "format": "email" },
            },
            "required": ["name", "guests"],
        });
        match context
            .ask(Question::form("Who is coming, and where do you want to sit?", schema))
            .await
        {
            ToolAnswer::Accept { content, .. } => format!("booked: {}", content.as_str()),
            ToolAnswer::Decline => "the user declined".to_owned(),
            ToolAnswer::Cancel | _ => "no answer".to_owned(),
        }
    })
}

/// Returns the tool that asks the user for a number, in a form whose bounds are written as `1.0`.
pub(crate) fn price() -> impl Tool {
    tool_fn("price", "Asks for a price.", |context: ToolContext, _: Value| async move {
        let schema = json!({
            "type": "object",
            "properties": { "euros": { "type": "number", "title": "Euros", "minimum": 1.0, "maximum": 100.0, "default": 2.0 } },
            "required": ["euros"],
        });
        format!("{:?}", context.ask(Question::form("How much may it be?", schema)).await)
    })
}

/// Returns the tool that asks the user to open an address.
pub(crate) fn sign() -> impl Tool {
    tool_fn("sign", "Has something signed.", |context: ToolContext, _: Value| async move {
        let question =
            Question::url("Sign the form there, then come back.", "https://example.org/sign/7");
        format!("{:?}", context.ask(question).await)
    })
}

/// Returns the tools that the page has, and one that it has not.
pub(crate) fn at_client() -> Vec<ClientTool> {
    let text = |names: &[&str]| {
        let properties = names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" })));
        let properties: serde_json::Map<_, _> = properties.collect();
        json!({ "type": "object", "properties": properties })
    };
    let mut ask = text(&["question"]);
    ask["properties"]["options"] = json!({ "type": "array", "items": { "type": "string" } });
    vec![
        ClientTool::new("ask_user", "Asks the user.", ask),
        ClientTool::new("confirm", "Asks the user for a yes or no.", text(&["message"])),
        ClientTool::new("map.zoom", "Zooms the map.", text(&["place"])),
    ]
}
