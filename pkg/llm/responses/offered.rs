//! The tools offered in a request, as its response repeats them.

use super::{
    extras::{self, CUSTOM},
    items::{self, OutputItemKind},
};
use crate::decode::{
    JsonEntries,
    lax_json::{list, text},
};
use forgeline_types::Text;

/// Maximum number of offered tools that are remembered; if there are more, every call is for the agent.
const MAX_TOOLS: usize = 4096;

/// The names of the offered tools with plain text arguments; `None` if the server does not repeat the tools.
#[derive(Debug, Default)]
pub(super) struct PlainTextTools(Option<Vec<Text>>);

impl PlainTextTools {
    /// Reads the tools of a response that begins.
    pub(super) fn read_tools(&mut self, response: &JsonEntries<'_>) {
        let tools = list(response.get("tools"));
        if tools.is_empty() || tools.len() > MAX_TOOLS {
            return;
        }
        let tools = tools.into_iter().map(|raw| JsonEntries::from_raw(Some(raw)));
        let custom = tools.flat_map(|tool| {
            // A namespace contains tools of its own.
            let inner = list(tool.get("tools")).into_iter();
            let inner = inner.map(|raw| JsonEntries::from_raw(Some(raw))).map(|tool| named(&tool));
            [named(&tool)].into_iter().chain(inner.collect::<Vec<_>>()).flatten()
        });
        self.0 = Some(custom.collect());
    }

    /// Returns the kind of an item. A call with plain text arguments for a tool that the request did not offer is the server's:
    /// xAI reports its own tools this way.
    pub(super) fn kind(&self, item: &JsonEntries<'_>) -> OutputItemKind {
        let word = item.text("type");
        let name = item.text("name");
        let is_foreign = || self.0.as_ref().is_some_and(|known| !known.contains(&name));
        let is_server_s = word == CUSTOM
            && (is_xai_s(&item.text("call_id"))
                || is_xai_s(&item.text("id"))
                || (!name.is_empty() && is_foreign()));
        if is_server_s {
            OutputItemKind::Other
        } else if extras::is_own_search(item) {
            OutputItemKind::search_call()
        } else {
            items::kind(&word)
        }
    }
}

/// Returns `true` for the id of a call of xAI's own tools, or of such a call's item.
pub(super) fn is_xai_s(id: &str) -> bool {
    id.starts_with("xs_call_") || (id.starts_with("ctc_") && id.contains("_xs_call_"))
}

fn named(tool: &JsonEntries<'_>) -> Option<Text> {
    let name = text(tool.get("name"));
    (tool.text("type") == "custom" && !name.is_empty()).then_some(name)
}
