//! The task that makes the appends of this process: all that wait, in one statement.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::{Instant, sleep, sleep_until},
};

use super::{
    dial::Dialer,
    errors::StatementFailure,
    hub::ReaderHub,
    log_batch::{JoinedAppend, QueuedAppend, append},
    log_head::LogHeads,
    session::StatementSession,
    setup::DeltaCommit,
};
use crate::{
    LogKey, LogRecord, StoreError,
    time_limit::{WAIT, within},
};

/// Maximum number of pending appends.
const MAX_QUEUED: usize = 1_024;

/// Maximum size of the pending appends, in KiB.
const MAX_QUEUED_KIB: u32 = 64 << 10;

/// Maximum number of records in a statement, unless a single append has more.
const MAX_RECORDS: usize = 1_000;

/// Maximum size of the records in a statement, in bytes, unless a single append has more.
const MAX_BYTES: usize = 1 << 20;

/// Time from a statement for several logs to the next one: fewer statements, each of more appends, take less of the database. A log that is alone does not
/// wait.
const SPACING: Duration = Duration::from_millis(1);

/// The wait before a lost connection is replaced.
const PAUSE: Duration = Duration::from_millis(100);

/// A handle to the writer.
pub(super) struct LogWriter {
    queue: mpsc::Sender<QueuedAppend>,
    quota: Arc<Semaphore>,
}

impl LogWriter {
    /// Starts the writer, which ends after the last handle.
    pub(super) fn start(
        dialer: Arc<Dialer>,
        hub: Arc<ReaderHub>,
        heads: LogHeads,
        deltas: DeltaCommit,
    ) -> Self {
        let (queue, appends) = mpsc::channel(MAX_QUEUED);
        let task = AppendTask { dialer, hub, heads, deltas, client: None };
        tokio::spawn(task.run(appends));
        Self { queue, quota: Arc::new(Semaphore::new(MAX_QUEUED_KIB as usize)) }
    }

    /// Appends, and returns once the records are committed. If the future is dropped, all of them are appended or none.
    pub(super) async fn append(
        &self,
        key: &LogKey,
        at: u64,
        records: Vec<LogRecord>,
        epoch: Option<u64>,
    ) -> Result<(), StoreError> {
        let bytes = records.iter().map(|record| record.kind.len() + record.data.len()).sum();
        within(async {
            let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).saturating_add(1);
            let quota = Arc::clone(&self.quota).acquire_many_owned(kib.min(MAX_QUEUED_KIB));
            let quota = quota.await.map_err(|_| closed())?;
            let (reply, replied) = oneshot::channel();
            let (key, began) = (key.clone(), Instant::now());
            let append = QueuedAppend { key, at, records, epoch, began, bytes, reply, quota };
            self.queue.send(append).await.map_err(|_| closed())?;
            replied.await.map_err(|_| closed())?
        })
        .await
    }

    /// Refuses further appends.
    pub(super) fn close(&self) {
        self.quota.close();
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable { reason: "the store was closed".to_owned() }
}

struct AppendTask {
    dialer: Arc<Dialer>,
    hub: Arc<ReaderHub>,
    heads: LogHeads,
    deltas: DeltaCommit,
    client: Option<StatementSession>,
}

impl AppendTask {
    async fn run(mut self, mut appends: mpsc::Receiver<QueuedAppend>) {
        let mut waiting = Vec::new();
        let mut next = Instant::now();
        while !waiting.is_empty() || appends.recv_many(&mut waiting, MAX_QUEUED).await > 0 {
            sleep_until(next).await;
            while waiting.len() < MAX_QUEUED
                && let Ok(next) = appends.try_recv()
            {
                waiting.push(next);
            }
            let batch = next_batch(&mut waiting);
            if batch.len() > 1 {
                next = Instant::now() + SPACING;
            }
            self.write(batch).await;
        }
    }

    /// Makes appends and answers them.
    async fn write(&mut self, batch: Vec<JoinedAppend>) {
        match self.execute(&batch).await {
            Ok(logs) => {
                for (joined, no) in batch.into_iter().zip(logs) {
                    match no {
                        Some(no) => self.acknowledge(joined, no),
                        None => self.settle(joined).await,
                    }
                }
            }
            Err(StatementFailure::Refused(error)) if batch.len() == 1 => {
                for append in batch.into_iter().flat_map(|joined| joined.appends) {
                    append.answer(Err(error.clone()));
                }
            }
            // No append suffers from another. Where the outcome is unknown, the log is read first.
            Err(failure) => {
                let may_be_made = matches!(failure, StatementFailure::Lost(_));
                for append in batch.into_iter().flat_map(|joined| joined.appends) {
                    self.write_alone(append, may_be_made).await;
                }
            }
        }
    }

    /// Answers the appends of a log of which the first was not made.
    async fn settle(&mut self, joined: JoinedAppend) {
        let is_single = joined.appends.len() == 1;
        for append in joined.appends {
            if is_single {
                let error = self.refusal(&append.key, append.at, append.epoch).await;
                append.answer(Err(error));
            } else {
                self.write_alone(append, false).await;
            }
        }
    }

    /// Makes a single append, again after a failure that may pass, until its time is over.
    async fn write_alone(&mut self, append: QueuedAppend, mut may_be_made: bool) {
        let until = append.began + WAIT;
        let batch = vec![JoinedAppend { appends: vec![append] }];
        let mut done = Err(StoreError::Slow { limit: WAIT });
        while Instant::now() < until {
            let failure = match self.execute(&batch).await {
                Ok(logs) => {
                    let made = logs.first().copied().flatten();
                    done = self.outcome(&batch, made, may_be_made).await;
                    break;
                }
                Err(StatementFailure::Refused(error)) => {
                    done = Err(error);
                    break;
                }
                Err(failure) => failure,
            };
            may_be_made |= matches!(failure, StatementFailure::Lost(_));
            done = Err(failure.into_error());
            sleep(PAUSE).await;
        }
        for append in batch.into_iter().flat_map(|joined| joined.appends) {
            append.answer(done.clone());
        }
    }

    /// Returns what came of a single append. One that was not made this time may have been made before, by a statement whose outcome was unknown.
    async fn outcome(
        &self,
        batch: &[JoinedAppend],
        made: Option<i64>,
        may_be_made: bool,
    ) -> Result<(), StoreError> {
        let append = batch.first().and_then(|joined| joined.appends.first());
        let Some(QueuedAppend { key, at, records, epoch, .. }) = append else { return Ok(()) };
        let made = match made {
            None if may_be_made => self.heads.holds(key, *at, records).await?,
            made => made,
        };
        if let Some(no) = made {
            self.hub.grown(no, key, *at, records);
            return Ok(());
        }
        Err(self.refusal(key, *at, *epoch).await)
    }

    /// Returns the reason for which an append was not made.
    async fn refusal(&self, key: &LogKey, at: u64, epoch: Option<u64>) -> StoreError {
        let refused = self.heads.refusal(key, at, epoch).await;
        refused.unwrap_or_else(|| StoreError::Unavailable {
            reason: format!("log `{}` was changed meanwhile; append again", key.name),
        })
    }

    async fn execute(
        &mut self,
        batch: &[JoinedAppend],
    ) -> Result<Vec<Option<i64>>, StatementFailure> {
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            // A connection that was never made has executed nothing.
            None => self.dialer.session().await.map_err(StatementFailure::of_connecting)?,
        };
        let done = within(async { Ok(append(&client, batch, self.deltas).await) }).await;
        match done {
            Ok(done) => {
                self.client = Some(client);
                done
            }
            // The connection is given up.
            Err(_) => Err(StatementFailure::Lost("the server did not answer in time".to_owned())),
        }
    }

    fn acknowledge(&self, joined: JoinedAppend, no: i64) {
        for append in joined.appends {
            self.hub.grown(no, &append.key, append.at, &append.records);
            append.answer(Ok(()));
        }
    }
}

/// Takes the appends for one statement, in their order. Appends of one log that do not follow one another go into different statements.
fn next_batch(waiting: &mut Vec<QueuedAppend>) -> Vec<JoinedAppend> {
    let mut batch: Vec<JoinedAppend> = Vec::new();
    let mut places: HashMap<LogKey, Option<usize>> = HashMap::new();
    let (mut records, mut bytes) = (0, 0);
    let mut left = Vec::new();
    for append in waiting.drain(..) {
        let fits = batch.is_empty()
            || (records + append.records.len() <= MAX_RECORDS && bytes + append.bytes <= MAX_BYTES);
        let place = places.get(&append.key).copied();
        let joined = match place {
            _ if !fits => None,
            None => {
                batch.push(JoinedAppend::default());
                Some(batch.len() - 1)
            }
            Some(place) => place
                .filter(|at| batch.get(*at).is_some_and(|joined| joined.is_continued_by(&append))),
        };
        // Later appends of a log wait for one that waits.
        places.insert(append.key.clone(), joined);
        let Some(joined) = joined.and_then(|at| batch.get_mut(at)) else {
            left.push(append);
            continue;
        };
        records += append.records.len();
        bytes += append.bytes;
        joined.appends.push(append);
    }
    *waiting = left;
    // The statement locks runs in this order: two nodes must not wait for one another.
    batch.sort_by(|one, other| one.key().cmp(&other.key()));
    batch
}
