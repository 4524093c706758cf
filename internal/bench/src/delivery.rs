//! What an event costs on its way to its readers: from the bytes of the model through the agent and the log to the body of an answer,
//! beside bodies of frames that were prepared.

use std::{convert::Infallible, sync::Arc, task::Poll};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Method, header, request::Parts},
    response::Response,
    routing::get,
};
use bytes::Bytes;
use forgeline::{
    agent::{Agent, Caller},
    llm::{
        openai::OpenAi,
        sse::SseLimits,
        transport::{HttpRequest, HttpResponse, Transport, TransportFuture},
    },
    server::{Problem, Service, router},
};
use futures_util::{
    StreamExt as _,
    stream::{self, poll_fn},
};
use memchr::memmem;
use serde_json::Value;
use tokio::{
    sync::broadcast,
    task::{JoinSet, yield_now},
};
use tower::ServiceExt as _;

use crate::{
    Result,
    callgrind::{allocations_per_chunk, instructions_per_chunk},
    corpus, fault,
    gate::Report,
    provider::{CAPACITY, LENGTHS, runtime},
};

/// A workload, the readers of its run, and the bounds: instructions and allocations of each event that is delivered.
struct Way {
    workload: &'static str,
    readers: u32,
    gates: [&'static str; 2],
    /// The least that a floor costs, which cannot be cheaper.
    least: f64,
    instructions: (f64, f64),
    allocations: (f64, f64),
}

const WAYS: [Way; 4] = [
    Way {
        workload: "served-1",
        readers: 1,
        gates: ["served_instructions", "served_allocations"],
        least: 0.0,
        instructions: (11_000.0, 9_000.0),
        allocations: (0.38, 0.2),
    },
    Way {
        workload: "served-16",
        readers: 16,
        gates: ["served_16_instructions", "served_16_allocations"],
        least: 0.0,
        instructions: (2_000.0, 1_700.0),
        allocations: (0.187, 0.1),
    },
    Way {
        workload: "sent-1",
        readers: 1,
        gates: ["sent_floor_instructions", "sent_floor_allocations"],
        least: 2_700.0,
        instructions: (3_300.0, 2_900.0),
        allocations: (0.05, 0.0),
    },
    Way {
        workload: "sent-16",
        readers: 16,
        gates: ["sent_floor_16_instructions", "sent_floor_16_allocations"],
        least: 1_450.0,
        instructions: (1_780.0, 1_550.0),
        allocations: (0.05, 0.0),
    },
];

pub(crate) fn gates(report: &mut Report) {
    for Way { workload, readers, gates, least, instructions, allocations } in WAYS {
        let [counted, allocated] = gates;
        let each = f64::from(readers);
        let count = instructions_per_chunk(workload, LENGTHS);
        let count = count.map(|count| count.map(|count| count / each));
        let unit = "instructions/delivered event";
        if least > 0.0 {
            report.known(counted, count, (least, instructions.0), unit);
        } else {
            report.take(counted, count, instructions, unit);
        }
        let count = allocations_per_chunk(workload, LENGTHS).map(|count| count / each);
        report.take(allocated, count, allocations, "allocations/delivered event");
    }
}

/// The workloads, for whoever makes faults in them.
pub(crate) fn workloads() -> impl Iterator<Item = String> {
    WAYS.iter().map(|way| way.workload.to_owned())
}

/// Delivers the events of the workload of this name, so many; `None` for other names.
pub(crate) fn work(name: &str, count: usize) -> Option<Result<()>> {
    let (kind, readers) = name.split_once('-')?;
    let readers = readers.parse().ok()?;
    match kind {
        "served" => Some(runtime().and_then(|it| it.block_on(served(count, readers)))),
        "sent" => Some(runtime().and_then(|it| it.block_on(sent(count, readers)))),
        _ => None,
    }
}

/// A run of the service, whose model says one word after the other.
async fn served(count: usize, readers: usize) -> Result<()> {
    let limits = SseLimits::default().max_response_bytes(1 << 30);
    let provider = OpenAi::builder().base_url("http://127.0.0.1/v1").model("bench").limits(limits);
    let provider = provider.transport(WordByWord::new(count)).build()?;
    let agent = Agent::builder(provider).build()?;
    let app = router(Service::builder().identify(everyone).agent("bench", agent).build()?);
    let id = begin(&app).await?;
    read(&app, &format!("/v1/runs/{id}/events"), count, readers).await
}

/// Begins a run; returns its id.
pub(crate) async fn begin(app: &Router) -> Result<String> {
    let begin = Request::builder()
        .method(Method::POST)
        .uri("/v1/runs")
        .header(header::HOST, "127.0.0.1")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(r#"{"input":"Go on."}"#))?;
    let answer = to_bytes(app.clone().oneshot(begin).await?.into_body(), 1 << 10).await?;
    let told: Value = serde_json::from_slice(&answer)?;
    let id = told.get("run_id").and_then(Value::as_str);
    Ok(id.ok_or("the run did not begin")?.to_owned())
}

/// The caller of all requests.
#[expect(clippy::unnecessary_wraps, reason = "the form of what identifies callers")]
pub(crate) fn everyone(_parts: &Parts) -> std::result::Result<Caller, Problem> {
    Ok(Caller::new("bench").scope("bench"))
}

/// Frames that were prepared, sent one after the other to all readers.
async fn sent(count: usize, readers: usize) -> Result<()> {
    let sender = broadcast::Sender::new(CAPACITY);
    let app = Router::new().route("/events", get(prepared)).with_state(sender.downgrade());
    tokio::spawn(async move {
        let words = words().into_iter().enumerate();
        let frames: Vec<_> = words.map(|(at, word)| frame(at, "message_content", &word)).collect();
        while sender.receiver_count() < readers {
            yield_now().await;
        }
        for frame in frames.iter().cycle().take(count) {
            // A reader that left has failed already.
            drop(sender.send(frame.clone()));
            yield_now().await;
        }
        drop(sender.send(frame(count % corpus::EVENTS, "run_end", "")));
    });
    read(&app, "/events", count, readers).await
}

async fn prepared(State(sender): State<broadcast::WeakSender<Bytes>>) -> Response {
    let frames = sender.upgrade().map(|sender| sender.subscribe());
    let body = stream::unfold(frames, async |frames| {
        let mut frames = frames?;
        let frame = frames.recv().await.ok()?;
        Some((Ok::<_, Infallible>(frame), Some(frames)))
    });
    Response::new(Body::from_stream(body))
}

/// A frame as the service writes it.
fn frame(at: usize, kind: &str, word: &str) -> Bytes {
    let content = Value::from(word);
    let data = format!(
        r#"{{"run_id":"run_0123456789abcdef","turn":1,"seq":{at},"at":1750000000000,"type":"{kind}","content":{content}}}"#
    );
    format!("id: {at}\nevent: {kind}\ndata: {data}\n\n").into()
}

/// The words, with the fault of this process.
fn words() -> Vec<String> {
    let mut words: Vec<_> = corpus::words(corpus::EVENTS).into_iter().map(str::to_owned).collect();
    fault::spoil(fault::own(), &mut words);
    words
}

/// Lets readers read events to their end; fails unless each gets so many words, and each event once, in order.
async fn read(app: &Router, path: &str, words: usize, readers: usize) -> Result<()> {
    let mut reading = JoinSet::new();
    let ends = corpus::words(corpus::EVENTS).into_iter();
    let ends: Arc<[String]> =
        ends.map(|word| format!("\"content\":{}}}\n\n", Value::from(word))).collect();
    for _ in 0..readers {
        let request = Request::get(path).header(header::HOST, "127.0.0.1").body(Body::empty())?;
        let (answer, ends) = (app.clone().oneshot(request), Arc::clone(&ends));
        reading.spawn(async move {
            let mut pieces = answer.await.ok()?.into_body().into_data_stream();
            let mut seen = Seen::of(ends);
            while let Some(piece) = pieces.next().await {
                seen.take(&piece.ok()?)?;
            }
            (seen.words == words && seen.has_end).then_some(seen.events)
        });
    }
    let all = reading.join_all().await;
    if all.iter().all(|events| events.is_some() && Some(events) == all.first()) {
        Ok(())
    } else {
        Err(format!("readers of {words} words got {all:?} events; `None` got others").into())
    }
}

/// What a reader has seen.
#[derive(Debug)]
struct Seen {
    /// Made once: that costs more than to find the end of a frame.
    frame_end: memmem::Finder<'static>,
    /// The ends of the frames of the words.
    ends: Arc<[String]>,
    events: usize,
    words: usize,
    has_end: bool,
}

impl Seen {
    fn of(ends: Arc<[String]>) -> Self {
        let frame_end = memmem::Finder::new(b"\n\n");
        Self { frame_end, ends, events: 0, words: 0, has_end: false }
    }

    /// Takes whole frames; `None` for one that is not the next.
    fn take(&mut self, mut frames: &[u8]) -> Option<()> {
        while !frames.is_empty() {
            let end = self.frame_end.find(frames)?;
            let (frame, rest) = frames.split_at(end + 2);
            frames = rest;
            let line = frame.strip_prefix(b"id: ")?;
            let (id, line) = line.split_at(memchr::memchr(b'\n', line)?);
            let id: usize = str::from_utf8(id).ok()?.parse().ok()?;
            let is_next = id == self.events || id == self.events % corpus::EVENTS;
            if line.starts_with(b"\nevent: message_content\n") {
                let end = self.ends.get(self.words % corpus::EVENTS)?;
                frame.ends_with(end.as_bytes()).then_some(())?;
                self.words += 1;
            }
            self.events += 1;
            if !is_next || self.has_end {
                return None;
            }
            self.has_end = line.starts_with(b"\nevent: run_end\n");
        }
        Some(())
    }
}

/// Answers with words, before each of which the body is polled in vain. The run polls it again at once, so that readers get up to 64 at a time.
struct WordByWord {
    reads: Arc<[Bytes]>,
    count: usize,
}

impl WordByWord {
    fn new(count: usize) -> Self {
        let words = words().into_iter();
        Self { reads: words.map(|word| corpus::event(&word).into()).collect(), count }
    }
}

impl Transport for WordByWord {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        drop(request);
        let (reads, count, mut at, mut waits) = (Arc::clone(&self.reads), self.count, 0, false);
        let body = poll_fn(move |context| {
            waits = !waits;
            if waits {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let end = || Bytes::from_static(corpus::END.as_bytes());
            let read = match at {
                at if at < count => reads.get(at % reads.len()).cloned(),
                at => (at == count).then(end),
            };
            at += 1;
            Poll::Ready(read.map(Ok))
        });
        Box::pin(async move { Ok(HttpResponse::new(200, Box::pin(body))) })
    }
}
