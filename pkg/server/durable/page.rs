//! Paged reading of a stream.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    offset::StreamOffset, saved_encoders::SavedEncoders, source::MessageSource, state::StreamState,
};
use crate::runs::record_stream;
use forgeline_store::{EventLog, LogKey, LogPage, StoreError};

/// Maximum number of records read at a time.
const PAGE: usize = 64;

/// Size of the messages after which a page ends, in bytes.
const PAGE_BYTES: usize = 1 << 20;

/// A reader of a stream.
pub(crate) struct StreamReader {
    log: Arc<dyn EventLog>,
    key: LogKey,
    created: u64,
    pub(crate) source: MessageSource,
    at: u64,
    /// `true` for a stream that another node can delete and create again meanwhile.
    is_shared: bool,
    /// The saved encoders, for readers that reconnect.
    past: Option<Arc<SavedEncoders>>,
}

/// A sequence of consecutive messages.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct StreamPage {
    pub(crate) messages: Vec<Bytes>,
    /// `true` if the page reaches the current end of the stream.
    pub(crate) is_tail: bool,
    /// `true` if nothing will follow.
    pub(crate) is_closed: bool,
}

impl StreamReader {
    /// Returns a reader that starts at record `from`.
    pub(crate) async fn open(
        log: Arc<dyn EventLog>,
        (key, created): (LogKey, u64),
        source: MessageSource,
        from: u64,
        past: Option<Arc<SavedEncoders>>,
    ) -> Result<Self, StoreError> {
        let from = from.max(source.first());
        // An invalid position is reported before a response starts.
        read_page(&*log, &key, &source, (from, 1)).await?;
        let known = past.as_ref().and_then(|past| past.get(&key, from));
        let source = match (known, source) {
            (Some(encoder), MessageSource::AgUi(_, sharing)) => {
                let source = MessageSource::AgUi(Box::new(encoder), sharing);
                return Ok(Self { log, key, created, source, at: from, is_shared: false, past });
            }
            (_, source) => source,
        };
        let mut reader = Self { log, key, created, source, at: from, is_shared: false, past };
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

    /// Returns the reader; in a store that nodes share, it ends once another node deletes the stream and creates it again.
    pub(crate) fn of_shared(self, is_shared: bool) -> Self {
        Self { is_shared, ..self }
    }

    /// Returns the position after the last record that was read.
    pub(crate) fn offset(&self) -> StreamOffset {
        StreamOffset { created: self.created, number: self.at }
    }

    /// Reads the next page, which may be empty.
    pub(crate) async fn page(&mut self) -> Result<StreamPage, StoreError> {
        let page = read_page(&*self.log, &self.key, &self.source, (self.at, PAGE)).await?;
        let has_news = !page.records.is_empty() || page.is_end;
        if self.is_shared
            && has_news
            && !StreamState::is_in(&*self.log, &self.key, self.created).await?
        {
            return Err(StoreError::not_found("log", self.key.name.clone()));
        }
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
        Ok(StreamPage { messages, is_tail, is_closed })
    }

    /// Ends the reader and saves its encoder, so that a reader that reconnects need not read the earlier events again.
    pub(crate) fn leave(self) {
        if let (Some(past), MessageSource::AgUi(encoder, _)) = (&self.past, &self.source) {
            past.keep(&self.key, self.at, encoder);
        }
    }

    /// Waits until there is more to read.
    pub(crate) async fn wait(&self) -> Result<(), StoreError> {
        let more = self.log.wait(&self.key, self.at);
        match self.source.run() {
            // The log may lack the end of the run.
            Some(run) => run.end_not_logged().run_until_cancelled(more).await.unwrap_or(Ok(())),
            None => more.await,
        }
    }
}

/// Reads at most `most` records of a stream, from number `from` on.
async fn read_page(
    log: &dyn EventLog,
    key: &LogKey,
    source: &MessageSource,
    (from, most): (u64, usize),
) -> Result<LogPage, StoreError> {
    match source.run() {
        Some(run) => record_stream::page(log, run, from, most).await,
        None => log.read(key, from, most).await,
    }
}
