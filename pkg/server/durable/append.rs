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

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::{super::config::StreamConfig, *};

    fn headers(fields: &[(&str, &str)]) -> HeaderMap {
        let pairs = fields.iter().map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        });
        pairs.collect()
    }

    fn state() -> StreamState {
        let config: StreamConfig =
            serde_json::from_value(serde_json::json!({ "content_type": "text/plain" })).unwrap();
        StreamState::begin(&StreamState::created(1, "ann", config)).unwrap()
    }

    /// Judges an append of a producer; applies what it adds, and returns a word for the verdict.
    fn append(state: &mut StreamState, (id, epoch, seq): (&str, u64, u64)) -> String {
        let (epoch, seq) = (epoch.to_string(), seq.to_string());
        let fields = [
            ("content-type", "text/plain"),
            ("producer-id", id),
            ("producer-epoch", &epoch),
            ("producer-seq", &seq),
        ];
        let append = StreamAppend::parse(&headers(&fields), Bytes::from_static(b"x")).unwrap();
        match append.judge(state) {
            AppendVerdict::Append(records) => {
                for record in &records {
                    state.apply(record);
                }
                "appended".to_owned()
            }
            AppendVerdict::Repeated => "repeated".to_owned(),
            AppendVerdict::Stale(epoch) => format!("stale {epoch}"),
            AppendVerdict::Gap { expected, received } => format!("gap {expected} {received}"),
            AppendVerdict::Closed => "closed".to_owned(),
            AppendVerdict::Refused(problem) => {
                format!("refused {}", axum::response::IntoResponse::into_response(problem).status())
            }
        }
    }

    #[test]
    fn a_producer_appends_once_and_in_order_and_a_new_epoch_begins_at_0() {
        let mut state = state();
        #[rustfmt::skip]
        let rows = [
            (("p", 0, 1), "gap 0 1"),      // The first append of a producer is number 0.
            (("p", 0, 0), "appended"),
            (("p", 0, 0), "repeated"),     // The last append again, whose response was lost.
            (("p", 0, 1), "appended"),
            (("p", 0, 1), "repeated"),
            (("p", 0, 0), "repeated"),     // An older one.
            (("p", 0, 3), "gap 2 3"),
            (("p", 0, 2), "appended"),
            (("p", 1, 3), "refused 400 Bad Request"),
            (("p", 1, 1), "refused 400 Bad Request"),
            (("p", 5, 0), "appended"),
            (("p", 5, 0), "repeated"),
            (("p", 4, 0), "stale 5"),
            (("p", 0, 3), "stale 5"),
            (("q", 0, 0), "appended"),     // Another producer is counted by itself.
            (("p", 5, 1), "appended"),
        ];
        let mut bytes = 0;
        for (place, want) in rows {
            assert_eq!(append(&mut state, place), want, "{place:?}");
            bytes += usize::from(want == "appended");
            assert_eq!(state.bytes, bytes, "{place:?}");
        }
        state.apply(&LogRecord::new(CLOSED, Bytes::new()));
        assert_eq!(append(&mut state, ("p", 5, 1)), "repeated", "it was appended before the end");
        assert_eq!(append(&mut state, ("p", 5, 2)), "closed");
        assert_eq!(append(&mut state, ("r", 0, 0)), "closed");
    }

    #[test]
    fn a_stream_remembers_so_many_producers() {
        let mut state = state();
        for number in 0..MAX_PRODUCERS {
            assert_eq!(append(&mut state, (&format!("p{number}"), 0, 0)), "appended");
        }
        assert_eq!(append(&mut state, ("one more", 0, 0)), "refused 400 Bad Request");
        assert_eq!(state.producers.len(), MAX_PRODUCERS);
        // Those that it has go on.
        assert_eq!(append(&mut state, ("p7", 0, 1)), "appended");
        assert_eq!(append(&mut state, ("p8", 1, 0)), "appended");
    }
}
