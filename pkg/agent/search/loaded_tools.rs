//! The tools that a conversation has found.

use std::sync::Arc;

use super::index::ToolIndex;
use forgeline_llm::ToolSpec;
use forgeline_types::{Message, Part, Text, Transcript};

/// Maximum number of tools loaded at the same time; beyond it the older half is unloaded, and has to be found again.
const MAX_LOADED: usize = 64;

/// The tools that a conversation has found or called, in that order.
///
/// They depend only on the conversation, so a resumed run and the next one have the same tools.
#[derive(Debug, Default)]
pub(crate) struct LoadedTools {
    places: Vec<usize>,
    /// The number of messages that were read, and the last of them.
    read: usize,
    last: Option<Arc<Message>>,
}

impl LoadedTools {
    /// Reads the new part of a conversation; returns `true` when the loaded tools have changed.
    pub(crate) fn read_messages(&mut self, index: &ToolIndex, conversation: &Transcript) -> bool {
        let messages = conversation.messages();
        let before = self.read.checked_sub(1).and_then(|at| messages.get(at));
        let goes_on = match (before, &self.last) {
            (Some(message), Some(last)) => Arc::ptr_eq(message, last),
            (None, None) => self.read == 0,
            _ => false,
        };
        let known = if goes_on { std::mem::take(&mut self.places) } else { Vec::new() };
        let (mut places, from) = (known.clone(), if goes_on { self.read } else { 0 });
        let names =
            messages.iter().skip(from).flat_map(|message| &message.parts).flat_map(names_in);
        for place in names.filter_map(|name| index.place_of(name)) {
            if !places.contains(&place) {
                places.push(place);
            }
            if places.len() > MAX_LOADED {
                places.drain(..places.len() - MAX_LOADED / 2);
            }
        }
        (self.read, self.last) = (messages.len(), messages.last().cloned());
        let has_changed = !goes_on || places != known;
        self.places = places;
        has_changed
    }

    /// Returns the descriptions that are offered from the start, followed by those of the loaded
    /// tools that may be used.
    pub(crate) fn behind(
        &self,
        first: &Arc<[ToolSpec]>,
        index: &ToolIndex,
        may_use: impl Fn(&ToolSpec) -> bool,
    ) -> Arc<[ToolSpec]> {
        let loaded = self.places.iter().filter_map(|place| index.at(*place));
        let loaded: Vec<_> = loaded.filter(|spec| may_use(spec)).collect();
        if loaded.is_empty() {
            return Arc::clone(first);
        }
        let deferred = |spec: &ToolSpec| spec.clone().deferred(true);
        first.iter().cloned().chain(loaded.into_iter().map(deferred)).collect()
    }
}

/// Returns the names of the tools that a part of a message found or called.
fn names_in(part: &Part) -> impl Iterator<Item = &Text> {
    let (found, called) = match part {
        Part::ToolResult(result) => (&*result.found, None),
        Part::ToolCall(call) => (&[][..], Some(&call.name)),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::Image { .. }
        | Part::Document { .. }
        | Part::ProviderItem(_) => (&[][..], None),
        Part::Framing { .. } | _ => (&[][..], None),
    };
    found.iter().chain(called)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        search::ToolSearch,
        tools::{Tool, ToolContext, ToolRegistry, tool_fn},
    };
    use forgeline_types::{MessageRole, ToolCall, ToolResult};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    fn index(count: usize) -> ToolIndex {
        let mut tools = ToolRegistry::default();
        for at in 0..count {
            let nothing = |_: ToolContext, _: Nothing| async { "" };
            let tool: Arc<dyn Tool> = Arc::new(tool_fn(format!("t.n{at}"), "Does it.", nothing));
            tools.register(tool).unwrap();
        }
        let all = tools.share_specs();
        ToolIndex::new(&tools, all, &ToolSearch::default())
    }

    fn found(names: impl IntoIterator<Item = usize>) -> Message {
        let names = names.into_iter().map(|at| Text::from(format!("t.n{at}")));
        let result = ToolResult::new("call_0", "tool_search", "").found(names.collect());
        Message::new(MessageRole::Tool, vec![Part::ToolResult(result)])
    }

    fn called(at: usize) -> Message {
        let call = ToolCall::new("call_1", format!("t_n{at}"), json!({}));
        Message::new(MessageRole::Assistant, vec![Part::ToolCall(call)])
    }

    fn names(loaded: &LoadedTools, index: &ToolIndex) -> Vec<String> {
        let specs = loaded.behind(&Arc::from([]), index, |_| true);
        specs.iter().map(|spec| spec.name.to_string()).collect()
    }

    #[test]
    fn what_is_found_or_called_is_loaded_once_and_in_order() {
        let (index, mut loaded) = (index(9), LoadedTools::default());
        let mut conversation = Transcript::from_iter([Message::user("Hi")]);
        assert!(!loaded.read_messages(&index, &conversation));
        conversation.push(found([4, 2]));
        assert!(loaded.read_messages(&index, &conversation));
        assert!(!loaded.read_messages(&index, &conversation));
        conversation.push(called(2));
        assert!(!loaded.read_messages(&index, &conversation), "it is loaded");
        conversation.push(called(7));
        conversation.push(found([1, 4, 99]));
        assert!(loaded.read_messages(&index, &conversation));
        assert_eq!(names(&loaded, &index), ["t.n4", "t.n2", "t.n7", "t.n1"]);

        let mut anew = LoadedTools::default();
        anew.read_messages(&index, &conversation);
        assert_eq!(names(&anew, &index), names(&loaded, &index));
        assert!(
            loaded.read_messages(&index, &Transcript::from_iter([found([3])])),
            "another conversation"
        );
        assert_eq!(names(&loaded, &index), ["t.n3"]);
    }

    #[test]
    fn few_enough_are_loaded_and_what_was_left_out_can_be_found_again() {
        let (index, mut loaded) = (index(200), LoadedTools::default());
        let mut conversation = Transcript::from_iter([found(0..MAX_LOADED)]);
        loaded.read_messages(&index, &conversation);
        assert_eq!(names(&loaded, &index).len(), MAX_LOADED);
        conversation.push(found([100]));
        loaded.read_messages(&index, &conversation);
        let left: Vec<_> = (33..64).chain([100]).map(|at| format!("t.n{at}")).collect();
        assert_eq!(names(&loaded, &index), left);
        conversation.push(found([0]));
        loaded.read_messages(&index, &conversation);
        assert_eq!(names(&loaded, &index).last().unwrap(), "t.n0");
        let mut anew = LoadedTools::default();
        anew.read_messages(&index, &conversation);
        assert_eq!(names(&anew, &index), names(&loaded, &index));
    }
}
