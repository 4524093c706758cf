//! Lists files.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::root::Root;
use crate::agent::tools::ToolError;

/// Most files listed by one call.
const MAX_LISTED: usize = 500;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The folder, relative to the root. Default: the root.
    #[serde(default)]
    path: Option<String>,
}

/// Lists the files below a folder.
pub(super) fn list(
    root: &Root,
    arguments: &Arguments,
    stop: &dyn Fn() -> bool,
) -> Result<String, ToolError> {
    let name = arguments.path.as_deref().unwrap_or(".");
    let folder = root.resolve(name)?;
    if !folder.is_dir() {
        return Err(ToolError::failed(format!(
            "`{name}` is not a folder; read it with files.read"
        )));
    }
    let (files, more) = root.walk(&folder, stop)?;
    if files.is_empty() {
        return Ok("no files".to_owned());
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
    Ok(out)
}
