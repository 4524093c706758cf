//! The entry of a model's family.

use super::pattern::fits;
use crate::families::{self, FamilyModels};

/// Maximum length of a part of an id that is checked, in bytes; names of models are far shorter.
const MAX_NAME_BYTES: usize = 512;

/// The names of the dialects of a pattern's models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DialectRow {
    pub(super) pattern: &'static str,
    pub(super) tools: &'static str,
    pub(super) models: &'static FamilyModels,
}

impl DialectRow {
    /// Returns the specificity of the pattern: a fine-tune comes first, since its name contains that of its base
    /// model; then the length before the first `*` counts, then the whole length, then a number in it.
    fn rank(&self) -> (bool, usize, usize, bool) {
        let head = self.pattern.split('*').next().unwrap_or_default();
        (self.models.is_tuned, head.len(), self.pattern.len(), !self.pattern.contains(".x"))
    }
}

/// Returns the patterns of all families.
pub(super) fn rows() -> impl Iterator<Item = DialectRow> {
    families::all().flat_map(|family| {
        let tools = family.tools.map_or("none", |tools| tools.name);
        family.models.iter().flat_map(move |models| {
            models.patterns().map(move |pattern| DialectRow { pattern, tools, models })
        })
    })
}

/// Returns the most specific pattern that matches a model's id.
///
/// Ids are paths: the last part names the model, or else a folder above it does.
pub(super) fn find(id: &str) -> Option<DialectRow> {
    let id = id.to_ascii_lowercase();
    let names = id.rsplit(['/', '\\']).filter(|name| name.len() <= MAX_NAME_BYTES);
    let best = |name| rows().filter(|row| fits(row.pattern, name)).max_by_key(DialectRow::rank);
    names.take(8).find_map(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialects::dialect::{ThinkingDialect, ToolDialect};

    #[test]
    fn every_pattern_is_there_once_and_its_dialects_exist() {
        let patterns: Vec<_> = rows().map(|row| row.pattern).collect();
        assert!(patterns.len() > 150);
        for (at, pattern) in patterns.iter().enumerate() {
            assert_eq!(*pattern, pattern.to_ascii_lowercase());
            assert!(!patterns[..at].contains(pattern), "{pattern} is there twice");
        }
        for DialectRow { pattern, tools, models } in rows() {
            let thinking = models.thinking;
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
