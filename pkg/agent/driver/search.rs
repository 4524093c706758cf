//! The search for tools: its result, and the tools that it loads.

use std::fmt::Write as _;

use super::{calls::CallSite, result::read_result};
use crate::{
    prompts::{feedback, line_of},
    state::{RunState, ToolEnd},
    tools::{TOOL_SEARCH, ToolOutput, ToolSearchArguments, read_arguments},
};
use forgeline_json::slice;
use forgeline_llm::ToolSpec;
use forgeline_types::{Json, Text};

/// Maximum bytes of a found tool's description in the result; the model gets the whole description with the next request.
const MAX_SHOWN_BYTES: usize = 300;

impl CallSite<'_> {
    /// Returns the end of a call that searches for tools; `None` when the call is of another tool.
    pub(super) fn search(
        &self,
        tool_name: &str,
        arguments: &Json,
        state: &RunState,
    ) -> Option<ToolEnd> {
        let index = self.parts.index.as_ref().filter(|_| tool_name == TOOL_SEARCH)?;
        let Self { parts, native, indirect, .. } = *self;
        let most = parts.config.max_result_chars;
        let may_use = |spec: &ToolSpec| parts.is_open(&spec.name, state);
        let result = read_arguments(arguments).map(|ToolSearchArguments { query }| {
            let mut found = index.find(&query, parts.config.tool_search.most, may_use);
            let mut text = told(&found, native, indirect);
            // Keep the best tools that fit into the result.
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
        // Tools that the model cannot read about are not loaded.
        let is_whole = output.as_ref().is_ok_and(|it| it.content.chars().count() <= most);
        let (result, _) = read_result(tool_name, output, most, able);
        let found = if is_whole { names } else { Box::default() };
        Some(ToolEnd { found, ..ToolEnd::at_once(result) })
    }
}

/// Returns the result of a search: whole descriptions where the model gets no others, otherwise the names and the beginnings of descriptions.
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
