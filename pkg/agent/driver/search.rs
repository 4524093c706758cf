//! The search for tools: its result, and what it loads.

use std::fmt::Write as _;

use super::{calls::Site, result::read};
use crate::{
    agent::{
        feedback,
        prompts::line_of,
        state::{RunState, ToolEnd},
        tools::{Searched, TOOL_SEARCH, ToolOutput, read_arguments},
    },
    llm::ToolSpec,
    types::{Json, Text, slice},
};

/// Most bytes of a description among the tools that were found; the model gets the whole one with the next request.
const MAX_SHOWN_BYTES: usize = 300;

impl Site<'_> {
    /// Returns the end of a call that searches for tools; `None` where its tool is another.
    pub(super) fn search(&self, name: &str, arguments: &Json, state: &RunState) -> Option<ToolEnd> {
        let index = self.parts.index.as_ref().filter(|_| name == TOOL_SEARCH)?;
        let Self { parts, native, indirect, .. } = *self;
        let most = parts.config.max_result_chars;
        let may_use = |spec: &ToolSpec| parts.is_open(&spec.name, state);
        let result = read_arguments(arguments).map(|Searched { query }| {
            let mut found = index.find(&query, parts.config.tool_search.most, may_use);
            let mut text = told(&found, native, indirect);
            // As many as the result has room for, the best of them.
            while found.len() > 1 && text.chars().count() > most {
                found.pop();
                text = told(&found, native, indirect);
            }
            let names: Box<[Text]> = found.iter().map(|spec| spec.name.clone()).collect();
            (ToolOutput::new(text), names)
        });
        let (output, names) = match result {
            Ok((output, names)) => (Ok(output), names),
            Err(error) => (Err(error), Box::default()),
        };
        let able = parts.provider.info();
        // What the model cannot read is not loaded.
        let is_whole = output.as_ref().is_ok_and(|it| it.content.chars().count() <= most);
        let (result, _) = read(name, output, most, able);
        let found = if is_whole { names } else { Box::default() };
        Some(ToolEnd { found, ..ToolEnd::at_once(result) })
    }
}

/// Returns the result of a search: whole descriptions where the model gets no others, else names and beginnings of them.
fn told(found: &[&ToolSpec], native: bool, indirect: bool) -> String {
    if found.is_empty() {
        return feedback::NOTHING_FOUND.to_owned();
    }
    let mut text = feedback::found(found.len(), indirect);
    for spec in found {
        // Writing to a string cannot fail.
        let _written = if native && !indirect {
            let about = &spec.description;
            let end = about.floor_char_boundary(MAX_SHOWN_BYTES);
            let more = if end < about.len() { "…" } else { "" };
            write!(text, "\n- {}: {}{more}", spec.name, slice(about, ..end).replace('\n', " "))
        } else {
            write!(text, "\n{}", line_of(spec))
        };
    }
    text
}
