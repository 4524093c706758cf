//! The state of a remote server apart from its responses.

use std::{
    error::Error,
    sync::{Mutex, MutexGuard, PoisonError},
};

use reqwest::Error as HttpError;
use rmcp::transport::{DynamicTransportError, streamable_http_client::StreamableHttpError};
use tokio::sync::watch;

use crate::{agent::mcp::lines::Heard, llm::http::redact::Redactor};

/// Maximum number of characters of the reason for which a server denies access, or fails.
pub(super) const MAX_REASON: usize = 500;

/// The state of a remote server apart from its answers: the reason for a refusal, and the secrets.
pub(in crate::agent::mcp) struct Watch {
    refusal: Mutex<Option<String>>,
    secrets: Mutex<Redactor>,
    /// The number of logins in progress.
    logins: watch::Sender<usize>,
    /// The state of the server's output.
    heard: watch::Sender<Heard>,
    /// `true` while the server keeps a session.
    session: watch::Sender<bool>,
}

/// A login in progress, which ends when this is dropped.
pub(super) struct Asking<'w>(&'w Watch);

impl Watch {
    pub(super) fn new(secrets: Redactor) -> Self {
        let (session, _) = watch::channel(false);
        let (heard, _) = watch::channel(Heard::default());
        let (logins, _) = watch::channel(0);
        let refusal = Mutex::default();
        Self { refusal, secrets: Mutex::new(secrets), logins, heard, session }
    }

    /// Returns `true` while a person logs in: waits for the server then also wait for the person.
    pub(in crate::agent::mcp) fn is_asking(&self) -> bool {
        *self.logins.borrow() > 0
    }

    /// Waits until a person logs in, or none does any more.
    pub(in crate::agent::mcp) async fn asking(&self, is_asking: bool) {
        let mut logins = self.logins.subscribe();
        // The sender lives as long as this value.
        let _changed = logins.wait_for(|count| (*count > 0) == is_asking).await;
    }

    pub(super) fn ask(&self) -> Asking<'_> {
        self.logins.send_modify(|count| *count += 1);
        Asking(self)
    }

    /// Returns the state of the server's output.
    pub(in crate::agent::mcp) fn heard(&self) -> watch::Receiver<Heard> {
        self.heard.subscribe()
    }

    pub(super) fn tell_too_long(&self) {
        self.heard.send_modify(Heard::count_too_long);
    }

    /// Records whether the server keeps a session.
    pub(super) fn keep_session(&self, is_kept: bool) {
        self.session.send_replace(is_kept);
    }

    /// Waits until the server keeps no session.
    pub(in crate::agent::mcp) async fn ended(&self) {
        let mut session = self.session.subscribe();
        // The sender lives as long as this value.
        let _ended = session.wait_for(|is_kept| !is_kept).await;
    }

    /// Stores the reason for which the server cannot be used, until it can.
    pub(super) fn refuse(&self, reason: Option<String>) {
        let reason = reason.map(|reason| self.redacted(&reason).chars().take(MAX_REASON).collect());
        *lock(&self.refusal) = reason;
    }

    /// Returns the reason for which the server cannot be used, if a login is the problem.
    pub(in crate::agent::mcp) fn refusal(&self) -> Option<String> {
        lock(&self.refusal).clone()
    }

    /// Returns the secrets, which must not be shown.
    pub(super) fn secrets(&self) -> Redactor {
        lock(&self.secrets).clone()
    }

    /// Replaces the secrets.
    pub(super) fn hide(&self, secrets: Redactor) {
        *lock(&self.secrets) = secrets;
    }

    /// Returns `text` without secrets.
    pub(in crate::agent::mcp) fn redacted(&self, text: &str) -> String {
        lock(&self.secrets).text(text)
    }

    /// Returns the message of a transport error, with its causes and without secrets.
    pub(in crate::agent::mcp) fn words(&self, error: &DynamicTransportError) -> String {
        let words = match error.error.downcast_ref() {
            Some(StreamableHttpError::<HttpError>::Client(error)) => {
                // The error's own message contains the URL, which may be secret.
                let mut words = vec!["it cannot be reached".to_owned()];
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

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.logins.send_modify(|count| *count -= 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
