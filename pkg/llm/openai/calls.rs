//! The call that a delta belongs to: every vendor numbers calls in its own way, or not at all.

use crate::{
    json::JsonTracker,
    llm::{ToolCallDelta, decode::CallDelta, tool_names},
    types::Text,
};

/// Most calls of one response. Each delta is looked up among them.
const MAX_CALLS: usize = 1024;

/// The calls of a response so far.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Call>);

#[derive(Debug, Default)]
struct Call {
    /// The vendor's index, if it sent one.
    wire_index: Option<u32>,
    id: Text,
    name: Text,
    /// The progress of the arguments of a call without id: nothing else tells it from the next.
    arguments: JsonTracker,
    /// `true` once its name came again behind whole arguments.
    is_named_again: bool,
}

impl Calls {
    /// Returns `true` when there are more calls than any server sends.
    pub(super) fn is_over_limit(&self) -> bool {
        self.0.len() > MAX_CALLS
    }

    /// Settles one entry of the wire; `None` when it tells nothing new.
    pub(super) fn delta(&mut self, entry: CallDelta) -> Option<ToolCallDelta> {
        let function = entry.function.0.unwrap_or_default();
        let (id, name) = (entry.id.0, function.name.0);
        let arguments = function.arguments.0;
        let mut at = self.find(entry.index.0, &id, &name).unwrap_or(self.0.len());
        let mut name = name;
        if let Some(call) = self.0.get_mut(at).filter(|call| call.is_over(&id)) {
            // A server that repeats names may do so behind the last argument too.
            call.is_named_again |= !name.is_empty();
            let is_next = call.is_named_again && !arguments.is_empty();
            if is_next || !(name.is_empty() || name == call.name) {
                call.is_named_again = false;
                if name.is_empty() {
                    name = call.name.clone();
                }
                at = self.0.len();
            }
        }
        if at == self.0.len() {
            self.0.push(Call { wire_index: entry.index.0, ..Call::default() });
        }
        let is_new = at + 1 == self.0.len() && self.0.last().is_some_and(Call::is_blank);
        let call = self.0.get_mut(at)?;
        let mut delta = ToolCallDelta::new(u32::try_from(at).ok()?).arguments(arguments);
        if !id.is_empty() && call.id != id {
            call.id = id.clone();
            delta.id = Some(id);
        }
        if !name.is_empty() && call.name != name {
            delta.name = Some(tool_names::decode(&name));
            call.name = name;
        }
        if call.id.is_empty() {
            call.arguments.push(&delta.arguments);
        }
        let says_something =
            is_new || delta.id.is_some() || delta.name.is_some() || !delta.arguments.is_empty();
        says_something.then_some(delta)
    }

    /// Finds the call that an entry continues.
    ///
    /// A new id starts a new call even at an index that was used (OpenRouter numbers twelve calls
    /// 0). Without index and id, a name starts a call unless the last one still lacks its name.
    fn find(&self, index: Option<u32>, id: &str, name: &str) -> Option<usize> {
        let same_id = |call: &Call| id.is_empty() || call.id.is_empty() || call.id == id;
        if index.is_some() {
            let at = self.0.iter().rposition(|call| call.wire_index == index)?;
            if self.0.get(at).is_some_and(same_id) {
                return Some(at);
            }
            // Deltas of calls that share an index may alternate.
            return self.0.iter().rposition(|call| call.wire_index == index && call.id == id);
        }
        if !id.is_empty() {
            return self.0.iter().rposition(|call| call.id == id);
        }
        let last = self.0.last()?;
        (name.is_empty() || last.name.is_empty() || last.name == name).then(|| self.0.len() - 1)
    }
}

impl Call {
    /// Returns `true` when an entry with this id may begin another call: neither has an id, and the
    /// arguments so far are complete.
    fn is_over(&self, id: &str) -> bool {
        id.is_empty() && self.id.is_empty() && self.arguments.is_whole()
    }

    fn is_blank(&self) -> bool {
        self.id.is_empty() && self.name.is_empty()
    }
}
