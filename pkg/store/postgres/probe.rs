//! The way to the server: whether sessions are its own, and notifications arrive.

use std::time::Duration;

use tokio::{join, sync::mpsc, time::timeout};
use tokio_postgres::Client;

use super::{
    dial::Dialer,
    errors::StatementFailure,
    news::SCOPES,
    values::{column, values},
};
use crate::StoreError;

/// Maximum wait for a notification, however busy the machine is: a store that hears none polls for ever.
const HEARING: Duration = Duration::from_secs(5);

/// The kind of sessions that a way to the server gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKind {
    /// A session of its own, which keeps locks and hears notifications.
    Whole,
    /// Sessions that a pooler shares.
    Shared,
}

/// Tries two sessions: a notification from one to the other, and a lock of one that the other must not get.
pub(super) async fn probe(dialer: &Dialer) -> Result<SessionKind, StoreError> {
    let failed = |error: tokio_postgres::Error| StatementFailure::of(&error).into_error();
    let (heard, mut notifications) = mpsc::channel(16);
    let hear = move |notification| drop(heard.try_send(notification));
    let one = dialer.dial(hear).await.map_err(StatementFailure::into_error)?;
    let other = dialer.dial(|_| {}).await.map_err(StatementFailure::into_error)?;
    if !dialer.has_settings() || !has_lock(&one, &other).await.map_err(failed)? {
        return Ok(SessionKind::Shared);
    }
    one.batch_execute(&format!("LISTEN {SCOPES}")).await.map_err(failed)?;
    let token = format!("probe {}", crate::ids::new_id(""));
    let sql = "SELECT pg_notify($1, $2)";
    other.query_typed(sql, values![SCOPES, token.as_str()]).await.map_err(failed)?;
    let arrives = async {
        while let Some(notification) = notifications.recv().await {
            if notification.payload() == token {
                return true;
            }
        }
        false
    };
    Ok(match timeout(HEARING, arrives).await {
        Ok(true) => SessionKind::Whole,
        Ok(false) | Err(_) => SessionKind::Shared,
    })
}

/// Returns `true` if a lock of one session is kept from the other, and the session stays the same beside another one that is busy.
async fn has_lock(one: &Client, other: &Client) -> Result<bool, tokio_postgres::Error> {
    let process = "SELECT pg_backend_pid()";
    let lock = "SELECT pg_try_advisory_lock(1718579821, pg_backend_pid()), pg_backend_pid()";
    let rows = one.query_typed(lock, values![]).await?;
    let pid: i32 = rows.first().and_then(|row| column(row, 1).ok()).unwrap_or_default();
    let steal = "SELECT pg_try_advisory_lock(1718579821, $1), pg_sleep(0.02)";
    let stolen_by = values![pid];
    let (stolen, after) = join!(other.query_typed(steal, stolen_by), one.query_typed(process, &[]));
    let is_stolen = stolen?.first().and_then(|row| column::<bool>(row, 0).ok()).unwrap_or(true);
    let is_same = after?.first().and_then(|row| column::<i32>(row, 0).ok()) == Some(pid);
    one.query_typed("SELECT pg_advisory_unlock(1718579821, $1)", values![pid]).await?;
    if is_stolen {
        other.query_typed("SELECT pg_advisory_unlock(1718579821, $1)", values![pid]).await?;
    }
    Ok(!is_stolen && is_same)
}
