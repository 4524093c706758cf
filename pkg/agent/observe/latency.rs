//! Rolling percentiles of the durations of runs.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    latency_window::LatencyWindow,
    observer::Observer,
    record::{CallEnd, CallRecord, TurnRecord},
};

/// An observer that keeps the last durations of turns and calls, for their percentiles. Clones are
/// handles to the same windows, which may serve several agents.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, observe::LatencyRecords, tools::Calculator},
///     llm::demo::DemoProvider,
/// };
///
/// let latency = LatencyRecords::default();
/// let builder = Agent::builder(DemoProvider::new()).tool(Calculator);
/// builder.observer(latency.clone()).build()?.run("What is 6 * 7?").await?;
///
/// let windows = latency.windows();
/// assert_eq!((windows.turn.len(), windows.tool.len()), (2, 1));
/// println!("first token: p95 {:?}", windows.first_token.percentile(95));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LatencyRecords(Arc<Mutex<Latencies>>);

/// A snapshot of the windows of [`LatencyRecords`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latencies {
    /// The time from a request to the first text, reasoning or call.
    pub first_token: LatencyWindow,
    /// The longest time of each turn from a chunk to the last event of that chunk.
    pub emission: LatencyWindow,
    /// The time from a request to the end of the answer's last call.
    pub turn: LatencyWindow,
    /// The durations of successful calls.
    pub tool: LatencyWindow,
}

/// Default maximum number of durations in each window.
const MAX_DURATIONS: usize = 1024;

impl Default for LatencyRecords {
    /// Creates windows of 1,024 durations.
    fn default() -> Self {
        Self::new(NonZeroUsize::new(MAX_DURATIONS).unwrap_or(NonZeroUsize::MIN))
    }
}

impl LatencyRecords {
    /// Creates windows of the last `most` durations each.
    #[must_use]
    pub fn new(most: NonZeroUsize) -> Self {
        let window = || LatencyWindow::new(most);
        let windows =
            Latencies { first_token: window(), emission: window(), turn: window(), tool: window() };
        Self(Arc::new(Mutex::new(windows)))
    }

    /// Returns a copy of the windows.
    #[must_use]
    pub fn windows(&self) -> Latencies {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Latencies> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for LatencyRecords {
    fn call_ended(&self, call: &CallRecord) {
        if call.end == CallEnd::Succeeded {
            self.lock().tool.record(call.duration);
        }
    }

    fn turn_ended(&self, turn: &TurnRecord) {
        let mut windows = self.lock();
        if let Some(time) = turn.time_to_first_token {
            windows.first_token.record(time);
        }
        if turn.emission.chunks > 0 {
            windows.emission.record(turn.emission.longest);
        }
        if turn.requests > 0 {
            windows.turn.record(turn.working_time());
        }
    }
}
