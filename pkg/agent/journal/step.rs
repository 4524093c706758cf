//! The steps that a journal records, for those who store it.

use serde::{
    Deserialize,
    de::{Deserializer, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{state::StepInput, steering::UserMessage};
use forgeline_types::{Message, Text};

/// A step of a conversation that a journal records.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JournalStep {
    /// A run began.
    #[non_exhaustive]
    RunBegan {
        /// The id of the run.
        run_id: Text,
    },
    /// The run took an input.
    #[non_exhaustive]
    InputTaken {
        /// The input.
        input: JournaledInput,
        /// The number of messages that the input added to the conversation.
        messages: usize,
        /// `true` for a line that contains these messages; `false` for one without them, or an entry to be stored.
        is_whole: bool,
        /// The number of events that the run had emitted before.
        events: u64,
    },
    /// Messages that no run added were put at the end of the conversation.
    #[non_exhaustive]
    MessagesGiven {
        /// The number of messages.
        messages: usize,
    },
    /// The conversation was cleared.
    Cleared,
    /// A run, and those after it, were removed from the conversation.
    #[non_exhaustive]
    RunRewound {
        /// The id of the run.
        run_id: Text,
    },
}

/// An input of a run, as far as it concerns those who store its journal.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JournaledInput {
    /// An answer of the model ended.
    #[non_exhaustive]
    Answer {
        /// The turn of the answer.
        turn: u32,
    },
    /// The user sent a message for the model to read next.
    Steer(Box<Message>),
    /// The user sent a message for the model to read when the run would end.
    FollowUp(Box<Message>),
    /// A request for approval, or a call at the client, was answered.
    #[non_exhaustive]
    RequestAnswered {
        /// The id of the request.
        request_id: Text,
    },
    /// Something else.
    Other,
}

impl JournaledInput {
    /// Creates the answer of the provider in this turn.
    #[must_use]
    pub fn answer(turn: u32) -> Self {
        Self::Answer { turn }
    }
}

impl From<&StepInput> for JournaledInput {
    fn from(input: &StepInput) -> Self {
        match input {
            StepInput::Answered(answer, _) => Self::Answer { turn: answer.turn },
            StepInput::Said(UserMessage::Steer { message, .. }) => {
                Self::Steer(Box::new(message.clone()))
            }
            StepInput::Said(UserMessage::FollowUp { message }) => {
                Self::FollowUp(Box::new(message.clone()))
            }
            StepInput::Decided(_, answer) => {
                Self::RequestAnswered { request_id: answer.approval_id.clone() }
            }
            StepInput::Returned(_, call) => {
                Self::RequestAnswered { request_id: call.client_call_id.clone() }
            }
            StepInput::Prepared(_)
            | StepInput::Unprepared(_)
            | StepInput::Fitted(..)
            | StepInput::Outgrown(..)
            | StepInput::Summed(..)
            | StepInput::Called(..)
            | StepInput::ContentRefused(..)
            | StepInput::Ran(..)
            | StepInput::Said(UserMessage::Leave)
            | StepInput::Resumed
            | StepInput::Cancelled(_) => Self::Other,
        }
    }
}

impl JournalStep {
    /// Reads the step of a line.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let LineView { record } = serde_json::from_str(line).ok()?;
        if let Ok(name) = serde_json::from_str::<&str>(record.get()) {
            return (name == "cleared").then_some(Self::Cleared);
        }
        Some(match serde_json::from_str(record.get()).ok()? {
            RecordView::Began { state } => Self::RunBegan { run_id: state.outcome.run_id },
            RecordView::Took { input, messages, events } => {
                let input = InputView::read(input);
                let MessageCount { count: messages, is_whole } = messages;
                Self::InputTaken { input, messages, is_whole, events }
            }
            RecordView::Given { messages } => Self::MessagesGiven { messages: messages.count },
            RecordView::Rewound { run } => Self::RunRewound { run_id: run },
        })
    }
}

/// The parts of a line that a step consists of.
#[derive(Deserialize)]
struct LineView<'l> {
    #[serde(borrow)]
    record: &'l RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordView<'l> {
    Began {
        state: StateView,
    },
    Took {
        #[serde(borrow)]
        input: &'l RawValue,
        messages: MessageCount,
        #[serde(default)]
        events: u64,
    },
    Given {
        messages: MessageCount,
    },
    Rewound {
        run: Text,
    },
}

#[derive(Deserialize)]
struct StateView {
    outcome: OutcomeView,
}

#[derive(Deserialize)]
struct OutcomeView {
    run_id: Text,
}

/// An input: an object with one member, or the name of one without content.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
struct InputView {
    answered: Option<(AnswerView, IgnoredAny)>,
    said: Option<UserMessage>,
    decided: Option<(IgnoredAny, RequestView)>,
    returned: Option<(IgnoredAny, RequestView)>,
}

#[derive(Deserialize)]
struct AnswerView {
    turn: u32,
}

#[derive(Deserialize)]
struct RequestView {
    #[serde(alias = "approval_id", alias = "client_call_id")]
    id: Text,
}

impl InputView {
    fn read(input: &RawValue) -> JournaledInput {
        let Ok(view) = serde_json::from_str::<Self>(input.get()) else {
            return JournaledInput::Other;
        };
        if let Some((AnswerView { turn }, _)) = view.answered {
            return JournaledInput::Answer { turn };
        }
        if let Some((_, RequestView { id })) = view.decided.or(view.returned) {
            return JournaledInput::RequestAnswered { request_id: id };
        }
        match view.said {
            Some(UserMessage::Steer { message, .. }) => JournaledInput::Steer(Box::new(message)),
            Some(UserMessage::FollowUp { message }) => JournaledInput::FollowUp(Box::new(message)),
            Some(UserMessage::Leave) | None => JournaledInput::Other,
        }
    }
}

/// The number of messages of a line: a number, or a list of that length.
struct MessageCount {
    count: usize,
    is_whole: bool,
}

impl<'de> Deserialize<'de> for MessageCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;

        impl<'de> Visitor<'de> for CountVisitor {
            type Value = MessageCount;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a number of messages, or a list of them")
            }

            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<MessageCount, E> {
                let count = usize::try_from(count).map_err(E::custom)?;
                Ok(MessageCount { count, is_whole: false })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<MessageCount, A::Error> {
                let mut count = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(MessageCount { count, is_whole: true })
            }
        }

        deserializer.deserialize_any(CountVisitor)
    }
}
