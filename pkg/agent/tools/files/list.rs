//! The tool `files.list`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::root::{FolderRoot, OpenedPath};
use crate::tools::ToolError;

/// Maximum number of files listed by one call.
const MAX_LISTED: usize = 500;

#[derive(Deserialize, JsonSchema)]
pub(super) struct ListArguments {
    /// The folder, relative to the root. Default: the root.
    #[serde(default)]
    path: Option<String>,
}

/// Lists the files below a folder.
pub(super) fn list(
    root: &FolderRoot,
    arguments: &ListArguments,
    stop: &dyn Fn() -> bool,
) -> Result<String, ToolError> {
    let name = arguments.path.as_deref().unwrap_or(".");
    let OpenedPath::Folder(folder) = root.open(name)? else {
        return Err(ToolError::failed(format!(
            "`{name}` is not a folder; read it with files.read"
        )));
    };
    let walk = root.walk(name, folder, stop)?;
    let mut out = String::new();
    for file in walk.files.iter().take(MAX_LISTED) {
        // Writing to a string cannot fail.
        let _written = writeln!(out, "{} ({} bytes)", file.name, file.bytes);
    }
    if walk.files.is_empty() {
        out.push_str("no files\n");
    } else if walk.files.len() > MAX_LISTED {
        let count = walk.files.len() - MAX_LISTED;
        let _written = writeln!(out, "… and {count} more; list a folder below");
    }
    let left_out = walk.left_out();
    if !left_out.is_empty() {
        let _written = writeln!(out, "not listed: {left_out}");
    }
    out.truncate(out.trim_end().len());
    Ok(out)
}
