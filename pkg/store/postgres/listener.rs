//! The task that wakes the readers of this process: by notifications, and by a look every second in case one was lost.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    time::{MissedTickBehavior, interval, sleep},
};
use tokio_postgres::{Client, Notification};

use super::{
    dial::Dialer,
    hub::ReaderHub,
    late_news::UnheardLogs,
    news::{CHANNELS, COMMANDS, LogNews, SCOPES, log_channel, log_news},
    pool::{RepeatRule, SessionPool},
    values::{column, count, values},
};
use crate::{LogKey, LogRecord, StoreError, integers::int};

/// Time between looks where notifications arrive.
const LOOKING: Duration = Duration::from_secs(1);

/// Time between looks where they do not.
const POLLING: Duration = Duration::from_millis(10);

/// Time before the next attempt to connect.
const PAUSE: Duration = Duration::from_millis(200);

/// Maximum number of notifications that wait to be handled; after more, the task looks at everything.
const MAX_HEARD: usize = 1_024;

/// Maximum number of records of a log that are read for its readers together; beyond it, each reads by itself.
const MAX_READ: u64 = 256;

/// Maximum number of records read at a time.
const MAX_ROWS: i64 = 1_024;

/// Maximum size of each of them, in bytes.
const MAX_BYTES: i64 = 64 << 10;

/// Maximum number of keys in a statement.
const MAX_KEYS: usize = 4_096;

/// Wakes readers until the store is closed.
pub(super) struct ListenTask {
    pub(super) dialer: Arc<Dialer>,
    pub(super) pool: Arc<SessionPool>,
    pub(super) hub: Arc<ReaderHub>,
    pub(super) stop: watch::Receiver<()>,
    pub(super) unheard: UnheardLogs,
    /// `false` where notifications do not arrive.
    pub(super) hears: bool,
}

/// A log that has grown.
struct GrownLog {
    no: i64,
    key: LogKey,
    /// The end up to which readers have been woken.
    seen: u64,
    head: u64,
}

impl ListenTask {
    pub(super) async fn run(mut self) {
        if !self.hears {
            self.look_until_stopped(POLLING, &mut mpsc::channel(1).1).await;
            return;
        }
        loop {
            let (heard, mut notifications) = mpsc::channel(MAX_HEARD);
            let session = self.listen(heard).await;
            let is_stopped = match session {
                Ok(_session) => self.look_until_stopped(LOOKING, &mut notifications).await,
                Err(error) => {
                    tracing::debug!(%error, "notifications of PostgreSQL are not heard");
                    // Without a session, a look is all that wakes readers.
                    self.look().await;
                    tokio::select! {
                        () = sleep(PAUSE) => false,
                        _ = self.stop.changed() => true,
                    }
                }
            };
            if is_stopped {
                return;
            }
        }
    }

    /// Opens a session that hears all channels.
    async fn listen(&self, heard: mpsc::Sender<Notification>) -> Result<Client, StoreError> {
        let hub = Arc::clone(&self.hub);
        let hear = move |notification| {
            if heard.try_send(notification).is_err() {
                // Too many: readers look for themselves.
                hub.wake_all();
            }
        };
        let session =
            self.dialer.dial(hear).await.map_err(super::errors::StatementFailure::into_error)?;
        let channels = (0..CHANNELS).map(log_channel);
        let channels = channels.chain([SCOPES.to_owned(), COMMANDS.to_owned()]);
        let sql: Vec<_> = channels.map(|channel| format!("LISTEN {channel}")).collect();
        let listening = session.batch_execute(&sql.join("; ")).await;
        listening.map_err(|error| super::errors::StatementFailure::of(&error).into_error())?;
        Ok(session)
    }

    /// Handles notifications, and looks after each period; returns `true` once the store is closed, and `false` if the session was lost.
    async fn look_until_stopped(
        &mut self,
        period: Duration,
        notifications: &mut mpsc::Receiver<Notification>,
    ) -> bool {
        let is_polling = period == POLLING;
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Vec::new();
        loop {
            tokio::select! {
                _ = self.stop.changed() => return true,
                _ = ticks.tick() => self.look().await,
                count = notifications.recv_many(&mut heard, MAX_HEARD), if !is_polling => {
                    if count == 0 {
                        return false;
                    }
                    self.handle(heard.drain(..)).await;
                }
            }
        }
    }

    async fn handle(&mut self, heard: impl Iterator<Item = Notification>) {
        let mut grown = BTreeMap::new();
        for notification in heard {
            match notification.channel() {
                SCOPES if notification.payload().is_empty() => self.hub.scopes.wake_all(),
                SCOPES => self.hub.scopes.wake(&notification.payload().to_owned()),
                COMMANDS => {
                    let runs = notification.payload().split(' ').filter_map(|run| run.parse().ok());
                    runs.for_each(|run| self.hub.commands.wake(&run));
                }
                _ => {
                    for (no, news) in log_news(notification.payload()) {
                        self.unheard.heard(no, news.end());
                        self.take(no, news, &mut grown);
                    }
                }
            }
        }
        self.read(grown.into_values().collect()).await;
    }

    /// Wakes the readers of a log that has changed, and adds one that has grown to those to be read.
    fn take(&self, no: i64, news: LogNews, grown: &mut BTreeMap<i64, GrownLog>) {
        match news {
            LogNews::Grown(head) => {
                if let Some((key, seen)) = self.hub.logs.behind(no, head) {
                    grown.insert(no, GrownLog { no, key, seen, head });
                }
            }
            LogNews::Changed => {
                if let Some(key) = self.hub.logs.key(no) {
                    self.hub.logs.end(&key);
                }
            }
        }
    }

    /// Looks at everything that is waited for.
    async fn look(&mut self) {
        self.hub.late.fetch_add(self.unheard.take(), Ordering::Relaxed);
        for seen in self.hub.logs.ends().chunks(MAX_KEYS) {
            if let Err(error) = self.look_at_logs(seen).await {
                tracing::debug!(%error, "followed logs cannot be looked at");
            }
        }
        for scopes in self.hub.scopes.keys().chunks(MAX_KEYS) {
            let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
            let sql = "SELECT scope, notifications FROM forgeline.scope WHERE scope = ANY($1)";
            let rows = self.pool.rows(RepeatRule::Safe, sql, values![scopes]).await;
            for row in rows.unwrap_or_default() {
                if let (Ok(scope), Ok(count)) = (column::<String>(&row, 0), count(&row, 1)) {
                    self.hub.scopes.reach(&scope, count);
                }
            }
        }
        for runs in self.hub.commands.keys().chunks(MAX_KEYS) {
            let runs = runs.to_vec();
            let sql = "SELECT run.no, (SELECT count(*) + count(answer) FROM forgeline.command WHERE command.run = run.no) \
                       FROM forgeline.run WHERE no = ANY($1) AND ended_ms IS NULL";
            let Ok(rows) = self.pool.rows(RepeatRule::Safe, sql, values![runs]).await else {
                continue;
            };
            let counts: BTreeMap<i64, u64> = rows
                .iter()
                .filter_map(|row| Some((column(row, 0).ok()?, count(row, 1).ok()?)))
                .collect();
            for run in &runs {
                match counts.get(run) {
                    Some(count) => self.hub.commands.reach(run, *count),
                    None => self.hub.commands.wake(run),
                }
            }
        }
    }

    /// Looks at logs, by their numbers and the ends that were seen before.
    async fn look_at_logs(&mut self, seen: &[(i64, u64)]) -> Result<(), StoreError> {
        let sql = "SELECT no, head, state = 0 FROM forgeline.log WHERE no = ANY($1)";
        let numbers: Vec<_> = seen.iter().map(|(no, _)| *no).collect();
        let rows = self.pool.rows(RepeatRule::Safe, sql, values![numbers]).await?;
        let seen: BTreeMap<i64, u64> = seen.iter().copied().collect();
        let mut left: BTreeMap<i64, LogNews> =
            seen.keys().map(|no| (*no, LogNews::Changed)).collect();
        for row in &rows {
            if column::<bool>(row, 2)? {
                let (no, head) = (column(row, 0)?, count(row, 1)?);
                // Not the end by now: a record may have been added since the statement.
                if seen.get(&no).is_some_and(|seen| head < *seen) {
                    self.hub.logs.shrink(no, head);
                }
                left.insert(no, LogNews::Grown(head));
            }
        }
        let mut grown = BTreeMap::new();
        for (no, news) in left {
            self.take(no, news, &mut grown);
        }
        for log in grown.values() {
            self.unheard.found(log.no, log.seen, log.head);
        }
        self.read(grown.into_values().collect()).await;
        Ok(())
    }

    /// Reads the new records of logs in one statement, and wakes their readers.
    async fn read(&self, grown: Vec<GrownLog>) {
        let short = || grown.iter().filter(|log| log.head - log.seen <= MAX_READ);
        let numbers: Vec<_> = short().map(|log| log.no).collect();
        let ends: Vec<_> = short().map(|log| int(log.seen)).collect();
        let sql = "SELECT event.log, event.seq, event.kind, event.data \
                   FROM unnest($1::bigint[], $2::bigint[]) AS grown (no, seen) \
                   CROSS JOIN LATERAL (SELECT * FROM forgeline.event WHERE log = grown.no AND seq >= grown.seen \
                   AND octet_length(data) <= $3 ORDER BY seq LIMIT $4) AS event ORDER BY event.log, event.seq LIMIT $4";
        let mut found: BTreeMap<i64, Vec<LogRecord>> = BTreeMap::new();
        if !numbers.is_empty() {
            let place = values![numbers, ends, MAX_BYTES, MAX_ROWS];
            let rows = self.pool.rows(RepeatRule::Safe, sql, place).await;
            for row in rows.unwrap_or_default() {
                let Ok((no, seq, record)) = event_row(&row) else { continue };
                let Some(log) = grown.iter().find(|log| log.no == no) else { continue };
                let records = found.entry(no).or_default();
                // Records behind one that is too long are left to the readers.
                if log.seen + records.len() as u64 == seq {
                    records.push(record);
                }
            }
        }
        for log in &grown {
            let records = found.remove(&log.no).unwrap_or_default();
            let is_whole = log.seen + records.len() as u64 >= log.head;
            if is_whole {
                self.hub.logs.add(&log.key, log.seen, &records);
            } else {
                self.hub.logs.end(&log.key);
            }
        }
    }
}

fn event_row(row: &tokio_postgres::Row) -> Result<(i64, u64, LogRecord), StoreError> {
    let record = LogRecord::new(column::<&str>(row, 2)?, column::<Vec<u8>>(row, 3)?);
    Ok((column(row, 0)?, count(row, 1)?, record))
}
