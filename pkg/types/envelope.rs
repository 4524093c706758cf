//! The wrapper of every event that leaves an agent.

use serde::{Deserialize, Serialize};

use super::{AgentEvent, Text, spelling::keep_spelling};

/// One event with its place in a run.
///
/// `seq` starts at 0 and has no gaps within a run, so that a reader that knows the last one it saw can
/// resume without loss or duplicate. A run that was put away and is
/// resumed keeps its `run_id` and goes on at the number that its journal knows: its first event takes the place of
/// the one with its `seq`, and all behind that are dropped.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, Envelope};
///
/// let envelope = Envelope::new("run".into(), 1, 2, 3, AgentEvent::TurnEnd);
/// let json = serde_json::to_string(&envelope)?;
/// assert_eq!(json, r#"{"run_id":"run","turn":1,"seq":2,"at":3,"type":"turn_end"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(remote = "Self")]
pub struct Envelope {
    /// The run's id, unique among runs.
    pub run_id: Text,
    /// The turn within the run, from 1; 0 before the first.
    pub turn: u32,
    /// Position in the run, from 0, without gaps.
    pub seq: u64,
    /// When the event was made, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The event; its fields stand beside these on the wire.
    #[serde(flatten)]
    pub event: AgentEvent,
}

impl Envelope {
    /// Wraps `event`.
    #[must_use]
    pub fn new(run_id: Text, turn: u32, seq: u64, at: u64, event: AgentEvent) -> Self {
        Self { run_id, turn, seq, at, event }
    }
}

keep_spelling!(Envelope);
