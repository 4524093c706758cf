//! The task that tells other nodes what this one has written.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::sleep};
use tokio_postgres::Client;

use super::{dial::Dialer, hub::ReaderHub, values::values};

/// Time for which news are gathered: a transaction with `NOTIFY` takes a lock of the whole server.
const GATHERED: Duration = Duration::from_millis(2);

const SQL: &str = "SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS news (channel, payload)";

/// Sends news until the store is closed. What cannot be sent is left to the look that each node takes every second.
pub(super) async fn run_notifier(
    dialer: Arc<Dialer>,
    hub: Arc<ReaderHub>,
    mut stop: watch::Receiver<()>,
) {
    let mut client: Option<Client> = None;
    loop {
        tokio::select! {
            () = hub.outbox.added() => {}
            _ = stop.changed() => return,
        }
        sleep(GATHERED).await;
        let payloads = hub.outbox.take().payloads();
        if payloads.is_empty() {
            continue;
        }
        let session = match client.take().filter(|client| !client.is_closed()) {
            Some(session) => session,
            None => match dialer.dial(|_| {}).await {
                Ok(session) => session,
                Err(failure) => {
                    tracing::debug!(?failure, "other nodes were not notified");
                    continue;
                }
            },
        };
        let (channels, texts): (Vec<_>, Vec<_>) =
            payloads.iter().map(|(channel, payload)| (channel.as_str(), payload.as_str())).unzip();
        match session.query_typed(SQL, values![channels, texts]).await {
            Ok(_) => client = Some(session),
            Err(error) => tracing::debug!(%error, "other nodes were not notified"),
        }
    }
}
