//! The suite notices: a provider that is broken in one way fails the check that is meant for it.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use forgeline::{
    llm::{
        ChunkStream, ContentType, Health, Provider, ProviderError, Request, RetryPolicy,
        StreamChunk, Timeouts,
        openai::ChatCompletions,
        transport::{HttpRequest, HttpResponse, Transport, TransportError},
    },
    types::{Capabilities, FinishReason, ModelInfo},
};
use forgeline_testkit::conformance::{Answer, Candidate, Outcome, Setup, Subject, check_one};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};

use super::openai::OpenAi;

/// One way to be broken.
#[derive(Clone, Copy)]
enum Break {
    Setup(fn(&mut Setup)),
    Chunk(fn(&mut StreamChunk)),
    /// Changes the end of a stream.
    Error(fn(ProviderError) -> Option<ProviderError>),
    /// Gives nothing before the answer is whole.
    Buffers,
    /// Keeps the stream open behind the caller's back.
    Leaks,
    /// Tries once more when a stream failed.
    Repeats,
    /// Declares these abilities, whatever the inner provider can do.
    Claims(fn(&mut Capabilities)),
    /// Changes what is sent.
    Sends(fn(&mut HttpRequest)),
    Debug,
    Panics,
}

struct Broken {
    inner: Arc<dyn Candidate>,
    info: ModelInfo,
    how: Break,
    key: String,
    leaked: Arc<Mutex<Vec<ChunkStream>>>,
}

impl fmt::Debug for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if matches!(self.how, Break::Debug) { self.key.as_str() } else { "" };
        write!(formatter, "Broken {{ {key} }}")
    }
}

impl Provider for Broken {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream_completion(
        &self,
        request: Request,
    ) -> BoxFuture<'static, Result<ChunkStream, ProviderError>> {
        let first = self.inner.stream_completion(request.clone());
        let (inner, how, leaked) = (Arc::clone(&self.inner), self.how, Arc::clone(&self.leaked));
        async move {
            let chunks = match (first.await, how) {
                (Err(error), Break::Error(change)) => match change(error) {
                    Some(error) => return Err(error),
                    None => return Ok(stream::empty().boxed()),
                },
                (chunks, _) => chunks?,
            };
            Ok(match how {
                Break::Chunk(change) => chunks
                    .map(move |item| {
                        item.map(|mut chunk| {
                            change(&mut chunk);
                            chunk
                        })
                    })
                    .boxed(),
                Break::Error(change) => chunks
                    .filter_map(move |item| async move {
                        match item {
                            Ok(chunk) => Some(Ok(chunk)),
                            Err(error) => change(error).map(Err),
                        }
                    })
                    .boxed(),
                Break::Buffers => {
                    let all: Vec<_> = chunks.collect().await;
                    stream::iter(all).boxed()
                }
                Break::Leaks => {
                    let (shared, mine) = (Arc::clone(&leaked), Arc::clone(&leaked));
                    shared.lock().unwrap().push(chunks);
                    // The stream itself stays behind when this one is dropped.
                    stream::poll_fn(move |context| {
                        mine.lock().unwrap().last_mut().unwrap().poll_next_unpin(context)
                    })
                    .boxed()
                }
                Break::Repeats => {
                    let items: Vec<_> = chunks.collect().await;
                    if items.iter().any(Result::is_err) {
                        return inner.stream_completion(request).await;
                    }
                    stream::iter(items).boxed()
                }
                Break::Panics => panic!("a birch fell"),
                Break::Setup(_) | Break::Claims(_) | Break::Sends(_) | Break::Debug => chunks,
            })
        }
        .boxed()
    }

    fn health(&self) -> BoxFuture<'static, Result<Health, ProviderError>> {
        self.inner.health()
    }
}

/// Changes requests on their way.
struct Changing {
    inner: Arc<dyn Transport>,
    change: fn(&mut HttpRequest),
}

impl Transport for Changing {
    fn send(
        &self,
        mut request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        (self.change)(&mut request);
        self.inner.send(request)
    }
}

struct Mutant {
    how: Break,
    /// What was opened and never dropped.
    leaked: Arc<Mutex<Vec<ChunkStream>>>,
}

impl Subject for Mutant {
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError> {
        let mut setup = setup.clone();
        match self.how {
            Break::Setup(change) => change(&mut setup),
            Break::Sends(change) => {
                setup.transport = Arc::new(Changing { inner: setup.transport, change });
            }
            _ => {}
        }
        let key = setup.key.clone();
        let inner = Arc::new(setup.http::<ChatCompletions>().build()?);
        let mut info = inner.info().clone();
        if let Break::Claims(claim) = self.how {
            claim(&mut info.capabilities);
        }
        let leaked = Arc::clone(&self.leaked);
        Ok(Arc::new(Broken { inner, info, how: self.how, key, leaked }))
    }

    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>> {
        OpenAi.answer(answer)
    }

    fn unknown(&self) -> Option<Bytes> {
        OpenAi.unknown()
    }

    fn comment(&self) -> Option<Bytes> {
        OpenAi.comment()
    }
}

#[test]
fn each_broken_provider_fails_the_check_that_is_meant() {
    #[rustfmt::skip]
    let cases: [(&str, Break, &str); 21] = [
        ("holds deltas back",         Break::Buffers,                                                            "text-streams"),
        ("loses line ends",           Break::Chunk(|chunk| chunk.content = chunk.content.replace('\n', "").into()), "text-streams"),
        ("types reasoning as answer", Break::Chunk(|chunk| chunk.content_type = ContentType::Message),             "thinking"),
        ("takes refusals for answers", Break::Chunk(|chunk| chunk.content_type = ContentType::Message),            "refusal"),
        ("mixes calls up",            Break::Chunk(|chunk| chunk.tool_calls.iter_mut().for_each(|call| call.index = 0)), "parallel-calls"),
        ("always says stop",          Break::Chunk(|chunk| chunk.finish_reason = chunk.finish_reason.take().map(|_| FinishReason::Stop)), "finish-reasons"),
        ("forgets the cache",         Break::Chunk(|chunk| if let Some(usage) = &mut chunk.usage { usage.cache_read_tokens = None }), "usage"),
        ("takes cut for whole",       Break::Error(|_| None),                                                    "missing-end"),
        ("hides errors",              Break::Error(|_| None),                                                    "in-stream-error"),
        ("takes pages for answers",   Break::Error(|_| None),                                                    "not-an-answer"),
        ("one error for all",         Break::Error(|_| Some(ProviderError::Cancelled)),                          "statuses"),
        ("never retries",             Break::Setup(|setup| setup.retry = RetryPolicy::NONE),                     "retry-decision"),
        ("obeys no server",           Break::Setup(|setup| setup.retry = setup.retry.max_server_delay(Duration::ZERO)), "retry-after"),
        ("retries after deltas",      Break::Repeats,                                                            "no-retry-after-delta"),
        ("waits for ever",            Break::Setup(|setup| setup.timeouts = Timeouts::NONE),                     "first-byte-timeout"),
        ("keeps the connection",      Break::Leaks,                                                              "drop-stream"),
        ("sends what it lacks",       Break::Claims(|able| able.tools = false),                                  "missing-abilities"),
        ("loses tools",               Break::Sends(|http| http.body.retain(|part| !part.starts_with(b"[{\"type\":\"function\""))), "declared-abilities"),
        ("sends new bytes",           Break::Sends(|http| http.body.push(format!("{:?}", std::time::Instant::now()).into())), "same-bytes"),
        ("shows its key",             Break::Debug,                                                              "key-in-its-place"),
        ("panics",                    Break::Panics,                                                             "text-streams"),
    ];
    for (name, how, want) in cases {
        let mutant = Mutant { how, leaked: Arc::default() };
        let report = check_one(&mutant, want).unwrap();
        forgeline_testkit::say(format!(
            "{name}:\n{}",
            report.to_string().chars().take(400).collect::<String>()
        ));
        assert!(matches!(report.outcome, Outcome::Failed(_)), "{name}: {report}");
    }
}

#[test]
fn a_name_that_is_no_check_is_none() {
    assert!(check_one(&OpenAi, "birches").is_none());
}
