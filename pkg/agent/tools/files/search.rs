//! The tool `files.search`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::root::{self, FolderRoot, FolderWalk, FoundFile, OpenedPath};
use crate::tools::ToolError;

/// Maximum size of a file to search, in bytes.
const MAX_BYTES: u64 = 2 << 20;

/// Maximum number of hits reported by one call.
const MAX_HITS: usize = 200;

/// Maximum number of characters reported of a line.
const MAX_LINE_CHARS: usize = 200;

#[derive(Deserialize, JsonSchema)]
pub(super) struct SearchArguments {
    /// The text to find, not a pattern.
    query: String,
    /// The folder or file. Default: the root.
    #[serde(default)]
    path: Option<String>,
    /// `true` for a case-sensitive search. Default: `false`.
    #[serde(default)]
    case_sensitive: bool,
    /// Maximum number of hits to return, up to 200. Default: 50.
    #[serde(default)]
    max_hits: Option<usize>,
}

/// Finds the lines that contain a text.
pub(super) fn search(
    root: &FolderRoot,
    arguments: &SearchArguments,
    stop: &dyn Fn() -> bool,
) -> Result<String, ToolError> {
    if arguments.query.is_empty() {
        return Err(ToolError::invalid("query", "must not be empty"));
    }
    let fold = |text: &str| {
        if arguments.case_sensitive { text.to_owned() } else { text.to_lowercase() }
    };
    let query = fold(&arguments.query);
    let start = arguments.path.as_deref().unwrap_or(".");
    let max_hits = arguments.max_hits.unwrap_or(50).min(MAX_HITS);
    let walk = match root.open(start)? {
        OpenedPath::Folder(folder) => root.walk(start, folder, stop)?,
        OpenedPath::File(_) => {
            let name = start.strip_prefix("./").unwrap_or(start).to_owned();
            FolderWalk { files: vec![FoundFile { name, bytes: 0 }], ..FolderWalk::default() }
        }
    };
    let (mut hits, mut in_files, mut told) = (0_usize, 0_usize, String::new());
    for file in &walk.files {
        if stop() {
            return Err(ToolError::Cancelled { abandoned: false });
        }
        // A file that cannot be read as text has no hits.
        let Ok(OpenedPath::File(opened)) = root.open(&file.name) else { continue };
        let Ok(Some(text)) = root::text(opened, MAX_BYTES) else { continue };
        let before = hits;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| fold(line).contains(&query)) {
            hits += 1;
            if hits <= max_hits {
                let place = excerpt(line, &fold(line), &query);
                // Writing to a string cannot fail.
                let _written = writeln!(told, "{}:{}:{place}", file.name, at + 1);
            }
        }
        in_files += usize::from(hits > before);
    }
    let mut out = format!("{hits} hits in {in_files} of {} files\n", walk.files.len());
    out.push_str(&told);
    if hits > max_hits {
        let _written = writeln!(out, "… {} hits are not shown", hits - max_hits);
    }
    let left_out = walk.left_out();
    if !left_out.is_empty() {
        let _written = writeln!(out, "not searched: {left_out}");
    }
    Ok(out)
}

/// Returns a line as the result shows it; of a long one, the place of the first hit after its column.
fn excerpt(line: &str, folded: &str, query: &str) -> String {
    let trimmed = line.trim();
    let total = trimmed.chars().count();
    if total <= MAX_LINE_CHARS {
        return format!(" {trimmed}");
    }
    let before = folded.find(query).and_then(|at| folded.get(..at));
    let column = before.map_or(0, |before| before.chars().count());
    let start = column.saturating_sub(MAX_LINE_CHARS / 4);
    let shown: String = line.chars().skip(start).take(MAX_LINE_CHARS).collect();
    let cut = |is_cut| if is_cut { "…" } else { "" };
    let is_longer = line.chars().count() > start + MAX_LINE_CHARS;
    format!("{}: {}{}{}", column + 1, cut(start > 0), shown.trim(), cut(is_longer))
}
