//! Records of runs, turns and calls, for observers.

mod genai;
mod latency;
mod latency_window;
mod metric;
mod observer;
mod prefix;
mod record;

pub(super) use self::{
    genai::provider_name,
    metric::error_type,
    prefix::{PartPlaces, RequestPrefix},
};
pub use self::{
    latency::{Latencies, LatencyRecords},
    latency_window::LatencyWindow,
    metric::{Metric, MetricNames},
    observer::{CallBegan, Observer, RequestSent, RunBegan},
    prefix::{PrefixChange, PrefixPart},
    record::{CallEnd, CallRecord, Emission, RunRecord, TurnRecord},
};
