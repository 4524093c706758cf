//! Retries of a request to the same provider after a delay.

use std::{sync::Arc, time::Duration};

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

use super::driver::{AttemptPolicy, NextAttempt, begin};
use crate::{ChunkStream, Health, Provider, ProviderError, ProviderFuture, Request, SchemaRules};
use forgeline_parser::ThinkingDialect;
use forgeline_types::{AgentEvent, ModelInfo, RetryEvent, debug_fields, setters};

/// The policy for retrying a failed request.
///
/// Only transient failures are retried, see [`ProviderError::is_transient`]. Retries stop once
/// output starts. Delays double each time and have a random part, so that clients that failed
/// together do not all return at once; a delay that the server asks for takes precedence.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use forgeline::llm::RetryPolicy;
///
/// let patient = RetryPolicy::default().max_attempts(6).max_delay(Duration::from_secs(60));
/// assert_eq!(patient.initial_delay, Duration::from_millis(500));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The maximum number of attempts, including the first; 1 never retries. Default: 3. If an agent sends one call both
    /// with and then without tools, all attempts count together; the one without is made in any case.
    pub max_attempts: u32,
    /// The delay after the first failure; it doubles with each further one. Default: 500 ms.
    pub initial_delay: Duration,
    /// The maximum delay of the policy itself, before the random part. Default: 30 s.
    pub max_delay: Duration,
    /// The maximum delay that a server may ask for; if it asks for more, the failure is final. Default:
    /// 60 s.
    pub max_server_delay: Duration,
    /// `true` adds a random part, up to the delay itself, to each delay of the policy. Default:
    /// `true`.
    pub jitter: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            initial_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            max_server_delay: Duration::from_mins(1),
            jitter: true,
        }
    }
}

impl RetryPolicy {
    /// The policy that never retries.
    pub const NONE: Self = Self {
        max_attempts: 1,
        initial_delay: Duration::ZERO,
        max_delay: Duration::ZERO,
        max_server_delay: Duration::ZERO,
        jitter: false,
    };

    setters! {
        RetryPolicy:
        max_attempts(u32),
        initial_delay(Duration),
        max_delay(Duration),
        max_server_delay(Duration),
        jitter(bool),
    }
}

/// The remaining retries of a policy during one request.
#[derive(Debug)]
pub(crate) struct RetrySchedule {
    policy: RetryPolicy,
    delays: ExponentialBackoff,
    failed: u32,
}

impl RetrySchedule {
    /// Returns the remaining retries of `policy` for a request that has already failed `made` times.
    pub(crate) fn new(policy: RetryPolicy, made: u32) -> Self {
        let retries = policy.max_attempts.saturating_sub(1).saturating_sub(made);
        let retries = usize::try_from(retries).unwrap_or(usize::MAX);
        let mut delays = ExponentialBuilder::new()
            .with_min_delay(policy.initial_delay)
            .with_max_delay(policy.max_delay.max(policy.initial_delay))
            .with_max_times(retries);
        if policy.jitter {
            delays = delays.with_jitter();
        }
        Self { policy, delays: delays.build(), failed: made }
    }

    /// Decides what to do after a failure before anything was delivered.
    pub(crate) fn after(&mut self, error: ProviderError) -> Result<NextAttempt, ProviderError> {
        self.failed += 1;
        if !error.is_transient() {
            return Err(error);
        }
        let asked = error.retry_after();
        let own = self.delays.next();
        let Some(delay) = own.map(|own| asked.unwrap_or(own)) else {
            return Err(if self.failed == 1 {
                error
            } else {
                ProviderError::RetriesExhausted { attempts: self.failed, last: Box::new(error) }
            });
        };
        if asked.is_some_and(|asked| asked > self.policy.max_server_delay) {
            return Err(error);
        }
        let event = AgentEvent::Retry(
            RetryEvent::new(self.failed, self.policy.max_attempts, error.to_agent_error())
                .delay_ms(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
        );
        Ok(NextAttempt { events: vec![event], delay })
    }
}

/// A provider with retries added. The providers over HTTP already have them.
///
/// # Examples
///
/// ```
/// # use forgeline::{llm::{RetryPolicy, Retrying}, testing::{ScriptedProvider, ScriptedTurn}};
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hi")]);
/// let provider = Retrying::new(provider, RetryPolicy::default());
/// ```
#[derive(Clone)]
pub struct Retrying<P> {
    provider: Arc<P>,
    policy: RetryPolicy,
}

impl<P: Provider> Retrying<P> {
    /// Wraps `provider` with this policy.
    #[must_use]
    pub fn new(provider: P, policy: RetryPolicy) -> Self {
        Self { provider: Arc::new(provider), policy }
    }
}

debug_fields!(<P> Retrying, retrying: policy = retrying.policy);

impl<P: Provider + 'static> Provider for Retrying<P> {
    fn info(&self) -> &ModelInfo {
        self.provider.info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let schedule = RetrySchedule::new(self.policy, request.attempts_made);
        let provider = Arc::clone(&self.provider);
        Box::pin(begin(SameProvider { provider, request, schedule }, Vec::new()))
    }

    fn with_model(&self, model: &str) -> Option<Arc<dyn Provider>> {
        let provider = Arc::new(self.provider.with_model(model)?);
        Some(Arc::new(Retrying { provider, policy: self.policy }))
    }

    fn schema_rules(&self) -> SchemaRules {
        self.provider.schema_rules()
    }

    fn written_thinking(&self) -> Option<ThinkingDialect> {
        self.provider.written_thinking()
    }

    fn context_window(&self) -> ProviderFuture<Option<u64>> {
        self.provider.context_window()
    }

    fn health(&self) -> ProviderFuture<Health> {
        self.provider.health()
    }
}

struct SameProvider<P> {
    provider: Arc<P>,
    request: Request,
    schedule: RetrySchedule,
}

impl<P: Provider + 'static> AttemptPolicy for SameProvider<P> {
    type Stream = ChunkStream;

    fn open(&mut self) -> ProviderFuture<ChunkStream> {
        self.provider.stream_completion(self.request.clone())
    }

    fn after(&mut self, error: ProviderError) -> Result<NextAttempt, ProviderError> {
        self.schedule.after(error)
    }
}
