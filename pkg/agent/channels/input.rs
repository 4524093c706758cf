//! Inputs to a started agent.

use crate::run::RunInput;
use forgeline_types::Message;

/// An input to a started agent; see [`InputSender::send`](crate::channels::InputSender::send).
///
/// # Examples
///
/// ```
/// use forgeline::agent::{Caller, RunInput, channels::Input};
///
/// let input = Input::from(RunInput::from("Hi").caller(Caller::new("ann")));
/// assert!(matches!(input, Input::User(_)));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Input {
    /// A user message, which the agent answers. A message that arrives during a run waits in order.
    User(Box<RunInput>),
    /// A message for the current run, delivered after the calls in progress or, with `now`, at once; see [`Steering`](crate::steering::Steering). Between runs, it
    /// is an ordinary user message.
    #[non_exhaustive]
    Steer {
        /// The message.
        message: Message,
        /// `true` to cut off the answer in progress.
        now: bool,
    },
    /// A message for the current run, delivered when the run would end. Between runs, it is an ordinary user message.
    #[non_exhaustive]
    FollowUp {
        /// The message.
        message: Message,
    },
    /// A cancellation, which ends the current run at once; before it has begun, the run of the inputs sent before. Later inputs are served as usual.
    /// See [`CancelSender`](crate::channels::CancelSender).
    Cancel,
}

impl Input {
    /// Returns a message for the current run, delivered after the calls in progress; see [`Steer`](Self::Steer).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::agent::channels::Input;
    ///
    /// assert!(matches!(Input::steer("Shorter, please."), Input::Steer { now: false, .. }));
    /// assert!(matches!(Input::steer_now("Stop that."), Input::Steer { now: true, .. }));
    /// assert!(matches!(Input::follow_up("And then?"), Input::FollowUp { .. }));
    /// ```
    pub fn steer(message: impl Into<Message>) -> Self {
        Self::Steer { message: message.into(), now: false }
    }

    /// Returns a message that cuts off the answer in progress; see [`Steer`](Self::Steer).
    pub fn steer_now(message: impl Into<Message>) -> Self {
        Self::Steer { message: message.into(), now: true }
    }

    /// Returns a message that is delivered when the run would end; see [`FollowUp`](Self::FollowUp).
    pub fn follow_up(message: impl Into<Message>) -> Self {
        Self::FollowUp { message: message.into() }
    }
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
