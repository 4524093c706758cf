//! The trait of those who watch the runs of an agent.

use std::sync::Arc;

use serde_json::Value;

use super::{CallRecord, RunRecord, TurnRecord};
use crate::{agent::RunOutcome, types::Text};

/// Watches the runs of an agent: keeps records, counts, measures.
///
/// Each method has a default that does nothing. They are called by the run itself, between two of its steps, so
/// an observer must not wait: one with slow work hands a copy to a thread or a channel of its own, and drops it
/// when that is full. One that panics takes nothing with it; the run goes on, and it is called again.
///
/// The text of the conversation is in [`RequestSent`], which is made only for an observer that
/// [asks for it](Self::wants_requests), in the [`RunOutcome`] of a run that ended, and in what a tool
/// reports as progress; the records have none of it.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::{Arc, Mutex};
/// use forgeline::{
///     agent::{DefaultAgent, Observer, TurnRecord, tools::Calculator},
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
/// let builder = DefaultAgent::builder(DemoProvider::new()).tool(Calculator);
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
    /// Takes note of a run that begins, or goes on after it was put away.
    fn run_began(&self, _run: &RunBegan) {}

    /// Returns `true` when [`request_sent`](Self::request_sent) is to be called: a copy of each request is made for
    /// it. Asked once a run. Default: `false`.
    fn wants_requests(&self) -> bool {
        false
    }

    /// Takes note of a request that is about to be sent.
    fn request_sent(&self, _request: &RequestSent) {}

    /// Takes note of a call that is about to run.
    fn call_began(&self, _call: &CallBegan) {}

    /// Takes note of what a tool says while it runs: the name and the data of a
    /// [custom event](crate::types::AgentEvent::Custom).
    fn progress(&self, _run_id: &str, _name: &str, _data: &Value) {}

    /// Takes note of a call that has ended, or was not run.
    fn call_ended(&self, _call: &CallRecord) {}

    /// Takes note of a turn whose calls have all ended: also of one that failed, or was cancelled or dropped.
    fn turn_ended(&self, _turn: &TurnRecord) {}

    /// Takes note of the end of a run; the outcome is `None` when the run was dropped before its end.
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

/// A run that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunBegan {
    /// The id of the run.
    pub run_id: Text,
    /// The id of the conversation, where the input named it.
    pub conversation: Option<Text>,
    /// The provider's name.
    pub provider: Text,
    /// The model's id.
    pub model: Text,
    /// The number of tools that the agent has.
    pub tools: usize,
    /// Most answers of the model in the run.
    pub max_turns: u32,
    /// `true` when the run was put away, and goes on.
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
    /// The [`Request`](crate::llm::Request) as JSON: the system prompt, messages, tools and parameters. What looks
    /// like a key, and values of names that say that they are secret, are `[key]`; the keys of the provider are
    /// not a part of it. Other texts are as they are sent.
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
