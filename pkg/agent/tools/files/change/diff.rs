//! Previews of changes as diffs.

use std::time::Duration;

use similar::TextDiff;

/// Maximum length of a preview, in bytes.
const MAX_PREVIEW_BYTES: usize = 64 << 10;

/// Maximum time spent on finding a small diff; the diff found by then is correct, but longer.
const PATIENCE: Duration = Duration::from_millis(250);

/// Returns the difference of two texts in the format of `diff -u`; `before` is `None` for a new file.
pub(super) fn unified(path: &str, before: Option<&str>, after: &str) -> String {
    let old = before.map_or("/dev/null".to_owned(), |_| format!("a/{path}"));
    let mut config = TextDiff::configure();
    config.timeout(PATIENCE);
    let diff = config.diff_lines(before.unwrap_or_default(), after);
    let text = diff.unified_diff().context_radius(3).header(&old, &format!("b/{path}")).to_string();
    match (text.is_empty(), before) {
        (false, _) => bounded(text),
        (true, None) => format!("creates the empty file `{path}`"),
        (true, Some(_)) => format!("changes nothing in `{path}`"),
    }
}

/// Returns a preview truncated to its limit, with a note on what is not shown.
pub(super) fn bounded(mut text: String) -> String {
    if text.len() <= MAX_PREVIEW_BYTES {
        return text;
    }
    let lines = text.lines().count();
    let mut end = MAX_PREVIEW_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    let more = lines - text.lines().count();
    format!("{text}\n… and {more} more lines that are not shown\n")
}
