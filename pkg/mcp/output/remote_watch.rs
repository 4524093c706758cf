//! The state of a remote server apart from its responses.

use std::{
    error::Error,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::transport::{DynamicTransportError, streamable_http_client::StreamableHttpError};
use tokio::sync::watch;

use super::output_lines::OutputStatus;
use forgeline_llm::{private::SecretRedactor, transport::TransportError};

/// Maximum number of characters of the reason for which a server denies access, or fails.
pub(crate) const MAX_REASON: usize = 500;

/// The state of a remote server apart from its answers: the reason for a refusal, and the secrets.
pub(crate) struct RemoteWatch {
    refusal: Mutex<Option<String>>,
    secrets: Mutex<SecretRedactor>,
    /// The number of logins in progress.
    logins: watch::Sender<usize>,
    /// The state of the server's output.
    heard: watch::Sender<OutputStatus>,
    /// `true` while the server keeps a session.
    session: watch::Sender<bool>,
}

/// A login in progress, which ends when this is dropped.
pub(crate) struct LoginInProgress<'w>(&'w RemoteWatch);

impl RemoteWatch {
    pub(crate) fn new(secrets: SecretRedactor) -> Self {
        let (session, _) = watch::channel(false);
        let (heard, _) = watch::channel(OutputStatus::default());
        let (logins, _) = watch::channel(0);
        let refusal = Mutex::default();
        Self { refusal, secrets: Mutex::new(secrets), logins, heard, session }
    }

    /// Returns `true` while a person logs in: waits for the server then also wait for the person.
    pub(crate) fn is_asking(&self) -> bool {
        *self.logins.borrow() > 0
    }

    /// Waits until a person logs in, or none does any more.
    pub(crate) async fn asking(&self, is_asking: bool) {
        let mut logins = self.logins.subscribe();
        // The sender lives as long as this value.
        let _changed = logins.wait_for(|count| (*count > 0) == is_asking).await;
    }

    pub(crate) fn ask(&self) -> LoginInProgress<'_> {
        self.logins.send_modify(|count| *count += 1);
        LoginInProgress(self)
    }

    /// Returns the state of the server's output.
    pub(crate) fn heard(&self) -> watch::Receiver<OutputStatus> {
        self.heard.subscribe()
    }

    pub(crate) fn tell_too_long(&self) {
        self.heard.send_modify(OutputStatus::count_too_long);
    }

    pub(crate) fn tell_unreadable(&self) {
        self.heard.send_modify(OutputStatus::count_unreadable);
    }

    /// Records whether the server keeps a session.
    pub(crate) fn keep_session(&self, is_kept: bool) {
        self.session.send_replace(is_kept);
    }

    /// Waits until the server keeps no session.
    pub(crate) async fn ended(&self) {
        let mut session = self.session.subscribe();
        // The sender lives as long as this value.
        let _ended = session.wait_for(|is_kept| !is_kept).await;
    }

    /// Stores the reason for which the server cannot be used, until it can.
    pub(crate) fn refuse(&self, reason: Option<String>) {
        let reason = reason.map(|reason| self.redacted(&reason).chars().take(MAX_REASON).collect());
        *lock(&self.refusal) = reason;
    }

    /// Returns the reason for which the server cannot be used, if a login is the problem.
    pub(crate) fn refusal(&self) -> Option<String> {
        lock(&self.refusal).clone()
    }

    /// Returns the secrets, which must not be shown.
    pub(crate) fn secrets(&self) -> SecretRedactor {
        lock(&self.secrets).clone()
    }

    /// Replaces the secrets.
    pub(crate) fn hide(&self, secrets: SecretRedactor) {
        *lock(&self.secrets) = secrets;
    }

    /// Returns `text` without secrets.
    pub(crate) fn redacted(&self, text: &str) -> String {
        lock(&self.secrets).text(text)
    }

    /// Returns the message of a transport error, with its causes and without secrets.
    pub(crate) fn words(&self, error: &DynamicTransportError) -> String {
        let words = match error.error.downcast_ref() {
            Some(StreamableHttpError::<TransportError>::Client(error)) => {
                // The error's own message contains the host, which the caller knows.
                let mut words = vec!["it cannot be reached".to_owned()];
                if let TransportError::Refused { message, .. } = error {
                    words.push(message.to_string());
                } else if let TransportError::ConnectTimeout { after, .. } = error {
                    words.push(format!("connecting took longer than {after:?}"));
                }
                let mut cause = error.source();
                while let Some(error) = cause {
                    words.push(error.to_string());
                    cause = error.source();
                }
                words.join(": ")
            }
            _ => error.error.to_string(),
        };
        self.redacted(&words)
    }
}

impl Drop for LoginInProgress<'_> {
    fn drop(&mut self) {
        self.0.logins.send_modify(|count| *count -= 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
