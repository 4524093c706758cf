//! A provider whose answers are written in a test.

use std::{
    collections::VecDeque,
    fmt,
    future::pending,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::{StreamExt as _, stream};

use crate::{
    ChunkStream, ContentTyper, Provider, ProviderError, ProviderFuture, Request, StreamChunk,
    ToolCallDelta, ToolChoice,
};
use forgeline_parser::{ThinkingDialect, ToolDialect};
use forgeline_types::{Capabilities, FinishReason, ModelInfo, Text, UsageInfo, debug_fields};

/// A provider that plays turns prepared in advance, or created from each request.
///
/// It records the requests and counts the open responses, so that a test can check what the model was
/// asked, and that streams are closed.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::Agent, testing::{ScriptedProvider, ScriptedTurn}};
///
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hel").text("lo")]);
/// let agent = Agent::builder(provider.clone()).build()?;
/// assert_eq!(agent.run("Hi").await?.text, "Hello");
/// assert_eq!(provider.requests()[0].messages.last().unwrap().text(), "Hi");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScriptedProvider {
    info: ModelInfo,
    script: Arc<ProviderScript>,
}

struct ProviderScript {
    turns: Mutex<ScriptTurns>,
    requests: Mutex<Vec<Request>>,
    open: Arc<AtomicUsize>,
}

enum ScriptTurns {
    List(VecDeque<ScriptedTurn>),
    From(Box<dyn FnMut(&Request) -> ScriptedTurn + Send>),
}

impl ScriptedProvider {
    /// Creates a provider that plays `turns`, one per request; once none are left, requests fail.
    #[must_use]
    pub fn new(turns: impl IntoIterator<Item = ScriptedTurn>) -> Self {
        Self::with(ScriptTurns::List(turns.into_iter().collect()))
    }

    /// Creates a provider that creates each turn from the request.
    #[must_use]
    pub fn from_fn(turn: impl FnMut(&Request) -> ScriptedTurn + Send + 'static) -> Self {
        Self::with(ScriptTurns::From(Box::new(turn)))
    }

    fn with(turns: ScriptTurns) -> Self {
        let capabilities = Capabilities::default().streaming(true).tools(true).parallel_tools(true);
        let script = ProviderScript {
            turns: Mutex::new(turns),
            requests: Mutex::new(Vec::new()),
            open: Arc::new(AtomicUsize::new(0)),
        };
        Self {
            info: ModelInfo::new("scripted", "scripted").capabilities(capabilities),
            script: Arc::new(script),
        }
    }

    /// Sets the model and its capabilities. Default: the model `scripted`.
    #[must_use]
    pub fn info_of(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// Sets the capabilities of the model. Default: streaming and native calls.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.info = self.info.capabilities(capabilities);
        self
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.script.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of responses that have begun and have not been dropped.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.script.open.load(Ordering::SeqCst)
    }
}

debug_fields!(ScriptedProvider, provider: info = provider.info);

impl Provider for ScriptedProvider {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let turn = match &mut *self.script.turns.lock().unwrap_or_else(PoisonError::into_inner) {
            ScriptTurns::List(turns) => turns.pop_front(),
            ScriptTurns::From(turn) => Some(turn(&request)),
        };
        let forced = match &request.tool_choice {
            Some(ToolChoice::Tool(name)) => Some(name.clone()),
            _ => None,
        };
        self.script.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let open = Arc::clone(&self.script.open);
        Box::pin(async move {
            let Some(turn) = turn else {
                let message = Text::from("the script has no turn left; write one more");
                return Err(ProviderError::Config { message });
            };
            if let Some(error) = turn.refusal {
                return Err(error);
            }
            Ok(play(turn.answering(forced.as_ref()), OpenResponse::new(open)))
        })
    }
}

/// One response of a [`ScriptedProvider`]: steps in order, then the end.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{llm::{Provider, Request}, testing::{ScriptedProvider, ScriptedTurn}};
///
/// let turn = ScriptedTurn::new().thinking("Hm.").text("Let me see.").call("add", r#"{"a":1}"#);
/// let answer = ScriptedProvider::new([turn]).complete(Request::prompt("1 + 1?")).await?;
/// assert_eq!(answer.tool_calls[0].name, "add");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct ScriptedTurn {
    steps: Vec<PlayStep>,
    calls: u32,
    ended: bool,
    refusal: Option<ProviderError>,
}

#[derive(Debug)]
enum PlayStep {
    Chunk(StreamChunk),
    Json(String),
    Fail(ProviderError),
    Hang,
}

impl ScriptedTurn {
    /// Creates a response without content; it ends with `stop`, or `tool_calls` if it has native calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a chunk of text as a model writes it: reasoning tags in it are recognized.
    #[must_use]
    pub fn text(self, text: impl Into<Text>) -> Self {
        self.chunk(StreamChunk::message(text))
    }

    /// Adds a chunk of reasoning.
    #[must_use]
    pub fn thinking(self, text: impl Into<Text>) -> Self {
        self.chunk(StreamChunk::thinking(text))
    }

    /// Adds a native call, with its arguments in two deltas.
    #[must_use]
    pub fn call(mut self, name: &str, arguments: impl fmt::Display) -> Self {
        let index = self.calls;
        self.calls += 1;
        let arguments = arguments.to_string();
        let half = arguments.floor_char_boundary(arguments.len() / 2);
        let (head, tail) = arguments.split_at(half);
        let id = format!("call-{index}");
        let first = ToolCallDelta::new(index).id(id).name(name).arguments(head);
        let second = ToolCallDelta::new(index).arguments(tail);
        self.chunk(StreamChunk::calls(vec![first])).chunk(StreamChunk::calls(vec![second]))
    }

    /// Adds the answer to a request for structured output, in the form that the request asks for: as the arguments of
    /// the tool that it forces, or else as text. It arrives in two deltas.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{
    ///     llm::{AnswerSchema, Request, StructuredExt as _},
    ///     testing::{ScriptedProvider, ScriptedTurn},
    /// };
    /// use serde_json::json;
    ///
    /// let provider = ScriptedProvider::new([ScriptedTurn::new().json(json!({ "age": 7 }))]);
    /// let schema = AnswerSchema::new(json!({ "type": "object" }));
    /// let answer = provider.complete_json(Request::prompt("How old?"), schema).await?;
    /// assert_eq!(answer.value["age"], 7);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn json(mut self, value: impl fmt::Display) -> Self {
        self.steps.push(PlayStep::Json(value.to_string()));
        self
    }

    /// Converts JSON answers into the form that the request asks for.
    fn answering(mut self, forced: Option<&Text>) -> Self {
        for step in std::mem::take(&mut self.steps) {
            self = match (step, forced) {
                (PlayStep::Json(json), Some(name)) => self.call(name, json),
                (PlayStep::Json(json), None) => {
                    let (head, tail) = json.split_at(json.floor_char_boundary(json.len() / 2));
                    self.text(head).text(tail)
                }
                (step @ (PlayStep::Chunk(_) | PlayStep::Fail(_) | PlayStep::Hang), _) => {
                    self.steps.push(step);
                    self
                }
            };
        }
        self
    }

    /// Adds an arbitrary chunk.
    #[must_use]
    pub fn chunk(mut self, chunk: StreamChunk) -> Self {
        self.steps.push(PlayStep::Chunk(chunk));
        self
    }

    /// Adds a report of usage.
    #[must_use]
    pub fn usage(self, usage: UsageInfo) -> Self {
        self.chunk(StreamChunk { usage: Some(usage), ..StreamChunk::default() })
    }

    /// Ends the response with this reason instead of the usual one.
    #[must_use]
    pub fn finish(mut self, reason: FinishReason) -> Self {
        self.ended = true;
        self.chunk(StreamChunk::end(reason))
    }

    /// Fails the response here.
    #[must_use]
    pub fn fail(mut self, error: ProviderError) -> Self {
        self.ended = true;
        self.steps.push(PlayStep::Fail(error));
        self
    }

    /// Creates a turn whose request fails, without a response.
    #[must_use]
    pub fn refuse(error: ProviderError) -> Self {
        Self { refusal: Some(error), ..Self::default() }
    }

    /// Stops sending without ending the response, until it is dropped.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.ended = true;
        self.steps.push(PlayStep::Hang);
        self
    }

    /// Ends the response here without the protocol's terminal marker.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.ended = true;
        self
    }
}

/// A response that counts as open until it is dropped.
struct OpenResponse(Arc<AtomicUsize>);

impl OpenResponse {
    fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for OpenResponse {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Plays the steps of `turn`.
fn play(turn: ScriptedTurn, open: OpenResponse) -> ChunkStream {
    let reason = if turn.calls > 0 { FinishReason::ToolCalls } else { FinishReason::Stop };
    let end = (!turn.ended).then(|| PlayStep::Chunk(StreamChunk::end(reason)));
    let typer = ContentTyper::new(&ThinkingDialect::AUTO, &ToolDialect::AUTO);
    let steps = turn.steps.into_iter().chain(end).collect();
    let playing = PlayingTurn { steps, typer: Some(typer), ready: VecDeque::new(), _open: open };
    let chunks =
        stream::unfold(playing, |mut playing| async { Some((playing.next().await?, playing)) });
    Box::pin(chunks.fuse())
}

/// A turn that is being played.
struct PlayingTurn {
    steps: VecDeque<PlayStep>,
    /// `None` after the end.
    typer: Option<ContentTyper>,
    ready: VecDeque<Result<StreamChunk, ProviderError>>,
    _open: OpenResponse,
}

impl PlayingTurn {
    async fn next(&mut self) -> Option<Result<StreamChunk, ProviderError>> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Some(next);
            }
            let give = &mut |chunk| self.ready.push_back(Ok(chunk));
            let typer = self.typer.as_mut()?;
            let failure = match self.steps.pop_front() {
                Some(PlayStep::Chunk(chunk)) => {
                    typer.push(chunk, give);
                    continue;
                }
                Some(PlayStep::Json(json)) => {
                    typer.push(StreamChunk::message(json), give);
                    continue;
                }
                Some(PlayStep::Hang) => pending().await,
                Some(PlayStep::Fail(error)) => Some(Err(error)),
                None => None,
            };
            typer.finish(give);
            self.typer = None;
            self.ready.extend(failure);
        }
    }
}
