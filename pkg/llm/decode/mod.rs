//! Decoding: the parts shared by the decoders of all protocols.

mod body_decoder;
mod byte_stream;
mod call_delta;
mod decoding;
mod entries;
mod event_body;
mod event_stream;
mod finish_reason;
pub(in crate::llm) mod lax_json;
mod members;
mod repeats;
mod sink;
mod surrogates;
#[cfg(test)]
mod tests;
mod text_input;
pub(in crate::llm) mod vendor_error;

pub use body_decoder::{BodyDecoder, Progress};
pub use byte_stream::decode;
pub(in crate::llm) use call_delta::{CallDelta, FunctionDelta};
pub(crate) use decoding::Decoding;
pub(in crate::llm) use entries::{CitationPaths, Entries, UsagePaths, says};
pub(in crate::llm) use event_body::{EventBody, event_decoder, wrong_body};
pub(in crate::llm) use event_stream::{EventReader, EventStream, Fault};
pub(in crate::llm) use finish_reason::finish_reason;
pub(in crate::llm) use lax_json::fill;
pub(in crate::llm) use members::Members;
pub(in crate::llm) use sink::{Emit, Sink, item};
pub(in crate::llm) use text_input::Input;
pub(in crate::llm) use vendor_error::{in_stream, reported};
