//! The limits of a service.

use std::time::Duration;

use axum::http::StatusCode;

use super::Problem;

/// The bounds of what a service takes at a time, of all, of each scope, and of each caller. What is beyond a limit is answered with a problem
/// that says so; see `docs/limits.md`.
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
    /// Runs that work at the same time. One that waits for a person does not count. Default: 64.
    pub runs: usize,
    /// Runs that wait for a place among them; then 503. Default: 256.
    pub waiting_runs: usize,
    /// Runs of a scope that have not ended, waiting ones and those that wait for a person too; then 429. Default: 256.
    pub scope_runs: usize,
    /// Requests and streams of a scope under way; then 429. Default: 2,500.
    pub scope_connections: usize,
    /// Bodies of more than 64 KiB, or of unknown length, that a scope is sending; then 429. Default: 16.
    pub scope_uploads: usize,
    /// Bytes of the streams of a scope, with what each of their records takes; then 507. Default: 128 MiB.
    pub scope_stream_bytes: usize,
    /// Bytes of the streams of all scopes; then 507. In memory they share the 512 MiB of a
    /// [`MemoryLog`](crate::store::MemoryLog) with the events of runs. Default: 256 MiB.
    pub stream_bytes: usize,
    /// Runs that a caller begins in a minute, at once if need be; then 429. Default: 600.
    pub runs_per_minute: u32,
    /// Bytes of a body; then 413. Default: 8 MiB.
    pub body_bytes: usize,
    /// Bytes of the text of an input; then 413. Default: 1 MiB.
    pub input_bytes: usize,
    /// Headers of a request; then 431. Default: 100.
    pub headers: usize,
    /// Bytes of the address and the headers of a request; then 431. Default: 32 KiB.
    pub head_bytes: usize,
    /// Time in which a body has to come; then 408. Default: 30 s.
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
    /// Refuses a text of the user that is too long.
    pub(super) fn check_input(&self, text: &str) -> Result<(), Problem> {
        let most = self.input_bytes;
        if text.len() <= most {
            return Ok(());
        }
        let detail = format!("the input text has more than {most} bytes; send less");
        Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "input_too_long", detail))
    }
}
