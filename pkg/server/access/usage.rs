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
use forgeline_types::Text;

/// Maximum number of callers whose rate is known; beyond it, the rates that have refilled are forgotten, then the fullest one.
const MAX_RATES: usize = 10_000;

const MINUTE: Duration = Duration::from_mins(1);

/// The usage of the service by scopes and callers.
#[derive(Debug)]
pub(crate) struct ServiceUsage {
    limits: Limits,
    inside: Mutex<UsageCounts>,
}

#[derive(Debug, Default)]
struct UsageCounts {
    held: HashMap<(Text, HeldResource), usize>,
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
        let (most, code, detail, seconds) = match what {
            HeldResource::Connection => (
                self.limits.scope_connections,
                "too_many_connections",
                "too many requests and streams of this scope are open; end some of them first",
                30,
            ),
            HeldResource::Upload => (
                self.limits.scope_uploads,
                "too_many_uploads",
                "this scope is sending too many long bodies; send them one after the other",
                5,
            ),
            HeldResource::Run => (
                self.limits.scope_runs,
                "too_many_runs",
                "too many runs of this scope have not ended; answer or cancel some of them first",
                5,
            ),
        };
        let key = (scope.clone(), what);
        let mut inside = self.lock();
        let held = inside.held.entry(key.clone()).or_default();
        if *held >= most {
            return Err(refused(code, detail, seconds));
        }
        *held += 1;
        Ok(ResourceHold { usage: Arc::clone(self), key })
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
