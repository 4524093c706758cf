//! The limits of a service.

use std::time::Duration;

use axum::http::StatusCode;

use crate::Problem;

/// The limits of a service: in total, of each scope, and of each caller. A request beyond a limit gets a problem that names it; see `docs/guide/limits.md`.
/// On a store that several nodes share, the runs, the connections and the bytes of streams of a scope are those of all nodes, and the other limits are of
/// each node; see `docs/guide/operating.md`.
///
/// # Examples
///
/// ```
/// use forgeline::server::Limits;
///
/// let mut limits = Limits::default();
/// limits.scope_runs = 20;
/// assert_eq!((limits.runs, limits.body_bytes), (64, 8 << 20));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of active runs. A run that waits for a person does not count. Default: 64.
    pub runs: usize,
    /// Maximum number of runs that wait for a slot; beyond it, 503. Default: 256.
    pub waiting_runs: usize,
    /// Maximum number of runs of a scope that have not ended, including waiting ones; beyond it, 429. Default: 256.
    pub scope_runs: usize,
    /// Maximum number of open requests and streams of a scope; beyond it, 429. Default: 2,500.
    pub scope_connections: usize,
    /// Maximum number of bodies over 64 KiB or of unknown length that a scope is sending; beyond it, 429. Default: 16.
    pub scope_uploads: usize,
    /// Maximum size of the streams of a scope, in bytes, including the overhead of their records; beyond it, 507. Default: 128 MiB.
    pub scope_stream_bytes: usize,
    /// Maximum size of the streams of all scopes, in bytes; beyond it, 507. In memory, they share the 512 MiB of a [`InMemoryLog`](forgeline_store::InMemoryLog)
    /// with the events of runs. Default: 256 MiB.
    pub stream_bytes: usize,
    /// Maximum number of runs that a caller starts in a minute, possibly all at once; beyond it, 429. Default: 600.
    pub runs_per_minute: u32,
    /// Maximum size of a body, in bytes; beyond it, 413. Default: 8 MiB.
    pub body_bytes: usize,
    /// Maximum size of the text of an input, in bytes; beyond it, 413. Default: 1 MiB.
    pub input_bytes: usize,
    /// Maximum number of headers of a request; beyond it, 431. Default: 100.
    pub headers: usize,
    /// Maximum size of the URL and headers of a request, in bytes; beyond it, 431. Default: 32 KiB.
    pub head_bytes: usize,
    /// Maximum time to receive a body; beyond it, 408. Default: 30 s.
    pub body_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            runs: 64,
            waiting_runs: 256,
            scope_runs: 256,
            scope_connections: 2_500,
            scope_uploads: 16,
            scope_stream_bytes: 128 << 20,
            stream_bytes: 256 << 20,
            runs_per_minute: 600,
            body_bytes: 8 << 20,
            input_bytes: 1 << 20,
            headers: 100,
            head_bytes: 32 << 10,
            body_time: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// Refuses a user text that is too long.
    pub(crate) fn check_input(&self, text: &str) -> Result<(), Problem> {
        let most = self.input_bytes;
        if text.len() <= most {
            return Ok(());
        }
        let detail = format!("the input text has more than {most} bytes; send less");
        Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "input_too_long", detail))
    }
}
