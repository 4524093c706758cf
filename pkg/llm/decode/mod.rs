//! Decoding: the parts shared by the decoders of all protocols.

mod body_decoder;
mod byte_stream;
mod call_delta;
mod choices;
mod decoding;
mod entries;
mod event_body;
mod event_stream;
mod finish_reason;
pub(crate) mod lax_json;
mod members;
mod refused_content;
mod repeats;
mod sink;
mod sse_body;
mod surrogates;
#[cfg(test)]
mod tests;
mod text_input;
mod tool_name;
pub(crate) mod vendor_error;
pub(crate) mod wire_struct;

pub use body_decoder::{BodyDecoder, Progress};
pub use byte_stream::decode;
pub(crate) use call_delta::{CallDelta, FunctionDelta};
pub(crate) use choices::AnswerChoices;
pub use decoding::BodyDecoding;
pub(crate) use entries::{CitationPaths, JsonEntries, UsagePaths, says};
pub(crate) use event_body::{EventBody, event_decoder, wrong_body};
pub(crate) use event_stream::{EventFault, EventReader, EventStream};
pub(crate) use finish_reason::finish_reason;
pub(crate) use lax_json::fill;
pub(crate) use members::JsonMembers;
pub(crate) use sink::{EmitChunk, OutSink, item};
pub use sse_body::{SseAnswer, SseBody, SseFormat};
pub(crate) use text_input::CallInput;
pub(crate) use tool_name::tool_name;
pub(crate) use vendor_error::{in_stream, is_error, reported};
