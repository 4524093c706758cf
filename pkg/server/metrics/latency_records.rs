//! The records of the durations of each turn, which are kept.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    agent::{CallEnd, Observer, TurnRecord, tools::ToolPlace},
    server::runs::run::Run,
    store::{CallLatency, LatencyRecord, Stores, now_ms},
    types::Text,
};

/// Most turns of a run of which records are kept; the first ones go.
const MAX_TURNS: usize = 1_000;

/// The turns of runs under way. They are written behind the end of the run, where no reader waits for it.
#[derive(Debug, Default)]
pub(crate) struct LatencyRecords(Mutex<HashMap<Text, Vec<LatencyRecord>>>);

impl LatencyRecords {
    /// Notes the turns of this run from now on; those of other runs, such as of agents below, are not noted.
    pub(crate) fn begin(&self, run: &str) {
        self.lock().insert(run.into(), Vec::new());
    }

    /// Writes what a run took, if there is a place for it. Records that cannot be kept are lost: the run has ended as it has.
    pub(crate) async fn keep(&self, run: &Run, stores: Option<&Stores>) {
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

    fn lock(&self) -> MutexGuard<'_, HashMap<Text, Vec<LatencyRecord>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for LatencyRecords {
    fn turn_ended(&self, turn: &TurnRecord) {
        if turn.requests == 0 {
            return;
        }
        if let Some(records) = self.lock().get_mut(&turn.run_id) {
            if records.len() >= MAX_TURNS {
                records.clear();
            }
            records.push(record(turn));
        }
    }
}

fn record(turn: &TurnRecord) -> LatencyRecord {
    let mut record = LatencyRecord::new(turn.run_id.clone(), turn.turn, now_ms());
    record.provider = turn.provider.clone();
    record.model = turn.model.clone();
    record.first_text_ms = turn.time_to_first_token.map(millis);
    record.turn_ms = millis(turn.duration);
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
