//! Calls that count only with the name of an offered tool.

use super::ToolCallParser;
use crate::llm::parser::{
    content::{Emit, ParsedContent},
    description::Offered,
};

impl ToolCallParser {
    /// Returns `true` when a call of `form` that begins with `text` counts.
    pub(super) fn counts(&self, form: usize, text: &str) -> bool {
        let offered = self.dialect.compiled().form(form).offered;
        let name = text.split_once([':', '>']).map_or("", |(_, name)| name);
        let name = name.split('{').next().unwrap_or_default();
        offered == Offered::Any || self.tools.counts(name, offered)
    }

    /// Takes an opener of `form` with the name in it, perhaps behind the end of the line before.
    pub(super) fn enter_offered(&mut self, form: usize, offset: u64, out: &mut Emit<'_>) {
        let found = self.scan.found();
        let (line_end, call) = found.split_at(usize::from(found.starts_with('\n')));
        let is_hidden = self.literal.after_all(line_end.as_bytes()).hides_next();
        if is_hidden || !self.counts(form, call) {
            return self.pass_found(out);
        }
        if !line_end.is_empty() {
            out(ParsedContent::Text(line_end));
        }
        self.begin_call(form, offset);
        let found = self.scan.found();
        if let Some(region) = &mut self.region {
            region.pass(found.trim_start_matches('\n'), out);
        }
    }
}
