//! Inputs to a started agent.

use super::RunInput;
use crate::types::Message;

/// One input to a started agent; see [`InputSender::send`](super::InputSender::send).
///
/// # Examples
///
/// ```
/// use forgeline::agent::{Caller, Input, RunInput};
///
/// let input = Input::from(RunInput::from("Hi").caller(Caller::new("ann")));
/// assert!(matches!(input, Input::User(_)));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Input {
    /// A message of the user, which the agent answers. One that arrives during a run waits in order.
    User(Box<RunInput>),
    /// A message for the run that is going on, after the calls under way or, with `now`, at once; see
    /// [`Steering`](super::Steering). Between runs it is a message as any other.
    Steer {
        /// The message.
        message: Message,
        /// Cuts the answer under way.
        now: bool,
    },
    /// A message for the run that is going on when it would end. Between runs it is a message as any
    /// other.
    FollowUp {
        /// The message.
        message: Message,
    },
    /// Ends the run that is going on, at once; before it began, the one of the inputs sent before.
    /// Later inputs are served as usual. See [`CancelSender`](super::CancelSender).
    Cancel,
}

impl From<RunInput> for Input {
    fn from(input: RunInput) -> Self {
        Self::User(Box::new(input))
    }
}

impl From<Message> for Input {
    fn from(message: Message) -> Self {
        RunInput::from(message).into()
    }
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        RunInput::from(text).into()
    }
}

impl From<String> for Input {
    fn from(text: String) -> Self {
        RunInput::from(text).into()
    }
}
