//! An exchange while it goes on.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    Answer, Ended, Exchange, Failure, Read, RecordedResponse, Words, parts, words_of,
    writer::Writer,
};
use crate::{
    llm::transport::{HttpRequest, HttpResponse, TransportError},
    types::Text,
};

/// What is known of an exchange; it goes to the writer when this value ends, however that happens.
pub(super) struct Underway {
    writer: Arc<Writer>,
    finished: Option<Finished>,
    begun: Instant,
    max_body_bytes: usize,
}

/// An exchange that has ended, with its secrets still in it.
pub(super) struct Finished {
    turn: u32,
    request: HttpRequest,
    words: Words,
    answer: Raw,
    ended: Ended,
    max_body_bytes: usize,
}

enum Raw {
    None,
    Failed(Failure),
    Response {
        status: u16,
        headers: Vec<(Text, Text)>,
        head: Duration,
        body: Vec<u8>,
        reads: Vec<Read>,
        cut: bool,
    },
}

impl Underway {
    pub(super) fn new(
        writer: Arc<Writer>,
        turn: u32,
        request: HttpRequest,
        words: Words,
        max_body_bytes: usize,
    ) -> Self {
        let (answer, ended) = (Raw::None, Ended::Dropped);
        let finished = Finished { turn, request, words, answer, ended, max_body_bytes };
        Self { writer, finished: Some(finished), begun: Instant::now(), max_body_bytes }
    }

    /// The head of the response came.
    pub(super) fn head(&mut self, response: &HttpResponse) {
        let head = self.begun.elapsed();
        if let Some(finished) = &mut self.finished {
            finished.answer = Raw::Response {
                status: response.status,
                headers: response.headers.clone(),
                head,
                body: Vec::new(),
                reads: Vec::new(),
                cut: false,
            };
        }
    }

    /// A piece of the body came.
    pub(super) fn read(&mut self, bytes: &Bytes) {
        let at = self.begun.elapsed();
        let most = self.max_body_bytes;
        if let Some(Finished { answer: Raw::Response { body, reads, cut, .. }, .. }) =
            &mut self.finished
        {
            let kept = bytes.get(..most.saturating_sub(body.len())).unwrap_or(bytes);
            *cut |= kept.len() < bytes.len();
            // An empty read carries nothing.
            if !kept.is_empty() {
                body.extend_from_slice(kept);
                reads.push(Read::new(kept.len(), at));
            }
        }
    }

    /// The exchange came to its end.
    pub(super) fn whole(&mut self) {
        self.end(Ended::Whole);
    }

    /// The exchange failed.
    pub(super) fn broken(&mut self, error: &TransportError) {
        if let Some(finished) = &mut self.finished
            && matches!(finished.answer, Raw::None)
        {
            finished.answer = Raw::Failed(Failure::of(error, str::to_owned));
        }
        self.end(Ended::Broken);
    }

    fn end(&mut self, ended: Ended) {
        if let Some(mut finished) = self.finished.take() {
            finished.ended = ended;
            self.writer.push(finished);
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.end(Ended::Dropped);
    }
}

impl Finished {
    /// The exchange without its secrets. Slow: it belongs into the writer's thread.
    pub(super) fn into_exchange(self) -> Exchange {
        let mut words = words_of(&self.request, self.words);
        if let Raw::Response { body, .. } = &self.answer {
            words.learn(body);
        }
        let body_cut = self.request.body_bytes() > self.max_body_bytes;
        let body = if body_cut { Value::Null } else { shown_body(&self.request.body, &words) };
        let answer = match self.answer {
            Raw::None => Answer::Dropped,
            Raw::Failed(Failure { kind, host, message }) => Answer::Failed(Failure {
                kind,
                host: Text::from(words.strike_text(&host)),
                message: Text::from(words.strike_text(&message)),
            }),
            Raw::Response { status, headers, head, mut body, reads, cut } => {
                words.strike(&mut body);
                let headers = parts::shown_headers(&headers, &words);
                Answer::Response(RecordedResponse {
                    status,
                    headers,
                    head,
                    body: body.into(),
                    reads,
                    cut,
                })
            }
        };
        Exchange {
            turn: self.turn,
            method: self.request.method,
            url: parts::shown_url(&self.request.url, &words),
            headers: parts::shown_headers(&self.request.headers, &words),
            body,
            body_cut,
            answer,
            ended: self.ended,
        }
    }
}

/// A request's body without `words`: its JSON, else its text; null when it is empty.
pub(crate) fn shown_body(segments: &[Bytes], words: &Words) -> Value {
    let mut bytes = segments.concat();
    if bytes.is_empty() {
        return Value::Null;
    }
    words.strike(&mut bytes);
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    serde_json::from_slice(&bytes).unwrap_or_else(|_| text())
}
