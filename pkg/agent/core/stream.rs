//! The async drivers of the event machine.

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use futures_util::StreamExt as _;
use pin_project::pin_project;

use super::{StreamEnd, StreamMachine, StreamOptions};
use forgeline_llm::{ProviderError, StreamChunk};
use forgeline_types::{AgentEvent, Completion, Part, Signature, private::KeptContent};

/// Reads a provider's stream to its end and calls `emit` with each event as it is made.
///
/// A failure of the stream is reported as an event and in [`Completion::error`]; what had arrived
/// is kept. `docs/examples/own_loop.rs` is an agent of eighty lines built on this function.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use forgeline::{
///     agent::core::{StreamOptions, process_stream},
///     llm::StreamChunk,
///     types::{AgentEvent, FinishReason},
/// };
/// use futures_util::stream;
///
/// let call = r#"<tool>{"tool_name": "search", "arguments": {"query": "tides"}}</tool>"#;
/// let chunks = [StreamChunk::message("One moment. "), StreamChunk::message(call)];
/// let end = StreamChunk::end(FinishReason::Stop);
/// let chunks = stream::iter(chunks.into_iter().chain([end]).map(Ok));
///
/// let (options, mut starts) = (StreamOptions::default(), 0);
/// let completion = process_stream(chunks, &options, |event| {
///     starts += u32::from(matches!(event, AgentEvent::ToolCallStart(_)));
/// });
/// let completion = completion.await;
/// assert_eq!((starts, completion.text.trim()), (1, "One moment."));
/// assert_eq!(completion.tool_calls[0].name, "search");
/// # }
/// ```
///
/// # Cancel safety
/// Dropping the future closes the stream; the events that would have closed open sections are not
/// emitted then. Use [`process_into`] or [`EventStream::cancel`] where they must be.
pub async fn process_stream(
    stream: impl Stream<Item = Result<StreamChunk, ProviderError>>,
    options: &StreamOptions,
    mut emit: impl FnMut(AgentEvent),
) -> Completion {
    let mut stream = pin!(stream);
    let mut machine = StreamMachine::new(options);
    while let Some(item) = stream.next().await {
        match item {
            Ok(chunk) => {
                if machine.chunk(chunk, &mut emit).is_break() {
                    break;
                }
            }
            Err(error) => {
                machine.fail_with(error, &mut emit);
                break;
            }
        }
    }
    machine.finish(StreamEnd::Done, &mut emit)
}

/// Reads a provider's stream to its end and sends every event into a bounded channel.
///
/// When `cancel` fires, the stream is closed and the events that end what is open go to the
/// channel's reserved slot, so a receiver that does not read causes no delay. When the receiver is
/// dropped, the stream is closed.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use forgeline::{
///     agent::{CancellationToken, core::{StreamOptions, process_into}},
///     llm::{StreamChunk, channel},
///     types::FinishReason,
/// };
/// use futures_util::stream;
///
/// let (sender, mut events) = channel::channel(2);
/// tokio::spawn(async move {
///     let chunks = [StreamChunk::message("Hi"), StreamChunk::end(FinishReason::Stop)];
///     let (options, cancel) = (StreamOptions::default(), CancellationToken::new());
///     process_into(stream::iter(chunks.map(Ok)), &options, &sender, &cancel).await
/// });
/// let mut count = 0;
/// while let Some(_event) = events.recv().await {
///     count += 1;
/// }
/// assert_eq!(count, 3);
/// # }
/// ```
///
/// # Cancel safety
///
/// Dropping the future closes the stream without closing events; fire `cancel` instead.
#[cfg(feature = "runtime")]
pub async fn process_into(
    stream: impl Stream<Item = Result<StreamChunk, ProviderError>>,
    options: &StreamOptions,
    events: &forgeline_llm::channel::Sender<AgentEvent>,
    cancel: &tokio_util::sync::CancellationToken,
) -> Completion {
    let mut machine = StreamMachine::new(options);
    let mut queue = VecDeque::new();
    let reading = async {
        let mut stream = pin!(stream);
        while let Some(item) = stream.next().await {
            let flow = feed(&mut machine, item, &mut queue);
            // An event leaves the queue only once it has a slot in the channel: a cancelled wait
            // loses nothing, and what is left goes to the reserved slot.
            while !queue.is_empty() {
                let Ok(place) = events.reserve().await else { return StreamEnd::Cancelled };
                if let Some(event) = queue.pop_front() {
                    place.send(event);
                }
            }
            if flow.is_break() {
                break;
            }
        }
        StreamEnd::Done
    };
    let end = tokio::select! {
        biased;
        () = cancel.cancelled() => StreamEnd::Cancelled,
        end = reading => end,
    };
    let completion = machine.finish(end, &mut |event| queue.push_back(event));
    events.send_last(queue);
    completion
}

/// Takes one item of the stream; returns `Break` when it was the last.
fn feed(
    machine: &mut StreamMachine,
    item: Result<StreamChunk, ProviderError>,
    queue: &mut VecDeque<AgentEvent>,
) -> ControlFlow<()> {
    let emit = &mut |event| queue.push_back(event);
    match item {
        Ok(chunk) => machine.chunk(chunk, emit),
        Err(error) => {
            machine.fail_with(error, emit);
            ControlFlow::Break(())
        }
    }
}

/// A provider's stream as a stream of events.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use forgeline::{
///     agent::core::{EventStream, StreamOptions},
///     llm::StreamChunk,
///     types::{AgentEvent, FinishReason},
/// };
/// use futures_util::{StreamExt as _, stream};
///
/// let chunks = [StreamChunk::message("Hi"), StreamChunk::end(FinishReason::Stop)];
/// let mut events = EventStream::new(stream::iter(chunks.map(Ok)), &StreamOptions::default());
/// let mut kinds = Vec::new();
/// while let Some(event) = events.next().await {
///     kinds.push(event.kind().to_owned());
/// }
/// assert_eq!(kinds, ["message_start", "message_content", "message_end"]);
/// assert_eq!(events.completion().unwrap().text, "Hi");
/// # }
/// ```
#[pin_project]
#[derive(Debug)]
pub struct EventStream<S> {
    #[pin]
    stream: Option<S>,
    machine: Option<StreamMachine>,
    queue: VecDeque<AgentEvent>,
    completion: Option<Completion>,
}

impl<S: Stream<Item = Result<StreamChunk, ProviderError>>> EventStream<S> {
    /// Returns a stream that reads `stream` as the events are polled.
    #[must_use]
    pub fn new(stream: S, options: &StreamOptions) -> Self {
        Self::of(stream, StreamMachine::new(options))
    }

    /// Returns a stream whose completion also has the [parts](Completion::parts) in order, with the provider's signatures and items, which a
    /// gateway passes on. They take as much memory as the answer.
    #[must_use]
    pub fn with_parts(stream: S, options: &StreamOptions) -> Self {
        Self::of(stream, StreamMachine::keeping(options, KeptContent::Parts))
    }

    fn of(stream: S, machine: StreamMachine) -> Self {
        let (stream, machine) = (Some(stream), Some(machine));
        Self { stream, machine, queue: VecDeque::new(), completion: None }
    }

    /// Closes the provider's stream now; the events that end what is open follow.
    pub fn cancel(self: Pin<&mut Self>) {
        self.end(StreamEnd::Cancelled);
    }

    /// Returns the whole answer, once the last event has been taken.
    #[must_use]
    pub fn completion(&self) -> Option<&Completion> {
        self.completion.as_ref().filter(|_| self.queue.is_empty())
    }

    /// Returns the provider's signature of the reasoning that was last, if the stream keeps [parts](Self::with_parts): at
    /// [`ThinkingEnd`](AgentEvent::ThinkingEnd), that of the reasoning that ends. A gateway passes it on, see
    /// [`AnswerWriter::sign`](forgeline_llm::gateway::AnswerWriter::sign).
    #[must_use]
    pub fn signature(&self) -> Option<&Signature> {
        let of_machine = self.machine.as_ref().map(|machine| &machine.builder().completion);
        let parts = &of_machine.or(self.completion.as_ref())?.parts;
        parts.iter().rev().find_map(|part| {
            if let Part::Thinking { signature, .. } = part {
                Some(signature.as_ref())
            } else {
                None
            }
        })?
    }

    fn end(self: Pin<&mut Self>, end: StreamEnd) {
        let mut this = self.project();
        this.stream.set(None);
        if let Some(machine) = this.machine.take() {
            *this.completion = Some(machine.finish(end, &mut |event| this.queue.push_back(event)));
        }
    }
}

impl<S: Stream<Item = Result<StreamChunk, ProviderError>>> Stream for EventStream<S> {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        loop {
            let this = self.as_mut().project();
            if let Some(event) = this.queue.pop_front() {
                return Poll::Ready(Some(event));
            }
            let (Some(stream), Some(machine)) = (this.stream.as_pin_mut(), this.machine) else {
                return Poll::Ready(None);
            };
            let flow = match ready!(stream.poll_next(context)) {
                Some(item) => feed(machine, item, this.queue),
                None => ControlFlow::Break(()),
            };
            if flow.is_break() {
                self.as_mut().end(StreamEnd::Done);
            }
        }
    }
}
