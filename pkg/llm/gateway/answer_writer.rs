//! The writers of answers, as a server uses them without regard to the protocol.

use super::{ClientRequest, RequestProblem};
use forgeline_types::{
    AgentError, AgentEvent, Completion, FinishReason, Signature, Text, UsageInfo,
};

/// A writer of the events of one response in the protocol of its clients.
///
/// Frames are Server-Sent Events as they are sent, with the empty line after each; the content type is `text/event-stream`. An answer
/// that broke off has no last frames: its [`Error`](AgentEvent::Error) event was the last.
///
/// # Examples
///
/// A server that answers in any of the protocols:
///
/// ```
/// use forgeline::{
///     llm::{anthropic::MessageWriter, gateway::AnswerWriter, openai::ChunkWriter, responses::ResponseWriter},
///     types::{AgentEvent, FinishReason, MessageContentEvent},
/// };
///
/// fn hello(mut writer: impl AnswerWriter) -> String {
///     let event = AgentEvent::MessageContent(MessageContentEvent::new("Hi"));
///     [writer.frames(&event), writer.last_frames(&FinishReason::Stop, None)].concat()
/// }
///
/// assert!(hello(ChunkWriter::new("chatcmpl-1", "m")).ends_with("data: [DONE]\n\n"));
/// assert!(hello(MessageWriter::new("msg_1", "m")).starts_with("event: message_start\ndata: {"));
/// assert!(hello(ResponseWriter::new("resp_1", "m")).contains("\nevent: response.completed\n"));
/// ```
pub trait AnswerWriter {
    /// Returns the frames of an event; empty if the protocol has none for it. Token counts come with the last frames.
    #[must_use]
    fn frames(&mut self, event: &AgentEvent) -> String;

    /// Sets the provider's signature of the reasoning whose end is the next event, for protocols that have a place for it. Default: it is
    /// ignored. A provider's stream of events has it as `EventStream::signature`.
    fn sign(&mut self, _signature: Option<&Signature>) {}

    /// Returns the frames that end the answer. Counts that are unknown are 0, where the protocol requires them.
    #[must_use]
    fn last_frames(&mut self, reason: &FinishReason, usage: Option<&UsageInfo>) -> String;

    /// Returns the body of a response that is sent whole, from the completion of an answer that did not fail.
    #[must_use]
    fn complete(&self, completion: &Completion) -> String;

    /// Returns the body of a response that failed before anything was sent, with a status such as 502.
    #[must_use]
    fn failure(error: &AgentError) -> String
    where
        Self: Sized;

    /// Returns the body of a response that refuses the request, with status 400, or 404 for a model that does not exist.
    #[must_use]
    fn refusal(problem: &RequestProblem) -> String
    where
        Self: Sized,
    {
        problem.to_body()
    }
}

/// A protocol of clients: both halves, by the type of its writer.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{anthropic::MessageWriter, gateway::{ClientProtocol, RequestProblem}};
///
/// fn body_of_refusal<P: ClientProtocol>(body: &[u8]) -> Option<String> {
///     P::read_request(body).err().map(|problem: RequestProblem| P::refusal(&problem))
/// }
///
/// assert!(body_of_refusal::<MessageWriter>(b"{}").unwrap().contains("model: is missing"));
/// ```
pub trait ClientProtocol: AnswerWriter + Sized + Send + 'static {
    /// Reads the body of a request, as the function `read_request` of the protocol's module does.
    ///
    /// # Errors
    ///
    /// Returns the first place that is not as the protocol has it.
    fn read_request(body: &[u8]) -> Result<ClientRequest, RequestProblem>;

    /// Returns a writer for one response with this id, answered by `model`.
    #[must_use]
    fn begin(id: Text, model: Text) -> Self;
}

/// Makes a protocol of clients of a writer and the function `read_request` beside it.
macro_rules! client_protocol {
    ($writer:ty) => {
        impl $crate::gateway::ClientProtocol for $writer {
            fn read_request(
                body: &[u8],
            ) -> Result<$crate::gateway::ClientRequest, $crate::gateway::RequestProblem> {
                read_request(body)
            }

            fn begin(id: forgeline_types::Text, model: forgeline_types::Text) -> Self {
                Self::new(id, model)
            }
        }
    };
}
pub(crate) use client_protocol;
