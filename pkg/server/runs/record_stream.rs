//! The records of a run as its readers see them: the last one is its end, even if the log could not store it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::{Stream, stream::BoxStream};

use super::{
    cancel_wait::CancelWait,
    run::{RUN_END, ServiceRun, end_record},
};
use forgeline_store::{EventLog, LogKey, LogPage, LogRecord, StoreError};

/// Maximum number of records read at a time.
const PAGE: usize = 256;

/// Reads at most `most` records of a run, as [`EventLog::read`] does. If the run has ended and its log lacks the end, because the store was full or not
/// writable, the end is the record after the last one.
pub(crate) async fn page(
    log: &dyn EventLog,
    run: &ServiceRun,
    from: u64,
    most: usize,
) -> Result<LogPage, StoreError> {
    // Read before the log, whose records are complete once the run has ended.
    let end = run.end();
    let read = log.read(&run.key, from, most).await;
    let Some(mut end) = end else { return read };
    let mut page = match read {
        Err(StoreError::Behind { end: there, .. })
            if from == there.saturating_add(1) && !has_logged_end(log, &run.key, there).await? =>
        {
            return Ok(LogPage::new(Vec::new(), from, true));
        }
        read => read?,
    };
    let is_told = match page.records.last() {
        Some(last) => last.kind == RUN_END,
        None => has_logged_end(log, &run.key, page.next).await?,
    };
    if is_told {
        page.is_end = true;
    } else if page.is_end || page.records.is_empty() {
        page.is_end = page.records.len() < most;
        if page.is_end {
            end.seq = page.next;
            page.records.push(end_record(&end));
            page.next += 1;
        }
    }
    Ok(page)
}

/// Returns `true` if the record before this number is the end of a run.
async fn has_logged_end(log: &dyn EventLog, key: &LogKey, behind: u64) -> Result<bool, StoreError> {
    let Some(last) = behind.checked_sub(1) else { return Ok(false) };
    let page = log.read(key, last, 1).await?;
    Ok(page.records.first().is_some_and(|record| record.kind == RUN_END))
}

type NumberedRecord = Result<(u64, LogRecord), StoreError>;

/// The numbered records of a run from a number on: the available ones, then new ones until the end.
pub(crate) struct RecordStream {
    log: Arc<dyn EventLog>,
    run: Arc<ServiceRun>,
    read: BoxStream<'static, NumberedRecord>,
    /// The number of the next record.
    next: u64,
    has_end: bool,
    /// `None` once the log is no longer followed.
    end_not_logged: Option<CancelWait>,
}

impl RecordStream {
    pub(crate) fn new(log: Arc<dyn EventLog>, run: Arc<ServiceRun>, from: u64) -> Self {
        let read = Arc::clone(&log).follow(run.key.clone(), from);
        let end_not_logged = Some(CancelWait::new(run.end_not_logged()));
        Self { log, run, read, next: from, has_end: false, end_not_logged }
    }
}

impl Stream for RecordStream {
    type Item = NumberedRecord;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<NumberedRecord>> {
        let this = self.get_mut();
        loop {
            match this.read.as_mut().poll_next(context) {
                Poll::Ready(Some(Ok((number, record)))) => {
                    this.next = number + 1;
                    this.has_end |= record.kind == RUN_END;
                    return Poll::Ready(Some(Ok((number, record))));
                }
                Poll::Ready(None) if this.end_not_logged.is_some() && !this.has_end => {}
                Poll::Ready(other) => return Poll::Ready(other),
                Poll::Pending => {
                    let end_not_logged = this.end_not_logged.as_mut();
                    if !end_not_logged
                        .is_some_and(|end_not_logged| end_not_logged.poll(context).is_ready())
                    {
                        return Poll::Pending;
                    }
                    if this.has_end {
                        return Poll::Ready(None);
                    }
                }
            }
            this.end_not_logged = None;
            this.read = rest(Arc::clone(&this.log), Arc::clone(&this.run), this.next);
        }
    }
}

/// Reads the rest of a run that has ended.
fn rest(
    log: Arc<dyn EventLog>,
    run: Arc<ServiceRun>,
    from: u64,
) -> BoxStream<'static, NumberedRecord> {
    Box::pin(async_stream::try_stream! {
        let mut at = from;
        loop {
            let page = page(&*log, &run, at, PAGE).await?;
            let is_last = page.is_end || page.records.is_empty();
            for record in page.records {
                yield (at, record);
                at += 1;
            }
            if is_last {
                break;
            }
        }
    })
}
