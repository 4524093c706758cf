//! Health checks of the service's dependencies.

use std::{fmt, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use forgeline_agent::Agent;
use forgeline_llm::{Provider, ProviderError};
use forgeline_store::{EventLog, LogKey, LogRecord, StoreError, Stores};
use forgeline_types::Text;

/// Maximum duration of a check.
const CHECK_TIME: Duration = Duration::from_secs(5);

/// Size of the record that a check writes, in bytes.
const WRITTEN_BYTES: usize = 8 << 10;

/// Time for which a report is reused, so that frequent requests do not reach providers and stores.
const FRESH: Duration = Duration::from_secs(2);

/// The state of a dependency of the service.
///
/// # Examples
///
/// ```
/// use forgeline::server::CheckState;
///
/// assert_ne!(CheckState::Healthy, CheckState::Unhealthy("it cannot be reached".into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckState {
    /// The dependency works.
    Healthy,
    /// The dependency works in part or slowly; the service is still ready. The report contains the text.
    Degraded(Text),
    /// The dependency does not work; the service is not ready. The report contains the text.
    Unhealthy(Text),
}

type CheckFunction = dyn Fn() -> BoxFuture<'static, CheckState> + Send + Sync;

/// A named check.
#[derive(Clone)]
pub(super) struct HealthCheck {
    name: Text,
    ask: Arc<CheckFunction>,
}

/// The results of all checks.
#[derive(Debug, Clone, Serialize)]
pub(super) struct HealthReport {
    /// `ready`, `degraded`, `unready` or `ending`.
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<CheckResult>,
}

impl HealthReport {
    /// Returns the report of a service that is shutting down.
    pub(super) fn ending() -> Self {
        Self { status: "ending", checks: Vec::new() }
    }

    /// Returns the report of a node that the others take for dead.
    pub(super) fn late() -> Self {
        Self { status: "unready", checks: Vec::new() }
    }

    /// Returns the report for a caller who may not see the dependencies.
    pub(super) fn without_checks(self) -> Self {
        Self { checks: Vec::new(), ..self }
    }

    /// Returns `true` if the service takes requests.
    pub(super) fn is_ready(&self) -> bool {
        !["unready", "ending"].contains(&self.status)
    }
}

#[derive(Debug, Clone, Serialize)]
struct CheckResult {
    name: Text,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<Text>,
    millis: u64,
}

/// The checks of a service.
#[derive(Default)]
pub(super) struct HealthChecks {
    checks: Vec<HealthCheck>,
    last: tokio::sync::Mutex<Option<(Instant, HealthReport)>>,
}

impl HealthCheck {
    pub(super) fn new<F, R>(name: impl Into<Text>, ask: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = CheckState> + Send + 'static,
    {
        Self { name: name.into(), ask: Arc::new(move || Box::pin(ask())) }
    }

    /// Returns a check that a provider's server is reachable and accepts the API key.
    fn of_provider(name: Text, provider: Arc<dyn Provider>) -> Self {
        Self::new(name, move || {
            let health = provider.health();
            async move {
                match health.await {
                    Ok(health) if health.model_listed == Some(false) => {
                        CheckState::Degraded("its server does not list the model".into())
                    }
                    Ok(_) | Err(ProviderError::Unsupported { .. }) => CheckState::Healthy,
                    // The server's message is for the operator of the service.
                    Err(error) => {
                        tracing::warn!(%error, "a provider does not answer as expected");
                        CheckState::Unhealthy("its server does not answer as expected".into())
                    }
                }
            }
        })
    }

    /// Returns the checks of the providers of an agent.
    pub(super) fn of_agent(name: &str, agent: &Agent) -> Vec<Self> {
        let own =
            Self::of_provider(format!("provider:{name}").into(), Arc::clone(agent.provider()));
        let others = agent.models().iter().map(|(model, provider)| {
            Self::of_provider(format!("provider:{name}:{model}").into(), Arc::clone(provider))
        });
        std::iter::once(own).chain(others).collect()
    }

    /// Returns checks that the stores can be written and read.
    pub(super) fn of_stores(stores: &Stores) -> [Self; 2] {
        let (log, notifications) = (Arc::clone(&stores.log), Arc::clone(&stores.notifications));
        let writes = move || {
            let log = Arc::clone(&log);
            async move {
                let written = write(&*log).await;
                written.map_or_else(|error| unwritable(&error), |()| CheckState::Healthy)
            }
        };
        let end = move || {
            let notifications = Arc::clone(&notifications);
            async move {
                let end = notifications.end("service").await;
                end.map_or_else(|error| unreadable(&error), |_| CheckState::Healthy)
            }
        };
        [Self::new("event_log", writes), Self::new("store", end)]
    }

    async fn checked(&self) -> CheckResult {
        let begun = Instant::now();
        let state = timeout(CHECK_TIME, (self.ask)()).await.unwrap_or_else(|_| {
            CheckState::Degraded(format!("no answer within {} s", CHECK_TIME.as_secs()).into())
        });
        let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (status, detail) = match state {
            CheckState::Healthy => ("healthy", None),
            CheckState::Degraded(detail) => ("degraded", Some(detail)),
            CheckState::Unhealthy(detail) => ("unhealthy", Some(detail)),
        };
        CheckResult { name: self.name.clone(), status, detail, millis }
    }
}

/// Writes a record to a log reserved for the check, and drops it. The record is as large as a page of a file, as smaller ones may fit into a full store.
async fn write(log: &dyn EventLog) -> Result<(), StoreError> {
    let key = LogKey::new("service", "ready");
    let mut at = match log.create(key.clone()).await {
        Ok(()) => 0,
        Err(StoreError::Exists { .. }) => match log.read(&key, u64::MAX, 1).await {
            Err(StoreError::Behind { end, .. }) => end,
            page => page?.next,
        },
        Err(error) => return Err(error),
    };
    let record = || vec![LogRecord::new("ready", vec![b' '; WRITTEN_BYTES])];
    match log.append(&key, at, record(), None).await {
        // Another process checks at the same time.
        Err(StoreError::Behind { end, .. }) => {
            at = end;
            log.append(&key, at, record(), None).await?;
        }
        appended => appended?,
    }
    log.trim(&key, at + 1).await
}

fn unwritable(error: &StoreError) -> CheckState {
    let why = if matches!(error, StoreError::Full { .. }) {
        "it is full; the operator has to make room"
    } else if matches!(error, StoreError::ReadOnly { .. }) {
        "it cannot be written"
    } else {
        return unreadable(error);
    };
    tracing::warn!(%error, "a store cannot be written");
    CheckState::Unhealthy(why.into())
}

fn unreadable(error: &dyn fmt::Display) -> CheckState {
    tracing::warn!(%error, "a store cannot be used");
    CheckState::Unhealthy("it is unavailable".into())
}

impl HealthChecks {
    pub(super) fn new(checks: Vec<HealthCheck>) -> Self {
        Self { checks, last: tokio::sync::Mutex::default() }
    }

    /// Returns the results of all checks, at most 2 s old.
    pub(super) async fn report(&self) -> HealthReport {
        let mut last = self.last.lock().await;
        if let Some((at, report)) = &*last
            && at.elapsed() < FRESH
        {
            return report.clone();
        }
        let checks =
            futures_util::future::join_all(self.checks.iter().map(HealthCheck::checked)).await;
        let has = |status| checks.iter().any(|check| check.status == status);
        let status = match () {
            () if has("unhealthy") => "unready",
            () if has("degraded") => "degraded",
            () => "ready",
        };
        let report = HealthReport { status, checks };
        *last = Some((Instant::now(), report.clone()));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(state: &CheckState) -> HealthCheck {
        let state = state.clone();
        HealthCheck::new("it", move || std::future::ready(state.clone()))
    }

    // Covers: CT-104, CT-105, CT-106, CT-107
    #[tokio::test(start_paused = true)]
    async fn each_check_ends_in_time_and_the_worst_counts() {
        let slow = HealthCheck::new("slow", || async {
            tokio::time::sleep(Duration::from_mins(1)).await;
            CheckState::Healthy
        });
        let unhealthy = CheckState::Unhealthy("gone".into());
        for (checks, want) in [
            (vec![], "ready"),
            (vec![state(&CheckState::Healthy)], "ready"),
            (vec![state(&CheckState::Healthy), slow.clone(), slow.clone()], "degraded"),
            (vec![state(&unhealthy), slow.clone()], "unready"),
        ] {
            let (begun, checks) = (Instant::now(), HealthChecks::new(checks));
            for _ in 0..2 {
                let (a, b, c) = tokio::join!(checks.report(), checks.report(), checks.report());
                assert_eq!([a.status, b.status, c.status], [want; 3]);
                assert!(a.checks.iter().all(|check| !check.name.is_empty()));
            }
            assert!(begun.elapsed() <= CHECK_TIME + Duration::from_millis(100), "side by side");
        }
    }
}
