//! The assembler of answers.

use std::borrow::Borrow;

use super::{
    AgentEvent, Completion, ErrorEvent, Json, MessageContentEvent, Part, ProviderItem, Signature,
    ThinkingContentEvent, TokenUsageEvent, ToolCall, ToolCallContentEvent, ToolCallEndEvent,
    ToolCallStartEvent,
};

/// Joins events back into a [`Completion`].
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, MessageContentEvent, CompletionBuilder};
///
/// let events = [
///     AgentEvent::MessageStart,
///     AgentEvent::MessageContent(MessageContentEvent::new("Hel")),
///     AgentEvent::MessageContent(MessageContentEvent::new("lo")),
///     AgentEvent::MessageEnd,
/// ];
/// assert_eq!(CompletionBuilder::from_events(&events).text, "Hello");
/// ```
#[derive(Debug, Default)]
pub struct CompletionBuilder {
    #[doc(hidden)]
    pub completion: Completion,
    #[doc(hidden)]
    pub keep: KeptContent,
}

/// The content kept in addition to the facts about an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeptContent {
    /// No content: memory does not grow with the answer.
    Facts,
    /// The texts and calls.
    #[default]
    Content,
    /// The texts and calls, and the parts in order.
    Parts,
    /// Like `Parts`, but the text of the parts is exactly what the model wrote, calls included.
    Verbatim,
}

impl CompletionBuilder {
    /// Joins all `events`.
    ///
    /// Facts that events do not carry keep their defaults: raw values, the response id, server
    /// names. `arguments_raw` is the joined JSON text.
    pub fn from_events<E: Borrow<AgentEvent>>(events: impl IntoIterator<Item = E>) -> Completion {
        let mut builder = Self::default();
        for event in events {
            builder.push(event.borrow());
        }
        builder.finish()
    }

    #[doc(hidden)]
    pub fn keeping(keep: KeptContent) -> Self {
        Self { keep, ..Self::default() }
    }

    /// Adds one event.
    pub fn push(&mut self, event: &AgentEvent) {
        if let AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) = event {
            self.thinking(content);
        } else if let AgentEvent::MessageContent(MessageContentEvent { content, refusal, .. }) =
            event
        {
            self.message(content, *refusal);
        } else if let AgentEvent::ToolCallStart(ToolCallStartEvent {
            index,
            call_id: id,
            tool_name,
            ..
        }) = event
        {
            let mut call = ToolCall::pending(*index, id.clone());
            call.name = tool_name.clone().unwrap_or_default();
            self.completion.tool_calls.push(call);
        } else if let AgentEvent::ToolCallContent(ToolCallContentEvent {
            index, arguments, ..
        }) = event
        {
            if let Some(call) = self.call(*index) {
                call.arguments_raw.push_str(arguments);
            }
        } else if let AgentEvent::ToolCallEnd(ToolCallEndEvent {
            index,
            tool_name,
            outcome,
            repairs,
            ..
        }) = event
        {
            if let Some(call) = self.call(*index) {
                call.name = tool_name.clone().unwrap_or_default();
                call.outcome = outcome.clone();
                call.repairs.clone_from(repairs);
                let text = call.arguments_raw.as_str();
                call.arguments = Json::parse(if is_absent(text) { "{}" } else { text }).ok();
            }
        } else if let AgentEvent::Error(ErrorEvent { error, .. }) = event {
            self.completion.error = Some(error.clone());
        } else if let AgentEvent::TokenUsage(TokenUsageEvent { usage, .. }) = event {
            self.completion.usage.get_or_insert_default().merge(usage);
        } else if let AgentEvent::ProviderItem(item) = event {
            self.item(item);
        }
    }

    /// Returns the answer assembled from the events.
    #[must_use]
    pub fn finish(mut self) -> Completion {
        let Completion { parts, tool_calls, .. } = &mut self.completion;
        parts.retain_mut(|part| {
            let Part::ToolCall(place) = part else { return true };
            let at = tool_calls.binary_search_by_key(&place.index, |call| call.index);
            let call = at.ok().and_then(|at| tool_calls.get_mut(at));
            call.is_some_and(|call| {
                call.signature = place.signature.take();
                *place = call.clone();
                true
            })
        });
        self.completion
    }

    fn call(&mut self, index: u32) -> Option<&mut ToolCall> {
        self.completion.tool_calls.iter_mut().rev().find(|call| call.index == index)
    }

    /// Adds reasoning.
    #[doc(hidden)]
    pub fn thinking(&mut self, more: &str) {
        if self.keep == KeptContent::Parts {
            self.thinking_part(more);
        }
        if self.keep != KeptContent::Facts {
            self.completion.thinking.push_str(more);
        }
    }

    /// Adds text of the message.
    #[doc(hidden)]
    pub fn message(&mut self, more: &str, refusal: bool) {
        if self.keep == KeptContent::Parts {
            self.text_part(more);
        }
        if self.keep != KeptContent::Facts {
            let Completion { text, refusal: refused, .. } = &mut self.completion;
            if refusal { refused } else { text }.push_str(more);
        }
    }

    /// Adds text to the parts as it arrived, before its calls are extracted.
    #[doc(hidden)]
    pub fn verbatim(&mut self, more: &str, is_thinking: bool) {
        if is_thinking {
            self.thinking_part(more);
        } else {
            self.text_part(more);
        }
    }

    /// Adds what the model wrote around its reasoning to the parts.
    #[doc(hidden)]
    pub fn framing(&mut self, more: &str) {
        match self.completion.parts.last_mut() {
            _ if more.is_empty() => {}
            Some(Part::Framing { text }) => text.push_str(more),
            _ => self.completion.parts.push(Part::Framing { text: more.to_owned() }),
        }
    }

    /// Replaces the verbatim text of the parts, which includes everything after a cut, by the text and calls read from it.
    #[doc(hidden)]
    pub fn forget_verbatim(&mut self) {
        let Completion { parts, thinking, text, tool_calls, .. } = &mut self.completion;
        let of_text = |part: &Part| {
            matches!(
                part,
                Part::Text { .. }
                    | Part::Thinking { signature: None, .. }
                    | Part::Framing { .. }
                    | Part::ToolCall(_)
            )
        };
        parts.retain(|part| !of_text(part));
        let (text, thinking) = (text.clone(), thinking.clone());
        parts.extend(
            (!thinking.is_empty()).then_some(Part::Thinking { text: thinking, signature: None }),
        );
        parts.extend((!text.is_empty()).then_some(Part::Text { text }));
        parts.extend(
            tool_calls.iter().map(|call| Part::ToolCall(ToolCall::pending(call.index, ""))),
        );
    }

    fn thinking_part(&mut self, more: &str) {
        match self.completion.parts.last_mut() {
            _ if more.is_empty() => {}
            Some(Part::Thinking { text, signature: None }) => text.push_str(more),
            _ => {
                let text = more.to_owned();
                self.completion.parts.push(Part::Thinking { text, signature: None });
            }
        }
    }

    fn text_part(&mut self, more: &str) {
        match self.completion.parts.last_mut() {
            _ if more.is_empty() => {}
            Some(Part::Text { text }) => text.push_str(more),
            _ => {
                // Most answers are one text: room for four parts would be a kilobyte.
                if self.completion.parts.is_empty() {
                    self.completion.parts.reserve_exact(1);
                }
                self.completion.parts.push(Part::Text { text: more.to_owned() });
            }
        }
    }

    fn keeps_parts(&self) -> bool {
        matches!(self.keep, KeptContent::Parts | KeptContent::Verbatim)
    }

    /// Marks the place of call `index` among the parts.
    #[doc(hidden)]
    pub fn place_call(&mut self, index: u32) {
        if self.keeps_parts() {
            self.completion.parts.push(Part::ToolCall(ToolCall::pending(index, "")));
        }
    }

    /// Signs call `index`, whose place is already marked; the first signature counts.
    #[doc(hidden)]
    pub fn sign_call(&mut self, index: u32, proof: &Signature) {
        let mut calls = self
            .completion
            .parts
            .iter_mut()
            .rev()
            .filter_map(|part| if let Part::ToolCall(call) = part { Some(call) } else { None });
        if let Some(call) = calls.find(|call| call.index == index) {
            call.signature.get_or_insert_with(|| proof.clone());
        }
    }

    /// Adds a call that ended, keeping the calls in order of their index.
    #[doc(hidden)]
    pub fn keep_call(&mut self, call: ToolCall) {
        if self.keep != KeptContent::Facts {
            let calls = &mut self.completion.tool_calls;
            let at = calls.partition_point(|known| known.index < call.index);
            calls.insert(at, call);
        }
    }

    /// Adds the provider's signature of the reasoning or of the call that was added last.
    #[doc(hidden)]
    pub fn signature(&mut self, proof: Signature) {
        if !self.keeps_parts() {
            return;
        }
        if let Some(
            Part::Thinking { signature: known @ None, .. }
            | Part::ToolCall(ToolCall { signature: known @ None, .. }),
        ) = self.completion.parts.iter_mut().rfind(|part| !matches!(part, Part::Framing { .. }))
        {
            *known = Some(proof);
        } else {
            let (text, signature) = (String::new(), Some(proof));
            self.completion.parts.push(Part::Thinking { text, signature });
        }
    }

    fn item(&mut self, item: &ProviderItem) {
        if self.keeps_parts() && !item.is_unknown_event() {
            self.completion.parts.push(Part::ProviderItem(item.clone()));
        }
    }
}

/// Returns `true` if `arguments` mean that there are none, which is read as `{}`.
pub fn is_absent(arguments: &str) -> bool {
    matches!(arguments.trim(), "" | "null" | "\"null\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallOutcome, Text};

    fn call(index: u32, id: &str, arguments: &[&str]) -> Vec<AgentEvent> {
        let tool_name = Some(Text::from("f"));
        let start = AgentEvent::ToolCallStart(
            ToolCallStartEvent::new(index, id).tool_name(tool_name.clone()),
        );
        let pieces = arguments.iter().map(|piece| {
            AgentEvent::ToolCallContent(ToolCallContentEvent::new(index, *piece, *piece))
        });
        let outcome = CallOutcome::Complete;
        let end =
            AgentEvent::ToolCallEnd(ToolCallEndEvent::new(index, outcome).tool_name(tool_name));
        [start].into_iter().chain(pieces).chain([end]).collect()
    }

    #[test]
    fn absent_and_null_arguments_are_an_empty_object() {
        #[rustfmt::skip]
        let cases: [(&[&str], Option<&str>); 6] = [
            (&[],                  Some("{}")),
            (&[" "],               Some("{}")),
            (&["nu", "ll"],        Some("{}")),
            (&["\"nu", "ll\" "],   Some("{}")),
            (&["{\"a\":", "1}"],   Some("{\"a\":1}")),
            (&["{\"a\":"],         None),
        ];
        for (pieces, want) in cases {
            let completion = CompletionBuilder::from_events(call(0, "a", pieces));
            let [call] = completion.tool_calls.as_slice() else { panic!("{pieces:?}") };
            assert_eq!(call.arguments.as_ref().map(Json::as_str), want, "{pieces:?}");
            assert_eq!(call.arguments_raw, pieces.concat());
        }
    }

    /// Every response of a run numbers its calls from 0.
    #[test]
    fn events_of_a_reused_index_belong_to_the_last_call_that_began() {
        let events = [call(0, "a", &["{\"a\":1}"]), call(0, "b", &["{\"b\"", ":2}"])].concat();
        let completion = CompletionBuilder::from_events(&events);
        let calls = completion.tool_calls.iter();
        let calls: Vec<_> = calls.map(|call| (&*call.id, call.arguments_raw.as_str())).collect();
        assert_eq!(calls, [("a", "{\"a\":1}"), ("b", "{\"b\":2}")]);
    }
}
