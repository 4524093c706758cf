//! Assignment of deltas to calls: every vendor numbers calls differently, or not at all.

use crate::{
    ToolCallDelta,
    decode::tool_name,
    decode::{CallDelta, CallInput, JsonEntries, says},
};
use forgeline_json::JsonTracker;
use forgeline_types::{Signature, Text};

use super::PROTOCOL;

/// Maximum number of calls in one response. Each delta is looked up among them.
const MAX_CALLS: usize = 1024;

/// The calls of a response so far.
#[derive(Debug, Default)]
pub(super) struct OpenAiCalls(Vec<OpenAiCall>);

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "two facts of a call")]
struct OpenAiCall {
    /// The vendor's index, if it sent one.
    wire_index: Option<u32>,
    id: Text,
    name: Text,
    /// The progress of the arguments of a call without an id, which nothing else separates from the next call.
    arguments: JsonTracker,
    /// `true` once its name has been sent again after complete arguments.
    is_named_again: bool,
    input: CallInput,
    is_signed: bool,
}

impl OpenAiCalls {
    /// Returns `true` if there are more calls than any server sends.
    pub(super) fn is_over_limit(&self) -> bool {
        self.0.len() > MAX_CALLS
    }

    /// Converts one entry of the wire; returns `None` if it adds nothing new.
    pub(super) fn delta(&mut self, entry: CallDelta<'_>) -> Option<ToolCallDelta> {
        let proof = proof(&entry);
        let function = entry.function.0.unwrap_or_default();
        let (id, mut name, mut arguments) = (entry.id.0, function.name.0, function.arguments.0);
        let is_custom = entry.custom.0.is_some();
        if let Some(custom) = entry.custom.0 {
            (name, arguments) = (custom.name.0, custom.input.0);
        }
        let known = self.find(entry.index.0, &id, &name);
        if known.is_none() && id.is_empty() && name.is_empty() && arguments.is_empty() {
            // Some servers send an empty call with every answer.
            return None;
        }
        let mut at = known.unwrap_or(self.0.len());
        if let Some(call) = self.0.get_mut(at).filter(|call| call.is_over(&id)) {
            // A server that repeats names may do so even after the last argument.
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
            self.0.push(OpenAiCall { wire_index: entry.index.0, ..OpenAiCall::default() });
        }
        let is_new = at + 1 == self.0.len() && self.0.last().is_some_and(OpenAiCall::is_blank);
        let call = self.0.get_mut(at)?;
        if is_custom && call.input == CallInput::Json {
            call.input = CallInput::TextAhead;
        }
        if !arguments.is_empty() {
            arguments = call.input.more(arguments);
        }
        let mut delta = ToolCallDelta::new(u32::try_from(at).ok()?).arguments(arguments);
        delta.signature = proof.filter(|_| !std::mem::replace(&mut call.is_signed, true));
        if !id.is_empty() && call.id != id {
            call.id = id.clone();
            delta.id = Some(id);
        }
        if !name.is_empty() && call.name != name {
            delta.name = Some(tool_name(&name));
            call.name = name;
        }
        if call.id.is_empty() {
            call.arguments.push(&delta.arguments);
        }
        let says_something = is_new
            || delta.id.is_some()
            || delta.name.is_some()
            || delta.signature.is_some()
            || !delta.arguments.is_empty();
        says_something.then_some(delta)
    }

    /// Returns `true` if the arguments of a call are passed on unchanged, without being tracked.
    pub(super) fn passes(&self, index: u32) -> bool {
        let call = usize::try_from(index).ok().and_then(|index| self.0.get(index));
        call.is_some_and(|call| !call.id.is_empty() && call.input == CallInput::Json)
    }

    /// Ends the calls whose arguments are plain text.
    pub(super) fn finish(&mut self) -> Vec<ToolCallDelta> {
        let ends = (0..).zip(&mut self.0).map(|(at, call)| (at, call.input.end()));
        let ends = ends.filter(|(_, end)| !end.is_empty());
        ends.map(|(at, end)| ToolCallDelta::new(at).arguments(end)).collect()
    }

    /// Finds the call that an entry continues.
    ///
    /// A new id starts a new call even at an index that is already in use (`OpenRouter` numbers twelve calls
    /// 0). Without index and id, a name starts a call unless the last one still lacks its name.
    fn find(&self, index: Option<u32>, id: &str, name: &str) -> Option<usize> {
        let same_id = |call: &OpenAiCall| id.is_empty() || call.id.is_empty() || call.id == id;
        if index.is_some() {
            let at = self.0.iter().rposition(|call| call.wire_index == index)?;
            if self.0.get(at).is_some_and(same_id) {
                return Some(at);
            }
            // Deltas of calls with the same index may alternate.
            return self.0.iter().rposition(|call| call.wire_index == index && call.id == id);
        }
        if !id.is_empty() {
            return self.0.iter().rposition(|call| call.id == id);
        }
        let last = self.0.last()?;
        (name.is_empty() || last.name.is_empty() || last.name == name).then(|| self.0.len() - 1)
    }
}

/// Returns what must be sent back with a call: Google's signature, or a JSON object of additional members.
fn proof(entry: &CallDelta<'_>) -> Option<Signature> {
    let custom = entry.custom.0.as_ref().map(|_| r#""type":"custom""#.to_owned());
    let extra = entry.extra_content.filter(|raw| says(raw));
    if let Some(proof) = extra.and_then(|raw| google(&JsonEntries::from_raw(Some(raw)))) {
        return Some(Signature::new(PROTOCOL, proof));
    }
    let fields = entry.provider_specific_fields.filter(|raw| says(raw));
    let members = [
        custom,
        extra.map(|raw| format!(r#""extra_content":{raw}"#)),
        fields.map(|raw| format!(r#""provider_specific_fields":{raw}"#)),
    ];
    let members: Vec<_> = members.into_iter().flatten().collect();
    (!members.is_empty()).then(|| Signature::new(PROTOCOL, format!("{{{}}}", members.join(","))))
}

/// Returns Google's signature, if there is nothing else.
fn google(extra: &JsonEntries<'_>) -> Option<Text> {
    let google = JsonEntries::from_raw(extra.get("google"));
    let is_alone = extra.names().eq(["google"]) && google.names().eq(["thought_signature"]);
    google.first_text(&["thought_signature"]).filter(|_| is_alone)
}

impl OpenAiCall {
    /// Returns `true` if an entry with this id may begin another call: neither has an id, and the
    /// arguments so far are complete.
    fn is_over(&self, id: &str) -> bool {
        id.is_empty() && self.id.is_empty() && self.arguments.is_whole()
    }

    fn is_blank(&self) -> bool {
        self.id.is_empty() && self.name.is_empty()
    }
}
