//! The metrics of the service, in the text format of Prometheus. They contain no ids, prompts or caller names.

mod form;
mod histogram;
pub(super) mod latency;
pub(super) mod latency_records;
mod models;
pub(super) mod node_counts;
pub(super) mod request_log;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use self::{
    form::{escaped, head},
    histogram::DurationHistogram,
    models::ModelMetrics,
    node_counts::NodeCounts,
};
use super::{
    access::usage::{HeldResource, ServiceUsage},
    runs::slots::RunSlots,
};
use forgeline_agent::observe::{CallEnd, CallRecord, Observer, TurnRecord};
use forgeline_types::Text;

/// Maximum number of rows of a metric with labels; further rows are counted as `other`.
const MAX_ROWS: usize = 1_000;

/// The metrics of a service.
#[derive(Debug, Default)]
pub(super) struct ServiceMetrics {
    runs_begun: AtomicU64,
    /// By status.
    runs_ended: LabeledCounter<&'static str>,
    /// Events of runs that have ended.
    events: AtomicU64,
    /// By route and status.
    requests: LabeledCounter<(Text, u16)>,
    /// By tool and end.
    calls: LabeledCounter<(Text, &'static str)>,
    /// By tool.
    elided: LabeledCounter<Text>,
    models: ModelMetrics,
    /// By type.
    audited: LabeledCounter<Text>,
    /// By type.
    audit_lost: LabeledCounter<Text>,
    emission: DurationHistogram,
    tool: DurationHistogram,
    run: DurationHistogram,
}

/// A counter with labels.
#[derive(Debug)]
struct LabeledCounter<K>(Mutex<BTreeMap<K, u64>>);

impl<K> Default for LabeledCounter<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord + Clone> LabeledCounter<K> {
    fn add(&self, key: K, other: K) {
        let mut rows = self.lock();
        let key = if rows.len() < MAX_ROWS || rows.contains_key(&key) { key } else { other };
        *rows.entry(key).or_default() += 1;
    }

    fn write(&self, (name, help): (&str, &str), out: &mut String, labels: impl Fn(&K) -> String) {
        head(name, help, "counter", out);
        for (key, count) in &*self.lock() {
            writeln!(out, "{name}{{{}}} {count}", labels(key)).unwrap_or_default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<K, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServiceMetrics {
    pub(super) fn begin_run(&self) {
        self.runs_begun.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end_run(&self, status: &'static str, events: u64, took: std::time::Duration) {
        self.runs_ended.add(status, status);
        self.events.fetch_add(events, Ordering::Relaxed);
        self.run.record(took);
    }

    /// Counts an audit event that was stored.
    pub(super) fn audited(&self, kind: &Text) {
        self.audited.add(kind.clone(), "other".into());
    }

    /// Counts an audit event that could not be stored.
    pub(super) fn audit_lost(&self, kind: &Text) {
        self.audit_lost.add(kind.clone(), "other".into());
    }

    /// Counts a response of a route, given by its path in the router.
    pub(super) fn answered(&self, route: &str, status: u16) {
        self.requests.add((route.into(), status), ("other".into(), status));
    }

    /// Returns all metrics as text.
    pub(crate) fn text(
        &self,
        usage: &ServiceUsage,
        places: &RunSlots,
        node: Option<&NodeCounts>,
    ) -> String {
        let mut out = String::new();
        let counter = |name: &str, help: &str, value: &AtomicU64, out: &mut String| {
            head(name, help, "counter", out);
            writeln!(out, "{name} {}", value.load(Ordering::Relaxed)).unwrap_or_default();
        };
        let gauge = |name: &str, help: &str, value: usize, out: &mut String| {
            head(name, help, "gauge", out);
            writeln!(out, "{name} {value}").unwrap_or_default();
        };
        let (working, queued) = places.counts();
        let out = &mut out;
        counter("forgeline_runs_begun_total", "Runs started.", &self.runs_begun, out);
        let ended = ("forgeline_runs_ended_total", "Runs ended.");
        self.runs_ended.write(ended, out, |status| format!("status=\"{status}\""));
        counter("forgeline_events_total", "Events of runs that have ended.", &self.events, out);
        gauge("forgeline_runs_working", "Runs in progress.", working, out);
        gauge("forgeline_runs_queued", "Runs waiting for a slot.", queued, out);
        let live = "Runs that have not ended, including those that wait for a person.";
        gauge("forgeline_runs_live", live, usage.count(HeldResource::Run), out);
        let open = "Open requests and streams.";
        gauge("forgeline_connections", open, usage.count(HeldResource::Connection), out);
        if let Some(node) = node {
            let owned = node.owned.load(Ordering::Relaxed);
            gauge("forgeline_runs_owned", "Runs of this node in the shared store.", owned, out);
            let taken = "Runs claimed of nodes that died.";
            counter("forgeline_takeovers_total", taken, &node.takeovers, out);
            let lost = "Runs stopped here because another node may have them, or the store failed.";
            counter("forgeline_runs_lost_total", lost, &node.lost, out);
            let beats = "Reports of this node that it is alive which the store did not take.";
            counter("forgeline_failed_beats_total", beats, &node.failed_beats, out);
            let late =
                "Events that readers here got by a look of the store, not by its notification.";
            counter("forgeline_notify_late", late, &node.notify_late, out);
        }
        gauge(
            "forgeline_uploads",
            "Long request bodies being received.",
            usage.count(HeldResource::Upload),
            out,
        );
        let requests = ("forgeline_requests_total", "Responses by route and status.");
        self.requests.write(requests, out, |(route, status)| {
            format!("route=\"{}\",status=\"{status}\"", escaped(route))
        });
        let calls = ("forgeline_tool_calls_total", "Tool calls by outcome.");
        self.calls
            .write(calls, out, |(tool, end)| format!("tool=\"{}\",end=\"{end}\"", escaped(tool)));
        let elided = (
            "forgeline_tool_results_elided_total",
            "Tool results over their budget that were replaced by a note, by tool.",
        );
        self.elided.write(elided, out, |tool| format!("tool=\"{}\"", escaped(tool)));
        self.models.write(out);
        for (counter, name, help) in [
            (&self.audited, "forgeline_audit_events_total", "Audit events stored, by type."),
            (
                &self.audit_lost,
                "forgeline_audit_lost_total",
                "Audit events that could not be stored, by type.",
            ),
        ] {
            counter.write((name, help), out, |kind| format!("type=\"{}\"", escaped(kind)));
        }
        for (name, help, histogram) in [
            ("emission", "Longest time in a turn from a chunk to its last event.", &self.emission),
            ("tool", "Tool calls that succeeded.", &self.tool),
            ("run", "Runs, including waits.", &self.run),
        ] {
            let name = format!("forgeline_{name}_seconds");
            head(&name, help, "histogram", out);
            histogram.write(&name, "", out);
        }
        std::mem::take(out)
    }
}

impl Observer for ServiceMetrics {
    fn call_ended(&self, call: &CallRecord) {
        // The model may have invented the name.
        let is_known = call.end != CallEnd::UnknownTool;
        let tool = if is_known { call.tool_name.clone() } else { "unknown".into() };
        let end = call.end.as_str();
        if call.is_elided {
            self.elided.add(tool.clone(), "other".into());
        }
        self.calls.add((tool, end), ("other".into(), end));
        if call.end == CallEnd::Succeeded {
            self.tool.record(call.duration);
        }
    }

    fn turn_ended(&self, turn: &TurnRecord) {
        self.models.add(turn);
        if turn.emission.chunks > 0 {
            self.emission.record(turn.emission.longest);
        }
    }
}
