//! Responses with a part of a run: they end when the run waits for its reader, and another response continues from there.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::response::Response;
use bytes::Bytes;
use futures_core::{Stream, future::BoxFuture};
use futures_util::StreamExt as _;
use memchr::memmem;
use serde::Deserialize;
use tokio::time::{sleep, timeout};

use super::{body, context::ReaderContext, shared_reader::SharedReader};
use crate::{
    Problem,
    commands::{act::RunAct, outcome::ActOutcome, send::send_elsewhere},
    encode::{
        AgUi, AnswerStream, AnswerWhole, EncodeMessages, FrontProtocol, UiMessageStream,
        WholeAnswer, message_writer::MessageWriter,
    },
    runs::{
        piece_allocator::PieceAllocator,
        record_stream::RecordStream,
        run::{ServiceRun, WaitsFor},
        run_guard::RunGuard,
    },
};
use forgeline_agent::RunInput;
use forgeline_store::{EventLog, LogRecord, StoreError};
use forgeline_types::{Part, Text};

/// Maximum number of records read at a time.
const PAGE: usize = 256;

/// Time without an event after which a waiting run is considered to wait only for its reader.
const SETTLED: Duration = Duration::from_millis(150);

/// Pause before another node is asked again whether a run waits.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// An encoder whose response may end while the run waits.
pub(crate) trait PausableEncoder: EncodeMessages + Send + 'static {
    /// The kinds of waits that its readers can end.
    const ENDS: WaitsFor;

    fn pause(&mut self, run: &ServiceRun, next: u64, out: &mut Vec<u8>);

    /// Returns `true` once nothing follows, whatever the run does.
    fn has_ended(&self) -> bool {
        false
    }
}

impl PausableEncoder for UiMessageStream {
    // A question is answered elsewhere, while the message continues.
    const ENDS: WaitsFor = WaitsFor::Calls;

    fn pause(&mut self, run: &ServiceRun, next: u64, out: &mut Vec<u8>) {
        Self::pause(self, run.id(), next, out);
    }
}

impl PausableEncoder for AgUi {
    const ENDS: WaitsFor = WaitsFor::Anything;

    fn pause(&mut self, run: &ServiceRun, _next: u64, out: &mut Vec<u8>) {
        Self::pause(self, run.id(), out);
    }
}

// A person decides elsewhere, while the response goes on.
impl<P: FrontProtocol> PausableEncoder for AnswerStream<P> {
    const ENDS: WaitsFor = WaitsFor::Client;

    fn pause(&mut self, run: &ServiceRun, _next: u64, out: &mut Vec<u8>) {
        Self::pause(self, run.id(), &mut MessageWriter::frames(out));
    }

    fn has_ended(&self) -> bool {
        Self::has_ended(self)
    }
}

impl<P: FrontProtocol> PausableEncoder for AnswerWhole<P> {
    const ENDS: WaitsFor = WaitsFor::Client;

    fn pause(&mut self, run: &ServiceRun, _next: u64, _out: &mut Vec<u8>) {
        Self::pause(self, run.id());
    }

    fn has_ended(&self) -> bool {
        Self::has_ended(self)
    }
}

/// The query of a request that starts a run and reads it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadingQuery {
    pub(crate) agent: Option<Text>,
    pub(crate) model: Option<Text>,
    /// The action on the run when its reader disconnects.
    on_disconnect: Option<DisconnectAction>,
}

/// The action on a run whose reader disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DisconnectAction {
    Cancel,
}

impl ReadingQuery {
    /// Returns the input of a message, for the model that the query selects.
    pub(crate) fn input(&self, said: Vec<Part>) -> RunInput {
        let input = RunInput::from(said);
        match &self.model {
            Some(model) => input.model(model.clone()),
            None => input,
        }
    }

    /// Returns a guard that cancels the run on drop, if the query asks for it.
    pub(crate) fn guard(&self, run: &Arc<ServiceRun>) -> Option<RunGuard> {
        self.on_disconnect.map(|leave| leave.guard(run))
    }
}

impl DisconnectAction {
    /// Returns a guard that cancels the run on drop, wherever it works.
    pub(crate) fn guard(self, run: &Arc<ServiceRun>) -> RunGuard {
        let Self::Cancel = self;
        if run.may_move() {
            return RunGuard::sending(cancel_anywhere(Arc::clone(run)));
        }
        RunGuard::new(run.cancel.clone())
    }
}

/// Returns a response that reads a run from number `from` on, until the run waits for its reader.
pub(crate) async fn answer<P: PausableEncoder>(
    readers: &ReaderContext,
    run: Arc<ServiceRun>,
    from: u64,
    encoder: P,
    guard: Option<RunGuard>,
) -> Result<Response, Problem> {
    let log = Arc::clone(&readers.log);
    // An invalid number is reported before the response begins.
    log.read(&run.key, from, 1).await?;
    Ok(body::streamed(Box::pin(frames(log, run, from, encoder, guard)), readers.ends.clone()))
}

/// Reads a run from its beginning to its end, or until it waits for its reader, and returns the whole answer. Dropping this future drops the guard.
pub(crate) async fn whole<P: FrontProtocol>(
    readers: &ReaderContext,
    run: Arc<ServiceRun>,
    (encoder, answer): (AnswerWhole<P>, Arc<OnceLock<WholeAnswer>>),
    guard: Option<RunGuard>,
) -> Result<WholeAnswer, Problem> {
    let mut read = Box::pin(frames(Arc::clone(&readers.log), run, 0, encoder, guard));
    let reading = async { while read.next().await.is_some() {} };
    readers.ends.run_until_cancelled(reading).await;
    // The rest of the run is in the log, wherever it works next.
    let lost =
        || Problem::busy("the answer could not be read to its end; send the request again", 5);
    answer.get().cloned().ok_or_else(lost)
}

fn frames<P: PausableEncoder>(
    log: Arc<dyn EventLog>,
    run: Arc<ServiceRun>,
    from: u64,
    mut encoder: P,
    mut guard: Option<RunGuard>,
) -> impl Stream<Item = Bytes> + Send {
    async_stream::stream! {
        let mut at = 0;
        if from > 0 {
            let passed = pass(&*log, &run, from, &mut encoder).await;
            if let Err(error) = passed {
                return tracing::debug!(%error, "disconnected a reader");
            }
            at = from;
        }
        // The node that has the run knows whether it waits.
        let mut may_wait = run.elsewhere().is_some() || run.waits_for(P::ENDS);
        let shared = SharedReader::enter(&run);
        let mut records = RecordStream::new(Arc::clone(&log), Arc::clone(&run), at);
        let mut asked: Option<BoxFuture<'static, Option<bool>>> = None;
        let mut pieces = PieceAllocator::default();
        loop {
            let step = match &mut asked {
                Some(answer) => tokio::select! {
                    biased;
                    next = records.next() => ReadStep::Record(next),
                    answer = answer => ReadStep::Answer(answer),
                },
                None if may_wait => {
                    let next = timeout(SETTLED, records.next()).await;
                    next.map_or(ReadStep::Settled, ReadStep::Record)
                }
                None => ReadStep::Record(records.next().await),
            };
            let waits = match step {
                ReadStep::Record(Some(Ok((number, record)))) => {
                    (may_wait, asked) = (may_wait || asks(&record), None);
                    at = number + 1;
                    let frames = pieces.piece(|out| {
                        let out = &mut MessageWriter::frames(out);
                        shared.encode(&mut encoder, number, &record, out);
                    });
                    if !frames.is_empty() {
                        yield frames;
                    }
                    if encoder.has_ended() {
                        break;
                    }
                    continue;
                }
                ReadStep::Record(Some(Err(error))) => {
                    return tracing::debug!(%error, "disconnected a reader");
                }
                ReadStep::Record(None) => break,
                ReadStep::Settled if run.elsewhere().is_some() => {
                    asked = Some(Box::pin(is_awaited(Arc::clone(&log), Arc::clone(&run), at, P::ENDS)));
                    continue;
                }
                // The run has not reopened every request that it waited for.
                ReadStep::Settled if !run.has_recovered() => continue,
                ReadStep::Settled => run.waits_for(P::ENDS),
                ReadStep::Answer(answer) => {
                    asked = None;
                    let Some(waits) = answer else { continue };
                    waits
                }
            };
            may_wait = waits;
            if waits {
                run.pause(at);
                let mut out = Vec::new();
                encoder.pause(&run, at, &mut out);
                // A reader that has received all events did not disconnect.
                if let Some(guard) = &mut guard {
                    guard.disarm();
                }
                yield out.into();
                return;
            }
        }
        if let Some(guard) = &mut guard {
            guard.disarm();
        }
    }
}

/// A step of a reader.
enum ReadStep {
    Record(Option<Result<(u64, LogRecord), StoreError>>),
    /// No record came for a while.
    Settled,
    /// The node that has the run answered whether the run waits, if it knows.
    Answer(Option<bool>),
}

/// Asks the node that has a run whether the run waits for a reader that has all events before number `next`; `None` if that is not known yet.
async fn is_awaited(
    log: Arc<dyn EventLog>,
    run: Arc<ServiceRun>,
    next: u64,
    ends: WaitsFor,
) -> Option<bool> {
    match send_elsewhere(&run, RunAct::Pause { next, ends }).await {
        Ok(ActOutcome::From(_)) => match log.read(&run.key, u64::MAX, 1).await {
            Err(StoreError::Behind { end, .. }) if end > next => None,
            _ => Some(true),
        },
        Ok(ActOutcome::Works) => Some(false),
        Ok(_) | Err(_) => {
            sleep(ASK_AGAIN).await;
            None
        }
    }
}

/// Cancels a run, on whichever node it works by now.
async fn cancel_anywhere(run: Arc<ServiceRun>) {
    if run.elsewhere().is_none() {
        return run.cancel.cancel();
    }
    if let Err(error) = send_elsewhere(&run, RunAct::Cancel).await {
        tracing::error!(%error, run_id = run.id(), "a run whose reader left could not be cancelled");
    }
}

/// Advances the encoder to the point where an earlier response was paused.
async fn pass<P: PausableEncoder>(
    log: &dyn EventLog,
    run: &ServiceRun,
    from: u64,
    encoder: &mut P,
) -> Result<(), StoreError> {
    let (mut at, mut passed) = (0, Vec::new());
    while at < from {
        let most = usize::try_from(from - at).unwrap_or(PAGE).min(PAGE);
        let page = log.read(&run.key, at, most).await?;
        if page.records.is_empty() {
            break;
        }
        for record in &page.records {
            body::encode(encoder, record, &mut MessageWriter::frames(&mut passed));
            passed.clear();
        }
        at = page.next;
    }
    encoder.pause(run, at, &mut Vec::new());
    Ok(())
}

/// Returns `true` for an event after which a run may wait, including events of sub-agents.
fn asks(record: &LogRecord) -> bool {
    let kinds = ["tool_approval_request", "client_tool_request", "tool_question"];
    kinds.iter().any(|kind| {
        record.kind == *kind
            || (record.kind == "custom" && memmem::find(&record.data, kind.as_bytes()).is_some())
    })
}

#[cfg(test)]
mod tests {
    use forgeline_store::{InMemoryLog, LogKey, StoredRun};
    use forgeline_types::Envelope;

    use super::*;
    use crate::encode::RunEnd;

    /// Counts the events, and keeps the number with which it was paused.
    #[derive(Default)]
    struct Counter(u64, u64);

    impl EncodeMessages for Counter {
        fn encode_event(&mut self, _: &Envelope, _: &mut MessageWriter<'_>) {
            self.0 += 1;
        }

        fn encode_end(&mut self, _: &RunEnd, _: &mut MessageWriter<'_>) {}
    }

    impl PausableEncoder for Counter {
        const ENDS: WaitsFor = WaitsFor::Anything;

        fn pause(&mut self, _: &ServiceRun, next: u64, _: &mut Vec<u8>) {
            self.1 = next;
        }
    }

    #[tokio::test]
    async fn an_encoder_is_paused_at_the_event_where_the_earlier_response_was() {
        let (log, key) = (InMemoryLog::new(), LogKey::new("team", "run"));
        log.create(key.clone()).await.unwrap();
        let event = r#"{"run_id":"r","turn":1,"seq":0,"at":1,"type":"thinking_start"}"#;
        let records = (0..700).map(|_| LogRecord::new("thinking_start", event)).collect();
        log.append(&key, 0, records, None).await.unwrap();
        let run = ServiceRun::claimed(&StoredRun::new(key, "c", "ann", "main", 1));
        for from in [1, 255, 256, 257, 300, 513, 700] {
            let mut encoder = Counter::default();
            pass(&log, &run, from, &mut encoder).await.unwrap();
            assert_eq!((encoder.0, encoder.1), (from, from));
        }
    }
}
