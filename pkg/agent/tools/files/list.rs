//! Lists files.

use std::{fmt::Write as _, sync::Arc};

use futures_core::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{blocking, root::Root};
use crate::{
    agent::tools::{Tool, ToolContext, ToolError, ToolOutput, typed::schema_of},
    types::Json,
};

/// Files listed by one call at most.
const MAX_LISTED: usize = 500;

/// Lists the files below the root: `files.list`.
#[derive(Debug, Clone)]
pub struct FilesList {
    root: Arc<Root>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The folder, relative to the root. Default: the root.
    #[serde(default)]
    path: Option<String>,
}

impl FilesList {
    pub(super) fn new(root: Arc<Root>) -> Self {
        Self { root }
    }
}

impl Tool for FilesList {
    fn name(&self) -> &'static str {
        "files.list"
    }

    fn description(&self) -> &'static str {
        "Lists the files below a folder with their sizes, sorted by name."
    }

    fn schema(&self) -> Value {
        schema_of::<Arguments>()
    }

    fn execute(
        &self,
        context: ToolContext,
        arguments: Json,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let root = Arc::clone(&self.root);
        Box::pin(blocking(context, move |stop| list(&root, &arguments, stop)))
    }
}

fn list(root: &Root, arguments: &Json, stop: &dyn Fn() -> bool) -> Result<ToolOutput, ToolError> {
    let arguments: Arguments =
        arguments.read().map_err(|error| ToolError::invalid("", error.to_string()))?;
    let name = arguments.path.as_deref().unwrap_or(".");
    let folder = root.resolve(name)?;
    if !folder.is_dir() {
        return Err(ToolError::failed(format!(
            "`{name}` is not a folder; read it with files.read"
        )));
    }
    let (files, more) = root.walk(&folder, stop)?;
    if files.is_empty() {
        return Ok(ToolOutput::from("no files"));
    }
    let mut out = String::new();
    for file in files.iter().take(MAX_LISTED) {
        // Writing to a string cannot fail.
        let _written = writeln!(out, "{} ({} bytes)", file.name, file.bytes);
    }
    if files.len() > MAX_LISTED || more {
        let count = if more { "more".to_owned() } else { (files.len() - MAX_LISTED).to_string() };
        let _written = writeln!(out, "… and {count} more; list a folder below");
    }
    out.truncate(out.trim_end().len());
    Ok(ToolOutput::new(out))
}
