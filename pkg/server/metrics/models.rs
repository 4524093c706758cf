//! Metrics of turns by provider and model.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    form::{escaped, head},
    histogram::DurationHistogram,
};
use forgeline_agent::observe::TurnRecord;
use forgeline_types::Text;

/// Maximum number of models counted separately; further models are counted as `other`.
const MAX_MODELS: usize = 100;

/// The metrics by provider and model.
#[derive(Debug, Default)]
pub(super) struct ModelMetrics(Mutex<BTreeMap<(Text, Text), Arc<ModelCounts>>>);

/// The metrics of a model.
#[derive(Debug, Default)]
struct ModelCounts {
    failed: AtomicU64,
    input: AtomicU64,
    cached: AtomicU64,
    output: AtomicU64,
    first_token: DurationHistogram,
    turn: DurationHistogram,
}

type ModelCounter = fn(&ModelCounts) -> &AtomicU64;

type ModelHistogram = fn(&ModelCounts) -> &DurationHistogram;

impl ModelMetrics {
    /// Counts a turn.
    pub(super) fn add(&self, turn: &TurnRecord) {
        let counts = self.counts_for(turn);
        if let Some(time) = turn.time_to_first_token {
            counts.first_token.record(time);
        }
        if turn.requests > 0 {
            counts.turn.record(turn.working_time());
        }
        let usage = turn.usage.unwrap_or_default();
        for (counter, count) in [
            (&counts.failed, Some(turn.error.is_some().into())),
            (&counts.input, usage.input_tokens),
            (&counts.cached, usage.cache_read_tokens),
            (&counts.output, usage.output_tokens),
        ] {
            counter.fetch_add(count.unwrap_or(0), Ordering::Relaxed);
        }
    }

    fn counts_for(&self, turn: &TurnRecord) -> Arc<ModelCounts> {
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = (turn.provider.clone(), turn.model.clone());
        if models.len() >= MAX_MODELS && !models.contains_key(&key) {
            key = ("other".into(), "other".into());
        }
        Arc::clone(models.entry(key).or_default())
    }

    /// Appends the metrics.
    pub(super) fn write(&self, out: &mut String) {
        let models = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let rows: Vec<_> = models
            .iter()
            .map(|((provider, model), counts)| {
                let (provider, model) = (escaped(provider), escaped(model));
                (format!("provider=\"{provider}\",model=\"{model}\""), &**counts)
            })
            .collect();
        for (name, help, counter) in [
            ("turns_failed", "Model turns that failed.", (|it| &it.failed) as ModelCounter),
            ("input_tokens", "Prompt tokens, as reported by providers.", |it| &it.input),
            ("cached_tokens", "Prompt tokens that came from a cache of the provider.", |it| {
                &it.cached
            }),
            ("output_tokens", "Output tokens, as reported by providers.", |it| &it.output),
        ] {
            let name = format!("forgeline_{name}_total");
            head(&name, help, "counter", out);
            for (labels, counts) in &rows {
                let count = counter(counts).load(Ordering::Relaxed);
                writeln!(out, "{name}{{{labels}}} {count}").unwrap_or_default();
            }
        }
        for (name, help, times) in [
            (
                "first_token",
                "From the request to the first token of the model.",
                (|it| &it.first_token) as ModelHistogram,
            ),
            ("turn", "From the request to the end of the last call of the answer.", |it| &it.turn),
        ] {
            let name = format!("forgeline_{name}_seconds");
            head(&name, help, "histogram", out);
            for (labels, counts) in &rows {
                times(counts).write(&name, labels, out);
            }
        }
    }
}
