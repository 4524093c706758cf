//! Usage of the service by scope and by caller.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::http::StatusCode;
use tokio::time::Instant;

use super::{limits::Limits, scope::scope};
use crate::Problem;
use forgeline_agent::Caller;
use forgeline_store::ScopeConnections;
use forgeline_types::Text;

/// Maximum number of callers whose rate is known; beyond it, the rates that have refilled are forgotten, then the fullest one.
const MAX_RATES: usize = 10_000;

const MINUTE: Duration = Duration::from_mins(1);

/// Part of the maximum number of connections, as its divisor, below which a node does not report those of a scope to the others.
const MIN_SHARE: usize = 64;

/// Maximum number of scopes that a node reports: those with the most connections.
const MAX_REPORTED: usize = 1_000;

/// The usage of the service by scopes and callers.
#[derive(Debug)]
pub(crate) struct ServiceUsage {
    limits: Limits,
    inside: Mutex<UsageCounts>,
}

#[derive(Debug, Default)]
struct UsageCounts {
    held: HashMap<(Text, HeldResource), usize>,
    /// The connections of scopes at the other nodes that are alive, as they were at the last beat.
    elsewhere: HashMap<Text, usize>,
    rates: HashMap<(Text, Text), RunAllowance>,
}

/// The resources that a scope holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HeldResource {
    /// An open request or stream.
    Connection,
    /// A body that is being received.
    Upload,
    /// A run that has not ended.
    Run,
}

impl HeldResource {
    /// Returns the problem of a scope that holds as many as it may.
    pub(crate) fn refusal(self) -> Problem {
        let (code, detail, seconds) = match self {
            Self::Connection => (
                "too_many_connections",
                "too many requests and streams of this scope are open; end some of them first",
                30,
            ),
            Self::Upload => (
                "too_many_uploads",
                "this scope is sending too many long bodies; send them one after the other",
                5,
            ),
            Self::Run => (
                "too_many_runs",
                "too many runs of this scope have not ended; answer or cancel some of them first",
                5,
            ),
        };
        refused(code, detail, seconds)
    }
}

/// A resource held by a scope; released on drop.
#[derive(Debug)]
pub(crate) struct ResourceHold {
    usage: Arc<ServiceUsage>,
    key: (Text, HeldResource),
}

/// The number of runs that a caller may start now.
#[derive(Debug, Clone, Copy)]
struct RunAllowance {
    left: f64,
    at: Instant,
}

impl RunAllowance {
    /// Returns the rate at `now`: it refills completely within a minute.
    fn at(self, now: Instant, most: f64) -> Self {
        let share = now.duration_since(self.at).as_secs_f64() / MINUTE.as_secs_f64();
        Self { left: (self.left + share * most).min(most), at: now }
    }
}

impl ServiceUsage {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, inside: Mutex::default() })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Acquires one of these resources for a scope.
    pub(crate) fn hold(
        self: &Arc<Self>,
        scope: &Text,
        what: HeldResource,
    ) -> Result<ResourceHold, Problem> {
        let key = (scope.clone(), what);
        let mut inside = self.lock();
        let elsewhere = match what {
            HeldResource::Connection => inside.elsewhere.get(scope).copied().unwrap_or_default(),
            HeldResource::Upload | HeldResource::Run => 0,
        };
        let held = inside.held.get(&key).copied().unwrap_or_default();
        if held.saturating_add(elsewhere) >= self.most(what) {
            return Err(what.refusal());
        }
        inside.held.insert(key.clone(), held + 1);
        Ok(ResourceHold { usage: Arc::clone(self), key })
    }

    fn most(&self, what: HeldResource) -> usize {
        match what {
            HeldResource::Connection => self.limits.scope_connections,
            HeldResource::Upload => self.limits.scope_uploads,
            HeldResource::Run => self.limits.scope_runs,
        }
    }

    /// Returns the connections of the scopes that have many of them here, for the other nodes: what is left out is less than a 64th of the limit of
    /// each scope.
    pub(crate) fn connections(&self) -> Vec<ScopeConnections> {
        let least = (self.limits.scope_connections / MIN_SHARE).max(1);
        let inside = self.lock();
        let mut many: Vec<_> = inside
            .held
            .iter()
            .filter(|((_, what), count)| *what == HeldResource::Connection && **count >= least)
            .map(|((scope, _), count)| ScopeConnections::new(scope.clone(), *count as u64))
            .collect();
        drop(inside);
        if many.len() > MAX_REPORTED {
            many.select_nth_unstable_by_key(MAX_REPORTED, |held| std::cmp::Reverse(held.count));
            many.truncate(MAX_REPORTED);
        }
        many
    }

    /// Records the connections of scopes at the other nodes.
    pub(crate) fn set_elsewhere(&self, elsewhere: Vec<ScopeConnections>) {
        let count = |held: &ScopeConnections| usize::try_from(held.count).unwrap_or(usize::MAX);
        let elsewhere = elsewhere.into_iter().map(|held| (held.scope.clone(), count(&held)));
        self.lock().elsewhere = elsewhere.collect();
    }

    /// Counts a run that a caller starts.
    pub(crate) fn begin_run(&self, caller: &Caller) -> Result<(), Problem> {
        let (most, now) = (f64::from(self.limits.runs_per_minute), Instant::now());
        let key = (scope(caller), caller.id.clone());
        let mut inside = self.lock();
        if inside.rates.len() >= MAX_RATES && !inside.rates.contains_key(&key) {
            inside.rates.retain(|_, rate| rate.at(now, most).left < most);
            if inside.rates.len() >= MAX_RATES {
                let left = |rate: &RunAllowance| rate.at(now, most).left;
                let rates = inside.rates.iter();
                let fullest = rates.max_by(|(_, a), (_, b)| left(a).total_cmp(&left(b)));
                if let Some(fullest) = fullest.map(|(key, _)| key.clone()) {
                    inside.rates.remove(&fullest);
                }
            }
        }
        let rate = inside.rates.entry(key).or_insert(RunAllowance { left: most, at: now });
        *rate = rate.at(now, most);
        if rate.left < 1.0 {
            let wait = (1.0 - rate.left) / most.max(1.0) * MINUTE.as_secs_f64();
            let detail =
                format!("this caller may start {most} runs per minute; wait before the next");
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 1 to 60"
            )]
            let seconds = wait.ceil().clamp(1.0, 60.0) as u64;
            return Err(refused("too_many_requests", &detail, seconds));
        }
        rate.left -= 1.0;
        Ok(())
    }

    /// Returns the number of these resources that all scopes hold together.
    pub(crate) fn count(&self, what: HeldResource) -> usize {
        let inside = self.lock();
        inside.held.iter().filter(|((_, held), _)| *held == what).map(|(_, count)| count).sum()
    }

    fn lock(&self) -> MutexGuard<'_, UsageCounts> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ResourceHold {
    fn drop(&mut self) {
        let mut inside = self.usage.lock();
        if let Some(held) = inside.held.get_mut(&self.key) {
            *held -= 1;
            if *held == 0 {
                inside.held.remove(&self.key);
            }
        }
    }
}

fn refused(code: &'static str, detail: &str, seconds: u64) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, code, detail).retry_after(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_caller_may_begin_so_many_runs_a_minute_and_others_too() {
        let usage = ServiceUsage::new(Limits { runs_per_minute: 6, ..Limits::default() });
        let (ann, bob) = (Caller::new("ann").scope("a"), Caller::new("bob").scope("a"));
        let begun = |caller| (0..10).filter(|_| usage.begin_run(caller).is_ok()).count();
        assert_eq!((begun(&ann), begun(&bob)), (6, 6));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(begun(&ann), 0);
        tokio::time::advance(Duration::from_secs(12)).await;
        assert_eq!(begun(&ann), 2);
        tokio::time::advance(Duration::from_hours(1)).await;
        assert_eq!(begun(&ann), 6);
    }

    #[test]
    fn what_a_scope_holds_is_given_back_and_is_not_anothers() {
        let usage = ServiceUsage::new(Limits { scope_runs: 2, ..Limits::default() });
        let (a, b) = (Text::from("a"), Text::from("b"));
        let held = [
            usage.hold(&a, HeldResource::Run).unwrap(),
            usage.hold(&a, HeldResource::Run).unwrap(),
        ];
        assert!(usage.hold(&a, HeldResource::Run).is_err());
        assert!(
            usage.hold(&a, HeldResource::Upload).is_ok()
                && usage.hold(&b, HeldResource::Run).is_ok()
        );
        assert_eq!(usage.count(HeldResource::Run), 2);
        drop(held);
        assert!(usage.hold(&a, HeldResource::Run).is_ok());
        assert!(usage.lock().held.is_empty(), "nothing is left of what was given back");
    }

    #[test]
    fn the_connections_of_a_scope_count_with_those_at_other_nodes_and_what_is_reported_is_bounded()
    {
        let usage = ServiceUsage::new(Limits { scope_connections: 3, ..Limits::default() });
        let (a, b) = (Text::from("a"), Text::from("b"));
        let connect = |scope| usage.hold(scope, HeldResource::Connection);
        usage.set_elsewhere(vec![ScopeConnections::new("a", 2)]);
        let held = connect(&a).unwrap();
        assert!(connect(&a).is_err() && connect(&b).is_ok());
        assert!(usage.hold(&a, HeldResource::Upload).is_ok(), "these count here alone");
        assert_eq!(usage.connections(), [ScopeConnections::new("a", 1)]);
        usage.set_elsewhere(Vec::new());
        assert!(connect(&a).is_ok());
        drop(held);
        assert!(usage.lock().held.is_empty());
        // A scope with less than its share is not reported, and of too many those with the most are.
        let usage = ServiceUsage::new(Limits { scope_connections: 128, ..Limits::default() });
        let scope = |at: usize| Text::from(at.to_string());
        let mut held = Vec::new();
        for at in 0..MAX_REPORTED + 9 {
            let count = if at < 9 { 2 } else { 3 };
            held.extend((0..count).map(|_| usage.hold(&scope(at), HeldResource::Connection)));
        }
        held.push(usage.hold(&"one".into(), HeldResource::Connection));
        let reported = usage.connections();
        assert_eq!(reported.len(), MAX_REPORTED);
        assert!(reported.iter().all(|held| held.count == 3), "those with the most");
    }

    #[tokio::test(start_paused = true)]
    async fn callers_that_come_and_go_take_no_room() {
        for pause in [Duration::from_millis(20), Duration::ZERO] {
            let usage = ServiceUsage::new(Limits { runs_per_minute: 2, ..Limits::default() });
            let ann = Caller::new("ann");
            assert!(usage.begin_run(&ann).is_ok() && usage.begin_run(&ann).is_ok());
            for at in 0..MAX_RATES + 10 {
                assert!(usage.begin_run(&Caller::new(at.to_string())).is_ok());
                tokio::time::advance(pause).await;
            }
            assert!(usage.lock().rates.len() <= MAX_RATES, "{pause:?}");
            assert_eq!(usage.begin_run(&ann).is_err(), pause.is_zero(), "she has used up hers");
        }
    }
}
