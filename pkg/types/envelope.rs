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

    /// Appends the JSON, as `serde_json` writes it; an envelope can always be written. The fields of the event are not gathered as a map first, which is
    /// what flattening does.
    #[cfg(feature = "server")]
    pub(crate) fn write_json(&self, out: &mut Vec<u8>) {
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
            // The event is an object with members, which go on with the ones before.
            Some([brace @ b'{', b'"', ..]) if is_written => *brace = b',',
            _ => {
                out.truncate(begun);
                serde_json::to_writer(out, self).unwrap_or(());
            }
        }
    }
}

keep_spelling!(Envelope);
