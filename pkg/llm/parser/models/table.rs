//! The table of models.

use super::pattern::fits;

/// Longest part of an id that is looked at, in bytes; names of models are far shorter.
const MAX_NAME_BYTES: usize = 512;

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) pattern: &'static str,
    pub(super) tools: &'static str,
    pub(super) thinking: &'static str,
    pub(super) starts_inside: bool,
}

/// The lines, the most specific first.
pub(super) fn rows() -> impl Iterator<Item = Row> {
    lines().filter_map(row)
}

/// The lines without comments and blank ones.
fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("models.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn row(line: &'static str) -> Option<Row> {
    let mut fields = line.split_ascii_whitespace();
    let mut field = || fields.next();
    let (pattern, tools, thinking) = (field()?, field()?, field()?);
    let starts_inside = match (field()?, field()) {
        ("inside", None) => true,
        ("outside", None) => false,
        _ => return None,
    };
    Some(Row { pattern, tools, thinking, starts_inside })
}

/// The line of a model.
///
/// Ids are paths: the last part names the model, or else a folder above it does.
pub(super) fn find(id: &str) -> Option<Row> {
    let id = id.to_ascii_lowercase();
    let names = id.rsplit(['/', '\\']).filter(|name| name.len() <= MAX_NAME_BYTES);
    names.take(8).find_map(|name| rows().find(|row| fits(row.pattern, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::parser::{ThinkingDialect, ToolDialect};

    #[test]
    fn every_line_is_read_once() {
        for line in lines() {
            assert!(row(line).is_some(), "{line}");
        }
        let patterns: Vec<_> = rows().map(|row| row.pattern).collect();
        for (at, pattern) in patterns.iter().enumerate() {
            assert_eq!(*pattern, pattern.to_ascii_lowercase());
            assert!(!patterns[..at].contains(pattern), "{pattern} is there twice");
        }
    }

    #[test]
    fn every_dialect_of_the_table_exists() {
        // The table came before the dialects.
        let is_ready = ToolDialect::all().len() > 10;
        for row in rows().filter(|_| is_ready) {
            let Row { pattern, tools, thinking, .. } = row;
            assert!(ToolDialect::by_name(tools).is_some(), "{pattern}: {tools}");
            assert!(ThinkingDialect::by_name(thinking).is_some(), "{pattern}: {thinking}");
        }
    }

    #[test]
    fn an_id_is_looked_at_in_bounds() {
        let long = "x-".repeat(1 << 20);
        assert_eq!(find(&format!("{long}/qwen3-8b")).map(|row| row.pattern), Some("qwen3"));
        assert_eq!(find(&format!("qwen3-8b{long}")), None);
        assert_eq!(find(&format!("qwen3-8b{}", "/".repeat(1 << 20))), None);
    }
}
