//! Reads a file.

use std::{fmt::Write as _, sync::Arc};

use futures_core::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    blocking,
    root::{self, Root},
};
use crate::{
    agent::tools::{Tool, ToolContext, ToolError, ToolOutput, typed::schema_of},
    types::Json,
};

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 8 << 20;

/// Lines of one answer at most.
const MAX_LINES: usize = 2_000;

/// Reads a text file below the root: `files.read`.
#[derive(Debug, Clone)]
pub struct FilesRead {
    root: Arc<Root>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The file, relative to the root.
    path: String,
    /// The first line to read, from 1. Default: 1.
    #[serde(default)]
    offset: Option<usize>,
    /// Most lines to read, up to 2000. Default: 2000.
    #[serde(default)]
    limit: Option<usize>,
}

impl FilesRead {
    pub(super) fn new(root: Arc<Root>) -> Self {
        Self { root }
    }
}

impl Tool for FilesRead {
    fn name(&self) -> &'static str {
        "files.read"
    }

    fn description(&self) -> &'static str {
        "Reads lines of a text file. The first line of the answer tells which, and of how many."
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
        Box::pin(blocking(context, move |_stop| read(&root, &arguments)))
    }
}

fn read(root: &Root, arguments: &Json) -> Result<ToolOutput, ToolError> {
    let arguments: Arguments =
        arguments.read().map_err(|error| ToolError::invalid("", error.to_string()))?;
    let name = &arguments.path;
    let path = root.resolve(name)?;
    if !path.is_file() {
        return Err(ToolError::failed(format!("`{name}` is not a file; list it with files.list")));
    }
    let text = root::text(&path, MAX_BYTES)
        .map_err(|error| ToolError::failed(format!("`{name}` cannot be read: {}", error.kind())))?;
    let Some(text) = text else {
        return Err(ToolError::failed(format!(
            "`{name}` is binary or larger than {MAX_BYTES} bytes; it is not read"
        )));
    };
    let total = text.lines().count();
    let first = arguments.offset.unwrap_or(1).max(1);
    let limit = arguments.limit.unwrap_or(MAX_LINES).min(MAX_LINES);
    if first > total.max(1) {
        let problem = format!("is past the end; the file has {total} lines");
        return Err(ToolError::invalid("offset", problem));
    }
    let last = total.min(first.saturating_add(limit) - 1);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _written = writeln!(out, "{name}: lines {first} to {last} of {total}");
    for line in text.lines().skip(first - 1).take(limit) {
        out.push_str(line);
        out.push('\n');
    }
    Ok(ToolOutput::new(out))
}
