//! Paged reading of a stream.

use std::sync::Arc;

use bytes::Bytes;

use super::{offset::Offset, past::Past, source::Source};
use crate::{
    server::runs::records,
    store::{EventLog, LogError, LogKey, LogPage},
};

/// Maximum number of records read at a time.
const PAGE: usize = 64;

/// Size of the messages after which a page ends, in bytes.
const PAGE_BYTES: usize = 1 << 20;

/// A reader of a stream.
pub(super) struct Reader {
    log: Arc<dyn EventLog>,
    key: LogKey,
    created: u64,
    pub(super) source: Source,
    at: u64,
    /// The saved encoders, for readers that reconnect.
    past: Option<Arc<Past>>,
}

/// A sequence of consecutive messages.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Page {
    pub(super) messages: Vec<Bytes>,
    /// `true` if the page reaches the current end of the stream.
    pub(super) is_tail: bool,
    /// `true` if nothing will follow.
    pub(super) is_closed: bool,
}

impl Reader {
    /// Returns a reader that starts at record `from`.
    pub(super) async fn open(
        log: Arc<dyn EventLog>,
        (key, created): (LogKey, u64),
        source: Source,
        from: u64,
        past: Option<Arc<Past>>,
    ) -> Result<Self, LogError> {
        let from = from.max(source.first());
        // An invalid position is reported before a response starts.
        read(&*log, &key, &source, (from, 1)).await?;
        let known = past.as_ref().and_then(|past| past.get(&key, from));
        let source = match (known, source) {
            (Some(encoder), Source::AgUi(_, sharing)) => {
                let source = Source::AgUi(Box::new(encoder), sharing);
                return Ok(Self { log, key, created, source, at: from, past });
            }
            (_, source) => source,
        };
        let mut reader = Self { log, key, created, source, at: from, past };
        if reader.source.has_past() {
            reader.at = reader.source.first();
            let mut passed = Vec::new();
            while reader.at < from {
                let most = usize::try_from(from - reader.at).unwrap_or(PAGE).min(PAGE);
                let page = reader.log.read(&reader.key, reader.at, most).await?;
                if page.records.is_empty() {
                    break;
                }
                for (number, record) in (reader.at..).zip(&page.records) {
                    reader.source.messages(number, record, &mut passed);
                    passed.clear();
                }
                reader.at = page.next;
            }
        }
        Ok(reader)
    }

    /// Returns the position after the last record that was read.
    pub(super) fn offset(&self) -> Offset {
        Offset { created: self.created, number: self.at }
    }

    /// Reads the next page, which may be empty.
    pub(super) async fn page(&mut self) -> Result<Page, LogError> {
        let page = read(&*self.log, &self.key, &self.source, (self.at, PAGE)).await?;
        let (mut messages, mut bytes, mut has_end) = (Vec::new(), 0, false);
        let count = page.records.len();
        let mut taken = 0;
        for (number, record) in (self.at..).zip(&page.records) {
            self.source.messages(number, record, &mut messages);
            has_end |= self.source.is_end(record);
            bytes += record.data.len();
            taken += 1;
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        self.at += taken as u64;
        let is_all = taken == count;
        let is_closed = is_all && (page.is_end || has_end);
        let is_tail = is_closed || (is_all && count < PAGE);
        Ok(Page { messages, is_tail, is_closed })
    }

    /// Ends the reader and saves its encoder, so that a reader that reconnects need not read the earlier events again.
    pub(super) fn leave(self) {
        if let (Some(past), Source::AgUi(encoder, _)) = (&self.past, &self.source) {
            past.keep(&self.key, self.at, encoder);
        }
    }

    /// Waits until there is more to read.
    pub(super) async fn wait(&self) -> Result<(), LogError> {
        let more = self.log.wait(&self.key, self.at);
        match self.source.run() {
            // The log may lack the end of the run.
            Some(run) => run.untold().run_until_cancelled(more).await.unwrap_or(Ok(())),
            None => more.await,
        }
    }
}

/// Reads at most `most` records of a stream, from number `from` on.
async fn read(
    log: &dyn EventLog,
    key: &LogKey,
    source: &Source,
    (from, most): (u64, usize),
) -> Result<LogPage, LogError> {
    match source.run() {
        Some(run) => records::page(log, run, from, most).await,
        None => log.read(key, from, most).await,
    }
}
