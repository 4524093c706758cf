//! The trait for observers of an agent's runs.

use std::sync::Arc;

use serde_json::Value;

use super::record::{CallRecord, RunRecord, TurnRecord};
use crate::run::RunOutcome;
use forgeline_types::Text;

/// An observer of an agent's runs, which may keep records, count or measure.
///
/// Each method has a default that does nothing. The run itself calls the methods between two of its steps, so an observer must not block:
/// if its work is slow, it should pass a copy to a thread or a channel of its own, and drop the copy when that is full. A panic in an
/// observer affects nothing else: the run continues, and the observer is called again.
///
/// The text of the conversation is contained only in [`RequestSent`], which is made only for an
/// observer that [asks for it](Self::wants_requests), in the [`RunOutcome`] of a run that ended,
/// and in the progress that a tool reports; the records do not contain it.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::{Arc, Mutex};
/// use forgeline::{
///     agent::{
///         Agent,
///         observe::{Observer, TurnRecord},
///         tools::Calculator,
///     },
///     llm::demo::DemoProvider,
/// };
///
/// #[derive(Default)]
/// struct Turns(Mutex<Vec<TurnRecord>>);
///
/// impl Observer for Turns {
///     fn turn_ended(&self, turn: &TurnRecord) {
///         if let Ok(mut turns) = self.0.lock() {
///             turns.push(turn.clone());
///         }
///     }
/// }
///
/// let turns = Arc::new(Turns::default());
/// let builder = Agent::builder(DemoProvider::new()).tool(Calculator);
/// builder.observer(Arc::clone(&turns)).build()?.run("What is 6 * 7?").await?;
///
/// let turns = turns.0.lock().map_err(|_| "an observer has panicked")?;
/// let calls: Vec<_> = turns.iter().map(|turn| turn.calls.len()).collect();
/// assert_eq!(calls, [1, 0], "a call, then the answer");
/// assert!(turns[0].time_to_first_token.is_some());
/// # Ok(())
/// # }
/// ```
pub trait Observer: Send + Sync {
    /// Notifies of a run that starts, or resumes after it was suspended.
    fn run_began(&self, _run: &RunBegan) {}

    /// Returns `true` when [`request_sent`](Self::request_sent) is to be called, for which each request is copied.
    /// Called when a run starts and, if an observer returned `true`, again for each request. Default: `false`.
    fn wants_requests(&self) -> bool {
        false
    }

    /// Notifies of a request that is about to be sent.
    fn request_sent(&self, _request: &RequestSent) {}

    /// Notifies of a call that is about to run.
    fn call_began(&self, _call: &CallBegan) {}

    /// Notifies of the progress that a tool reports while it runs: the name and the data of a
    /// [custom event](forgeline_types::AgentEvent::Custom).
    fn progress(&self, _run_id: &str, _name: &str, _data: &Value) {}

    /// Notifies of a call that has ended, or was not run.
    fn call_ended(&self, _call: &CallRecord) {}

    /// Notifies of a turn whose calls have all ended, also if the turn failed, was cancelled or was dropped.
    fn turn_ended(&self, _turn: &TurnRecord) {}

    /// Notifies of the end of a run; the outcome is `None` when the run was dropped before its end.
    fn run_ended(&self, _run: &RunRecord, _outcome: Option<&RunOutcome>) {}
}

impl<T: Observer + ?Sized> Observer for Arc<T> {
    fn run_began(&self, run: &RunBegan) {
        (**self).run_began(run);
    }

    fn wants_requests(&self) -> bool {
        (**self).wants_requests()
    }

    fn request_sent(&self, request: &RequestSent) {
        (**self).request_sent(request);
    }

    fn call_began(&self, call: &CallBegan) {
        (**self).call_began(call);
    }

    fn progress(&self, run_id: &str, name: &str, data: &Value) {
        (**self).progress(run_id, name, data);
    }

    fn call_ended(&self, call: &CallRecord) {
        (**self).call_ended(call);
    }

    fn turn_ended(&self, turn: &TurnRecord) {
        (**self).turn_ended(turn);
    }

    fn run_ended(&self, run: &RunRecord, outcome: Option<&RunOutcome>) {
        (**self).run_ended(run, outcome);
    }
}

/// A run that starts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunBegan {
    /// The id of the run.
    pub run_id: Text,
    /// The id of the conversation, if the input named it.
    pub conversation: Option<Text>,
    /// The provider's name.
    pub provider: Text,
    /// The model's id.
    pub model: Text,
    /// The number of tools that the agent has.
    pub tools: usize,
    /// Maximum number of model responses in the run, unless its budget allows fewer.
    pub max_turns: u32,
    /// `true` when the run was suspended and resumes.
    pub resumed: bool,
}

/// A request that is about to be sent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RequestSent {
    /// The id of the run.
    pub run_id: Text,
    /// The turn within the run, from 1.
    pub turn: u32,
    /// The model's id.
    pub model: Text,
    /// The number of messages.
    pub messages: usize,
    /// The [`Request`](forgeline_llm::Request) as JSON: the system prompt, messages, tools and parameters. Text
    /// that looks like a key, and values whose names suggest a secret, are replaced by `[key]`; the
    /// provider's keys are not a part of the request. Other text is unchanged.
    pub body: Value,
}

/// A call that is about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallBegan {
    /// The id of the run.
    pub run_id: Text,
    /// The turn within the run, from 1.
    pub turn: u32,
    /// The id of the call.
    pub id: Text,
    /// The tool's name.
    pub tool_name: Text,
}
