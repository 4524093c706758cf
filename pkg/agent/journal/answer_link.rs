//! Answers in records: what an answer repeats of its message is written once, with the messages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::state::{ModelAnswer, StepInput};
use forgeline_types::Message;

/// The parts of an answer that its record leaves out of the input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct AnswerLink {
    message: MessageLink,
    /// `true` if the text of the answer is that of the message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_text: bool,
    /// `true` if the calls of the answer are those of the message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_calls: bool,
}

/// The message of an answer: its position among the messages of the record, or the message itself if it is not among them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum MessageLink {
    At(usize),
    Whole(Arc<Message>),
}

/// An input as a record contains it.
#[derive(Debug)]
pub(crate) struct InputRecord {
    pub(crate) input: Box<RawValue>,
    answer: Option<AnswerLink>,
}

impl InputRecord {
    /// Returns the record of an input, before the run takes it.
    pub(crate) fn new(input: &mut StepInput) -> Self {
        let mut answer = None;
        if let StepInput::Answered(_, given) = input
            && let Some(message) = given.message.take()
        {
            let has_text = given.text == message.text();
            let has_calls = given.calls.iter().eq(message.tool_calls());
            let text = if has_text { std::mem::take(&mut given.text) } else { String::new() };
            let calls = if has_calls { std::mem::take(&mut given.calls) } else { Vec::new() };
            let written = to_raw_value(&input);
            if let StepInput::Answered(_, given) = input {
                if has_text {
                    given.text = text;
                }
                if has_calls {
                    given.calls = calls;
                }
                given.message = Some(Arc::clone(&message));
            }
            let message = MessageLink::Whole(message);
            answer = Some(AnswerLink { message, has_text, has_calls });
            return Self { input: written.unwrap_or_default(), answer };
        }
        // An input that cannot be serialized is found to be missing when the journal is read.
        Self { input: to_raw_value(&input).unwrap_or_default(), answer }
    }

    /// Returns the link of the answer in a record with these messages.
    pub(crate) fn link(self, messages: &[Arc<Message>]) -> (Box<RawValue>, Option<AnswerLink>) {
        let Self { input, mut answer } = self;
        if let Some(AnswerLink { message, .. }) = &mut answer
            && let MessageLink::Whole(whole) = message
            && let Some(at) = messages.iter().position(|added| Arc::ptr_eq(added, whole))
        {
            *message = MessageLink::At(at);
        }
        (input, answer)
    }
}

impl AnswerLink {
    /// Adds the parts that were left out to the input that was read; returns `None` if they do not fit.
    pub(super) fn restore(self, input: &mut StepInput, messages: &[Arc<Message>]) -> Option<()> {
        let StepInput::Answered(_, answer) = input else { return None };
        let message = match self.message {
            MessageLink::At(at) => Arc::clone(messages.get(at)?),
            MessageLink::Whole(message) => message,
        };
        let ModelAnswer { text, calls, .. } = &mut **answer;
        if self.has_text {
            *text = message.text();
        }
        if self.has_calls {
            calls.extend(message.tool_calls().cloned());
        }
        answer.message = Some(message);
        Some(())
    }
}
