//! The tool `files.read`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    root::{self, FolderRoot, OpenedPath},
    text_form::FormedText,
};
use crate::tools::ToolError;

/// Maximum size of a file to read, in bytes.
const MAX_BYTES: u64 = 8 << 20;

/// Maximum number of lines in one result.
const MAX_LINES: usize = 2_000;

/// Maximum number of characters of one line in one result.
const MAX_COLUMNS: usize = 16_000;

/// Number of characters of a line that are returned if the call names no other.
const COLUMNS: usize = 4_000;

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
    /// The first character of each line to read, from 1; for long lines. Default: 1.
    #[serde(default)]
    column: Option<usize>,
    /// Maximum number of characters of each line, up to 16000. Default: 4000.
    #[serde(default)]
    columns: Option<usize>,
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
    let bytes = root::bytes(file, MAX_BYTES)
        .map_err(|error| ToolError::failed(format!("`{name}` cannot be read: {}", error.kind())))?;
    let formed = bytes.as_deref().and_then(|bytes| FormedText::read(bytes, true));
    let (Some(bytes), Some((FormedText { text, form }, bad))) = (bytes, formed) else {
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
    let mut out = format!("{name}: lines {first} to {last} of {total}");
    let damage = format!("{bad} places that are not UTF-8 and are shown as U+FFFD");
    let notes = [form.note(), if bad > 0 { damage } else { String::new() }];
    for note in notes.iter().filter(|note| !note.is_empty()) {
        // Writing to a string cannot fail.
        let _written = write!(out, ", {note}");
    }
    out.push('\n');
    for line in text.lines().skip(first - 1).take(limit) {
        push_columns(&mut out, line, arguments);
        out.push('\n');
    }
    root.known.note(&root.spelled(name)?, &bytes);
    Ok(out)
}

/// Appends the part of a line that a call asks for.
fn push_columns(out: &mut String, line: &str, arguments: &ReadArguments) {
    let first = arguments.column.unwrap_or(1).max(1);
    let most = arguments.columns.unwrap_or(COLUMNS).clamp(1, MAX_COLUMNS);
    if first == 1 && line.len() <= most {
        return out.push_str(line);
    }
    let (mut characters, mut shown) = (line.chars(), 0);
    for character in characters.by_ref().skip(first - 1).take(most) {
        out.push(character);
        shown += 1;
    }
    let left = characters.count();
    if left > 0 {
        let next = first + shown;
        // Writing to a string cannot fail.
        let _written =
            write!(out, "[… {left} more characters of this line; `column`: {next} reads on]");
    }
}
