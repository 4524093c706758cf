//! The events of one call.

use std::mem;

use forgeline_types::{
    AgentEvent, CallOutcome, Json, Repair, Text, ToolCall, ToolCallContentEvent, ToolCallEndEvent,
    ToolCallStartEvent,
};

/// The number of bytes of the body for which the start waits for a name.
const MAX_NAME_WAIT_BYTES: usize = 512;

/// Maximum length of a tool's name, in bytes. The name is sent back in the call, its result and the feedback on it.
const MAX_NAME_BYTES: usize = 256;
/// The fault of a call whose name is too long.
const LONG_NAME: &str = "the name of the tool is longer than 256 bytes";

/// Maximum length of a call's id, in bytes; a longer one is ignored.
const MAX_ID_BYTES: usize = 1024;

/// The events of one call: one start, the deltas, one end.
#[derive(Debug)]
pub struct OpenCall {
    call: ToolCall,
    start: CallStart,
    /// Text that waits for the start or for the rest of its chunk.
    content: Text,
    arguments: Text,
    /// The JSON text of the arguments so far, where it differs from the source.
    json: String,
    keeps_content: bool,
    /// The reason why the call cannot run, if one is already known.
    fault: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallStart {
    /// The name is missing after this number of bytes of the body.
    Waiting(usize),
    Sent,
}

impl OpenCall {
    pub(crate) fn new(index: u32, keeps_content: bool) -> Self {
        Self {
            call: ToolCall::pending(index, Text::new()),
            start: CallStart::Waiting(0),
            content: Text::new(),
            arguments: Text::new(),
            json: String::new(),
            keeps_content,
            fault: None,
        }
    }

    pub(crate) fn index(&self) -> u32 {
        self.call.index
    }

    /// Sets the model's id of the call. A start that was already emitted keeps its own id.
    #[doc(hidden)]
    pub fn id(&mut self, id: Text) {
        if !id.is_empty() && id.len() <= MAX_ID_BYTES {
            self.call.id = id;
        }
    }

    #[doc(hidden)]
    pub fn server(&mut self, name: &str) {
        self.call.server_name = Some(name.into());
    }

    /// Marks the call as one that the provider runs itself.
    pub(crate) fn hosted(&mut self) {
        self.call.hosted = true;
    }

    /// Marks the call as made through another tool.
    pub(crate) fn indirect(&mut self) {
        self.call.indirect = true;
    }

    /// Sets the tool's name and emits the start. A name that is too long counts as missing.
    #[doc(hidden)]
    pub fn name(&mut self, name: &str, emit: &mut impl FnMut(AgentEvent)) {
        if name.len() > MAX_NAME_BYTES {
            self.fault = Some(LONG_NAME);
        }
        if name.is_empty() || self.fault.is_some() {
            return;
        }
        self.call.name = name.into();
        self.start(emit);
    }

    /// Adds a piece of the body.
    #[doc(hidden)]
    pub fn body(&mut self, text: &str, emit: &mut impl FnMut(AgentEvent)) {
        self.content.push_str(text);
        if let CallStart::Waiting(bytes) = &mut self.start {
            *bytes += text.len();
            if *bytes >= MAX_NAME_WAIT_BYTES {
                self.start(emit);
            }
        }
    }

    /// Adds a piece of the arguments' JSON text.
    #[doc(hidden)]
    pub fn arguments(&mut self, json: &str) {
        self.arguments.push_str(json);
    }

    /// Adds a piece of the arguments' source text.
    #[doc(hidden)]
    pub fn source(&mut self, text: &str) {
        if self.keeps_content {
            self.call.arguments_raw.push_str(text);
        }
    }

    /// Returns the name and the arguments so far; `None` if they are not JSON, or not kept.
    #[doc(hidden)]
    #[must_use]
    pub fn so_far(&self) -> Option<(&str, serde_json::Value)> {
        let json = if self.arguments.is_empty() {
            serde_json::from_str(&self.json)
        } else {
            serde_json::from_str(&[&*self.json, &*self.arguments].concat())
        };
        Some((self.call.name.as_str(), json.ok()?))
    }

    /// Emits the start, unless it has already been emitted.
    #[doc(hidden)]
    pub fn start(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        if mem::replace(&mut self.start, CallStart::Sent) == CallStart::Sent {
            return;
        }
        let call = &mut self.call;
        if call.id.is_empty() {
            call.id = format!("call_{}", call.index).into();
        }
        let (index, id, tool_name) = (call.index, call.id.clone(), self.tool_name());
        emit(AgentEvent::ToolCallStart(ToolCallStartEvent::new(index, id).tool_name(tool_name)));
    }

    fn tool_name(&self) -> Option<Text> {
        (!self.call.name.is_empty()).then(|| self.call.name.clone())
    }

    /// Emits the pending text, once the start has been emitted.
    #[doc(hidden)]
    pub fn flush(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        if self.start != CallStart::Sent || (self.content.is_empty() && self.arguments.is_empty()) {
            return;
        }
        let content = mem::take(&mut self.content);
        let arguments = mem::take(&mut self.arguments);
        if self.keeps_content {
            self.json.push_str(&arguments);
        }
        emit(AgentEvent::ToolCallContent(ToolCallContentEvent::new(
            self.call.index,
            content,
            arguments,
        )));
    }

    /// Ends the call and returns it for the completion. `absent` means that the call has no
    /// arguments.
    #[doc(hidden)]
    pub fn end(
        mut self,
        mut outcome: CallOutcome,
        repairs: Vec<Repair>,
        absent: bool,
        emit: &mut impl FnMut(AgentEvent),
    ) -> ToolCall {
        self.start(emit);
        self.flush(emit);
        let tool_name = self.tool_name();
        let mut call = self.call;
        if let Some(reason) = self.fault {
            outcome = CallOutcome::malformed(reason, 0);
        }
        if outcome == CallOutcome::Complete && call.name.is_empty() {
            outcome = CallOutcome::malformed("the call names no tool", 0);
        }
        if self.keeps_content && outcome == CallOutcome::Complete {
            call.arguments = Json::parse(if absent { "{}" } else { &self.json }).ok();
            if call.arguments.is_none() {
                outcome = CallOutcome::malformed("the arguments are not JSON", 0);
            }
        }
        call.outcome = outcome.clone();
        call.repairs.clone_from(&repairs);
        emit(AgentEvent::ToolCallEnd(
            ToolCallEndEvent::new(call.index, outcome).tool_name(tool_name).repairs(repairs),
        ));
        call
    }
}
