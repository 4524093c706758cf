//! Answers in records: what an answer repeats of its message is written once, with the messages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::line::as_read;
use crate::state::{ModelAnswer, StepInput};
use forgeline_types::Message;

/// The parts of an answer that its record leaves out of the input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct AnswerLink {
    /// The position of the message among those of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<usize>,
    /// The message, if it is not among those of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Arc<Message>>,
    /// `true` if the text of the answer is that of the message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_text: bool,
    /// `true` if the calls of the answer are those of the message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_calls: bool,
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
            // The ids of approvals are made of the source of arguments, which a message loses where reading writes it anew.
            let has_calls = !given.calls.is_empty()
                && as_read(&message).is_ok_and(|it| given.calls.iter().eq(it.tool_calls()));
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
            let message = Some(message);
            answer = Some(AnswerLink { at: None, message, has_text, has_calls });
            return Self { input: written.unwrap_or_default(), answer };
        }
        // An input that cannot be serialized is found to be missing when the journal is read.
        Self { input: to_raw_value(&input).unwrap_or_default(), answer }
    }

    /// Returns the link of the answer in a record with these messages.
    pub(crate) fn link(self, messages: &[Arc<Message>]) -> (Box<RawValue>, Option<AnswerLink>) {
        let Self { input, mut answer } = self;
        if let Some(AnswerLink { at, message, .. }) = &mut answer {
            let is_it = |added| message.as_ref().is_some_and(|whole| Arc::ptr_eq(added, whole));
            *at = messages.iter().position(is_it);
            message.take_if(|_| at.is_some());
        }
        (input, answer)
    }
}

impl AnswerLink {
    /// Adds the parts that were left out to the input that was read; returns `None` if they do not fit.
    pub(super) fn restore(self, input: &mut StepInput, messages: &[Arc<Message>]) -> Option<()> {
        let StepInput::Answered(_, answer) = input else { return None };
        let message = match self.at {
            Some(at) => Arc::clone(messages.get(at)?),
            None => self.message?,
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
