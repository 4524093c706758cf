//! The envelope of every event that leaves an agent.

use serde::{Deserialize, Serialize};

use super::{AgentEvent, Text, spelling::keep_spelling};

/// One event with its place in a run.
///
/// `seq` starts at 0 and has no gaps within a run, so a reader that knows the last one it saw can
/// resume without loss or duplicates. A run that was suspended and is resumed
/// keeps its `run_id` and continues at the number recorded in its journal: its first event replaces the event
/// with the same `seq`, and all later ones are discarded.
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
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct Envelope {
    /// The run's id, unique among runs.
    pub run_id: Text,
    /// The turn within the run, from 1; 0 before the first.
    pub turn: u32,
    /// The position in the run, from 0, without gaps.
    pub seq: u64,
    /// The time at which the event was made, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The event; on the wire, its fields are inlined.
    #[serde(flatten)]
    pub event: AgentEvent,
}

impl Envelope {
    /// Wraps `event`.
    #[must_use]
    pub fn new(run_id: Text, turn: u32, seq: u64, at: u64, event: AgentEvent) -> Self {
        Self { run_id, turn, seq, at, event }
    }

    /// Appends the envelope's JSON, the same as `serde_json` writes. This cannot fail, and does not collect the event's fields into a
    /// map first, as `#[serde(flatten)]` does.
    #[doc(hidden)]
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let begun = out.len();
        let Self { run_id, turn, seq, at, event } = self;
        out.extend_from_slice(b"{\"run_id\":");
        let mut is_written = serde_json::to_writer(&mut *out, run_id).is_ok();
        for (name, number) in
            [(&b",\"turn\":"[..], u64::from(*turn)), (b",\"seq\":", *seq), (b",\"at\":", *at)]
        {
            out.extend_from_slice(name);
            is_written &= serde_json::to_writer(&mut *out, &number).is_ok();
        }
        let place = out.len();
        is_written &= serde_json::to_writer(&mut *out, event).is_ok();
        match out.get_mut(place..) {
            // The event is an object with at least one member; its members continue the envelope's.
            Some([brace @ b'{', b'"', ..]) if is_written => *brace = b',',
            _ => {
                out.truncate(begun);
                serde_json::to_writer(out, self).unwrap_or(());
            }
        }
    }
}

keep_spelling!(Envelope);
