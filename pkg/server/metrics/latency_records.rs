//! The stored latency records of turns.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::runs::run::ServiceRun;
use forgeline_agent::{
    observe::{CallEnd, Observer, TurnRecord},
    tools::ToolPlace,
};
use forgeline_store::{CallLatency, LatencyRecord, Stores, private::now_ms};
use forgeline_types::Text;

/// Maximum number of turns of a run with records; beyond it, the first records are dropped.
const MAX_TURNS: usize = 1_000;

/// The turns of active runs. They are stored after the end of the run, when no reader waits.
#[derive(Debug, Default)]
pub(crate) struct LatencyRecords(Mutex<HashMap<Text, VecDeque<LatencyRecord>>>);

impl LatencyRecords {
    /// Records the turns of this run from now on; the turns of other runs, such as those of sub-agents, are not recorded.
    pub(crate) fn begin(&self, run: &str) {
        self.lock().insert(run.into(), VecDeque::new());
    }

    /// Stores the latencies of a run, if `stores` is given. Records that cannot be stored are lost; that does not affect the run.
    pub(crate) async fn keep(&self, run: &ServiceRun, stores: Option<&Stores>) {
        let records = self.lock().remove(&Text::from(run.id())).unwrap_or_default();
        let Some(stores) = stores else { return };
        for mut record in records {
            (record.conversation, record.owner) = (run.conversation.clone(), run.owner.clone());
            if let Err(error) = stores.latency.add(&run.key.scope, record).await {
                tracing::warn!(%error, run_id = run.id(), "the latency record of a run could not be stored");
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Text, VecDeque<LatencyRecord>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for LatencyRecords {
    fn turn_ended(&self, turn: &TurnRecord) {
        if turn.requests == 0 {
            return;
        }
        if let Some(records) = self.lock().get_mut(&turn.run_id) {
            add(records, record(turn));
        }
    }
}

fn add(records: &mut VecDeque<LatencyRecord>, record: LatencyRecord) {
    if records.len() >= MAX_TURNS {
        records.pop_front();
    }
    records.push_back(record);
}

fn record(turn: &TurnRecord) -> LatencyRecord {
    let mut record = LatencyRecord::new(turn.run_id.clone(), turn.turn, now_ms());
    record.provider = turn.provider.clone();
    record.model = turn.model.clone();
    record.first_text_ms = turn.time_to_first_token.map(millis);
    record.turn_ms = millis(turn.working_time());
    record.waited_ms = millis(turn.waited);
    record.stop_reason = turn.stop_reason.as_ref().map(|reason| reason.as_str().into());
    if let Some(usage) = &turn.usage {
        record.input_tokens = usage.input_tokens;
        record.cache_read_tokens = usage.cache_read_tokens;
        record.cache_write_tokens = usage.cache_write_tokens;
        record.output_tokens = usage.output_tokens;
    }
    let calls = turn.calls.iter().filter(|call| call.end != CallEnd::UnknownTool);
    record.calls = calls
        .map(|call| {
            let mut taken = CallLatency::new(call.tool_name.clone(), millis(call.duration));
            taken.is_at_client = call.place == ToolPlace::Client;
            taken.is_error = call.end != CallEnd::Succeeded;
            taken
        })
        .collect();
    record
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_run_the_last_turns_are_recorded() {
        let mut records = VecDeque::new();
        for turn in 1..=1_200 {
            add(&mut records, LatencyRecord::new("r", turn, 0));
        }
        assert!(records.iter().map(|record| record.turn).eq(201..=1_200));
    }
}
