//! SIGHUP, which asks a service to read its files again.

/// The signals that ask to read files again. From its beginning on, they do not end the process.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct HangupSignal(tokio::signal::unix::Signal);

#[cfg(unix)]
impl HangupSignal {
    /// Begins to listen; needs the context of a runtime.
    ///
    /// # Errors
    ///
    /// When the system refuses the listener.
    pub(super) fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self)
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// There are no such signals here.
#[cfg(not(unix))]
#[derive(Debug)]
pub(super) struct HangupSignal;

#[cfg(not(unix))]
impl HangupSignal {
    #[expect(clippy::unnecessary_wraps, reason = "as on systems that have them")]
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}
