//! The latencies of the last hour, for `/dev/latency`.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;
use tokio::time::Instant;

use forgeline_agent::{
    observe::{CallEnd, CallRecord, Observer, TurnRecord},
    tools::ToolPlace,
};
use forgeline_types::Text;

/// The length of the window.
const WINDOW: Duration = Duration::from_hours(1);

/// Maximum number of turns, and of calls, that are kept.
const MAX_SAMPLES: usize = 10_000;

/// The turns and calls of the last hour.
#[derive(Debug, Default)]
pub(crate) struct LatencyWindow(Mutex<LatencySamples>);

#[derive(Debug, Default)]
struct LatencySamples {
    turns: VecDeque<(Instant, TurnTiming)>,
    calls: VecDeque<(Instant, CallTiming)>,
}

#[derive(Debug)]
struct TurnTiming {
    provider: Text,
    model: Text,
    first_token: Option<Duration>,
    emission: Option<Duration>,
    duration: Duration,
    waited: Duration,
    cached_share: Option<f64>,
}

#[derive(Debug)]
struct CallTiming {
    tool: Text,
    place: ToolPlace,
    duration: Duration,
    is_error: bool,
}

/// The latencies of the last hour.
#[derive(Debug, Serialize)]
pub(crate) struct LatencyReport {
    window_seconds: u64,
    models: Vec<OfModel>,
    tools: Vec<OfTool>,
}

#[derive(Debug, Serialize)]
struct OfModel {
    provider: Text,
    model: Text,
    first_token_ms: LatencyPercentiles,
    emission_ms: LatencyPercentiles,
    turn_ms: LatencyPercentiles,
    /// The time for which turns waited for people, of those that did.
    waited_ms: LatencyPercentiles,
    /// The average share of the prompts that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_hit_rate: Option<f64>,
}

#[derive(Debug, Serialize)]
struct OfTool {
    tool: Text,
    /// `server` or `client`.
    place: &'static str,
    duration_ms: LatencyPercentiles,
    error_rate: f64,
}

/// Percentiles, in milliseconds; 0 without samples.
#[derive(Debug, Default, PartialEq, Serialize)]
struct LatencyPercentiles {
    count: usize,
    p50: f64,
    p95: f64,
    p99: f64,
}

impl LatencyPercentiles {
    fn new(durations: impl Iterator<Item = Duration>) -> Self {
        let mut all: Vec<_> = durations.collect();
        all.sort_unstable();
        // Nearest-rank percentile: the smallest value that `percent` percent of the samples do not exceed.
        let at = |percent: usize| {
            let rank = (all.len() * percent).div_ceil(100).max(1);
            all.get(rank - 1).map_or(0.0, |duration| duration.as_secs_f64() * 1_000.0)
        };
        Self { count: all.len(), p50: at(50), p95: at(95), p99: at(99) }
    }
}

impl LatencyWindow {
    /// Returns the latencies of the last hour.
    #[expect(clippy::cast_precision_loss, reason = "a share of at most 10,000")]
    pub(crate) fn shown(&self) -> LatencyReport {
        let mut samples = self.lock();
        forget(&mut samples.turns);
        forget(&mut samples.calls);
        let mut models = BTreeMap::<_, Vec<&TurnTiming>>::new();
        for (_, turn) in &samples.turns {
            models.entry((&turn.provider, &turn.model)).or_default().push(turn);
        }
        let models = models.into_iter().map(|((provider, model), turns)| {
            let shares: Vec<_> = turns.iter().filter_map(|turn| turn.cached_share).collect();
            OfModel {
                provider: provider.clone(),
                model: model.clone(),
                first_token_ms: LatencyPercentiles::new(
                    turns.iter().filter_map(|turn| turn.first_token),
                ),
                emission_ms: LatencyPercentiles::new(turns.iter().filter_map(|turn| turn.emission)),
                turn_ms: LatencyPercentiles::new(turns.iter().map(|turn| turn.duration)),
                waited_ms: LatencyPercentiles::new(
                    turns.iter().map(|turn| turn.waited).filter(|waited| !waited.is_zero()),
                ),
                cache_hit_rate: (!shares.is_empty())
                    .then(|| shares.iter().sum::<f64>() / shares.len() as f64),
            }
        });
        let models = models.collect();
        let mut tools = BTreeMap::<_, Vec<&CallTiming>>::new();
        for (_, call) in &samples.calls {
            let place = if call.place == ToolPlace::Client { "client" } else { "server" };
            tools.entry((&call.tool, place)).or_default().push(call);
        }
        let tools = tools.into_iter().map(|((tool, place), calls)| OfTool {
            tool: tool.clone(),
            place,
            duration_ms: LatencyPercentiles::new(calls.iter().map(|call| call.duration)),
            error_rate: calls.iter().filter(|call| call.is_error).count() as f64
                / calls.len() as f64,
        });
        let tools = tools.collect();
        LatencyReport { window_seconds: WINDOW.as_secs(), models, tools }
    }

    fn lock(&self) -> MutexGuard<'_, LatencySamples> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn keep<T>(samples: &mut VecDeque<(Instant, T)>, sample: T) {
    forget(samples);
    if samples.len() >= MAX_SAMPLES {
        samples.pop_front();
    }
    samples.push_back((Instant::now(), sample));
}

/// Drops samples older than an hour.
fn forget<T>(samples: &mut VecDeque<(Instant, T)>) {
    while samples.front().is_some_and(|(at, _)| at.elapsed() > WINDOW) {
        samples.pop_front();
    }
}

impl Observer for LatencyWindow {
    fn call_ended(&self, call: &CallRecord) {
        if call.end == CallEnd::UnknownTool {
            return;
        }
        let sample = CallTiming {
            tool: call.tool_name.clone(),
            place: call.place,
            duration: call.duration,
            is_error: call.end != CallEnd::Succeeded,
        };
        keep(&mut self.lock().calls, sample);
    }

    fn turn_ended(&self, turn: &TurnRecord) {
        if turn.requests == 0 {
            return;
        }
        let sample = TurnTiming {
            provider: turn.provider.clone(),
            model: turn.model.clone(),
            first_token: turn.time_to_first_token,
            emission: (turn.emission.chunks > 0).then_some(turn.emission.longest),
            duration: turn.working_time(),
            waited: turn.waited,
            cached_share: turn.cached_share(),
        };
        keep(&mut self.lock().turns, sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(millis: u64) -> CallTiming {
        let (tool, duration) = ("t".into(), Duration::from_millis(millis));
        CallTiming { tool, place: ToolPlace::Here, duration, is_error: millis > 90 }
    }

    #[tokio::test(start_paused = true)]
    async fn percentiles_are_of_the_last_hour() {
        let window = LatencyWindow::default();
        for millis in 1..=100 {
            keep(&mut window.lock().calls, call(millis));
        }
        let shown = window.shown();
        assert_eq!(
            shown.tools[0].duration_ms,
            LatencyPercentiles { count: 100, p50: 50.0, p95: 95.0, p99: 99.0 }
        );
        assert!((shown.tools[0].error_rate - 0.1).abs() < 1e-9);
        tokio::time::advance(WINDOW / 2).await;
        keep(&mut window.lock().calls, call(7));
        tokio::time::advance(WINDOW / 2 + Duration::from_secs(1)).await;
        assert_eq!(window.shown().tools[0].duration_ms.count, 1);
        tokio::time::advance(WINDOW).await;
        assert!(window.shown().tools.is_empty());
    }

    // Covers: T-93
    #[test]
    fn calls_are_told_by_their_place_and_models_by_their_share_of_the_cache() {
        let window = LatencyWindow::default();
        for place in [ToolPlace::Here, ToolPlace::Client, ToolPlace::Here] {
            keep(&mut window.lock().calls, CallTiming { place, ..call(8) });
        }
        for (model, cached_share) in
            [("a", Some(0.25)), ("a", Some(0.75)), ("a", None), ("b", None)]
        {
            let duration = Duration::from_millis(20);
            let (first_token, emission) = (Some(duration / 2), Some(duration / 4));
            let (provider, model) = ("p".into(), model.into());
            let waited = if cached_share == Some(0.25) { duration * 2 } else { Duration::ZERO };
            let turn = TurnTiming {
                provider,
                model,
                first_token,
                emission,
                duration,
                waited,
                cached_share,
            };
            keep(&mut window.lock().turns, turn);
        }
        let shown = serde_json::to_value(window.shown()).unwrap();
        let told = |list: &str, members: [&str; 2]| -> Vec<_> {
            let all = shown[list].as_array().unwrap();
            all.iter().map(|it| members.map(|member| it[member].to_string())).collect()
        };
        assert_eq!(
            told("tools", ["tool", "place"]),
            [[r#""t""#, r#""client""#], [r#""t""#, r#""server""#]]
        );
        assert_eq!(
            told("models", ["model", "cache_hit_rate"]),
            [[r#""a""#, "0.5"], [r#""b""#, "null"]]
        );
        let first = &shown["models"][0];
        let p95 = ["first_token_ms", "emission_ms", "turn_ms"].map(|it| first[it]["p95"].as_f64());
        assert_eq!(p95, [Some(10.0), Some(5.0), Some(20.0)]);
        let waited = &first["waited_ms"];
        assert_eq!((waited["count"].as_u64(), waited["p95"].as_f64()), (Some(1), Some(40.0)));
    }

    #[test]
    fn no_more_than_a_bound_is_kept() {
        let mut samples = VecDeque::new();
        (0..MAX_SAMPLES + 5).for_each(|at| keep(&mut samples, at));
        assert_eq!((samples.len(), samples[0].1), (MAX_SAMPLES, 5));
    }
}
