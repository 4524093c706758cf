//! The task that tells other nodes what this one has written.

use std::sync::Arc;

use tokio::sync::watch;

use super::{dial::Dialer, hub::ReaderHub, session::StatementSession, values::values};

/// Does not wait for the disk: what the news are about is there already, and news that are lost are found by a look.
const SQL: &str = "WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)) \
     SELECT pg_notify(channel, payload) FROM quick CROSS JOIN unnest($1::text[], $2::text[]) AS news (channel, payload)";

/// Sends news until the store is closed; those that come while some are sent go together, because a transaction with `NOTIFY` takes a lock of the whole
/// server. What cannot be sent is left to the look that each node takes every second.
pub(super) async fn run_notifier(
    dialer: Arc<Dialer>,
    hub: Arc<ReaderHub>,
    mut stop: watch::Receiver<()>,
) {
    let mut kept: Option<StatementSession> = None;
    loop {
        tokio::select! {
            () = hub.outbox.added() => {}
            _ = stop.changed() => return,
        }
        let payloads = hub.outbox.take().payloads();
        if payloads.is_empty() {
            continue;
        }
        let session = match kept.take().filter(|session| !session.is_closed()) {
            Some(session) => session,
            None => match dialer.session().await {
                Ok(session) => session,
                Err(failure) => {
                    tracing::debug!(?failure, "other nodes were not notified");
                    continue;
                }
            },
        };
        let (channels, texts): (Vec<_>, Vec<_>) =
            payloads.iter().map(|(channel, payload)| (channel.as_str(), payload.as_str())).unzip();
        match session.rows(SQL, values![channels, texts]).await {
            Ok(_) => kept = Some(session),
            Err(error) => tracing::debug!(%error, "other nodes were not notified"),
        }
    }
}
