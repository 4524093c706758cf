//! Appends to a stream, and their outcomes.

use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;

use super::{
    body, headers,
    state::{CLOSED, DATA, ProducerPosition, SEQ, StreamState},
};
use crate::Problem;
use forgeline_store::LogRecord;
use forgeline_types::Text;

/// Maximum size of the data of a stream, in bytes.
const MAX_STREAM_BYTES: usize = 64 << 20;

/// Maximum number of producers of a stream.
const MAX_PRODUCERS: usize = 1_000;

/// An append that a request asks for.
#[derive(Debug)]
pub(crate) struct StreamAppend {
    content_type: Option<Text>,
    data: Bytes,
    closes: bool,
    seq: Option<Text>,
    producer: Option<(Text, ProducerPosition)>,
}

/// The outcome of an append.
#[derive(Debug)]
pub(crate) enum AppendVerdict {
    /// The append adds these records.
    Append(Vec<LogRecord>),
    /// The append was already made; its effect is in place.
    Repeated,
    /// The producer's epoch has been superseded by this one.
    Stale(u64),
    /// The producer skipped appends.
    Gap { expected: u64, received: u64 },
    /// The stream is closed.
    Closed,
    /// The append does not fit the stream.
    Refused(Problem),
}

impl StreamAppend {
    pub(crate) fn parse(headers: &HeaderMap, data: Bytes) -> Result<Self, Problem> {
        let content_type = headers::text(headers, &header::CONTENT_TYPE)?;
        let closes = headers::is_closed(headers)?;
        if data.is_empty() && !closes {
            return Err(Problem::bad("the body is empty; send the data to append"));
        }
        let content_type = content_type.filter(|it| !it.is_empty()).map(Into::into);
        if content_type.is_none() && !data.is_empty() {
            return Err(Problem::bad(
                "the header `content-type` is missing; send the type of the stream",
            ));
        }
        let seq = headers::text(headers, &headers::SEQ)?.map(Into::into);
        Ok(Self { content_type, data, closes, seq, producer: producer(headers)? })
    }

    /// Returns the producer of the append, whose state the response reports.
    pub(crate) fn producer(&self) -> Option<&Text> {
        self.producer.as_ref().map(|(id, _)| id)
    }

    /// Returns `true` if there are data.
    pub(crate) fn has_data(&self) -> bool {
        !self.data.is_empty()
    }

    /// Decides the outcome of the append. A repeated append is recognized before anything else is checked, so that a client that retries gets the response
    /// that was lost.
    pub(crate) fn judge(&self, state: &StreamState) -> AppendVerdict {
        if let Some((id, ProducerPosition { epoch, seq })) = &self.producer {
            match state.producers.get(id) {
                Some(known) if *epoch < known.epoch => return AppendVerdict::Stale(known.epoch),
                Some(known) if *epoch == known.epoch && *seq <= known.seq => {
                    return AppendVerdict::Repeated;
                }
                _ if state.is_closed => return AppendVerdict::Closed,
                Some(known) if *epoch == known.epoch && *seq != known.seq.saturating_add(1) => {
                    return AppendVerdict::Gap {
                        expected: known.seq.saturating_add(1),
                        received: *seq,
                    };
                }
                Some(known) if *epoch > known.epoch && *seq != 0 => {
                    let detail = format!("a new epoch starts with `producer-seq` 0, not {seq}");
                    return AppendVerdict::Refused(Problem::bad(detail));
                }
                None if *seq != 0 => return AppendVerdict::Gap { expected: 0, received: *seq },
                None if state.producers.len() >= MAX_PRODUCERS => {
                    let detail = format!("a stream has at most {MAX_PRODUCERS} producers");
                    return AppendVerdict::Refused(Problem::bad(detail));
                }
                Some(_) | None => {}
            }
        }
        if state.is_closed {
            return if self.has_data() { AppendVerdict::Closed } else { AppendVerdict::Repeated };
        }
        self.records(state).unwrap_or_else(AppendVerdict::Refused)
    }

    fn records(&self, state: &StreamState) -> Result<AppendVerdict, Problem> {
        let conflict = |code, detail: String| Problem::new(StatusCode::CONFLICT, code, detail);
        let config = &state.config;
        if self.has_data()
            && let Some(content_type) = self.content_type.as_ref().filter(|it| !config.has_type(it))
        {
            let known = &config.content_type;
            let detail =
                format!("the content type of the stream is `{known}`, not `{content_type}`");
            return Err(conflict("other_type", detail));
        }
        if let (Some(seq), Some(last)) = (&self.seq, &state.seq)
            && seq <= last
        {
            let detail = format!("`stream-seq` must be greater than `{last}`, not `{seq}`");
            return Err(conflict("seq_behind", detail));
        }
        let data = body::part(config, &self.data)?;
        if data.is_empty() && self.has_data() {
            return Err(Problem::bad("the array is empty; send the data to append"));
        }
        let bytes: usize = data.iter().map(Bytes::len).sum();
        if state.bytes.saturating_add(bytes) > MAX_STREAM_BYTES {
            let detail = format!("a stream has at most {MAX_STREAM_BYTES} bytes; create another");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "stream_full", detail));
        }
        let mut records: Vec<_> = data.into_iter().map(|data| LogRecord::new(DATA, data)).collect();
        if let Some((id, place)) = &self.producer {
            records.push(StreamState::produced(id.clone(), *place));
        }
        if let Some(seq) = &self.seq {
            records.push(LogRecord::new(SEQ, Bytes::copy_from_slice(seq.as_bytes())));
        }
        if self.closes {
            records.push(LogRecord::new(CLOSED, Bytes::new()));
        }
        Ok(AppendVerdict::Append(records))
    }
}

/// Reads the headers of a producer, which are all present or all absent.
fn producer(headers: &HeaderMap) -> Result<Option<(Text, ProducerPosition)>, Problem> {
    let id = headers::text(headers, &headers::PRODUCER_ID)?;
    let epoch = headers::number(headers, &headers::PRODUCER_EPOCH)?;
    let seq = headers::number(headers, &headers::PRODUCER_SEQ)?;
    match (id, epoch, seq) {
        (None, None, None) => Ok(None),
        (Some(id), Some(epoch), Some(seq)) if !id.is_empty() => {
            Ok(Some((id.into(), ProducerPosition { epoch, seq })))
        }
        _ => Err(Problem::bad(
            "`producer-id`, `producer-epoch` and `producer-seq` must be sent together",
        )),
    }
}
