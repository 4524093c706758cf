//! The tool `files.read`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::root::{self, FolderRoot, OpenedPath};
use crate::tools::ToolError;

/// Maximum size of a file to read, in bytes.
const MAX_BYTES: u64 = 8 << 20;

/// Maximum number of lines in one result.
const MAX_LINES: usize = 2_000;

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadArguments {
    /// The file, relative to the root.
    path: String,
    /// The first line to read, from 1. Default: 1.
    #[serde(default)]
    offset: Option<usize>,
    /// Maximum number of lines, up to 2000. Default: 2000.
    #[serde(default)]
    limit: Option<usize>,
}

/// Reads lines of a file.
pub(crate) fn read_file(
    root: &FolderRoot,
    arguments: &ReadArguments,
    _stop: &dyn Fn() -> bool,
) -> Result<String, ToolError> {
    let name = &arguments.path;
    let OpenedPath::File(file) = root.open(name)? else {
        return Err(ToolError::failed(format!("`{name}` is not a file; list it with files.list")));
    };
    let text = root::text(file, MAX_BYTES)
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
    Ok(out)
}
