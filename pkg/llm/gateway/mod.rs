//! Servers whose clients speak a vendor's protocol: what their two halves share.
//!
//! One half reads a request as clients send it, the other writes the answer, streamed or whole. Both are pure: no I/O, no clock, no HTTP.
//! A server that speaks several of the protocols is generic over [`ClientProtocol`].
//!
//! | clients of | the request is read by | the answer is written by |
//! | --- | --- | --- |
//! | Chat Completions | [`openai::read_request`](crate::openai::read_request) | [`openai::ChunkWriter`](crate::openai::ChunkWriter) |
//! | Messages | [`anthropic::read_request`](crate::anthropic::read_request) | [`anthropic::MessageWriter`](crate::anthropic::MessageWriter) |
//! | Responses | [`responses::read_request`](crate::responses::read_request) | [`responses::ResponseWriter`](crate::responses::ResponseWriter) |

mod answer_writer;
mod calls;
mod functions;
mod members;
mod pieces;
mod problem;
mod request;
mod sse;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::tests::mutated;
pub(crate) use self::{
    answer_writer::client_protocol,
    calls::{CallNames, NamedCalls, PieceWriter},
    functions::{arguments, function_tool, only_function, tools},
    members::{
        flag, items, leave_out, media, number, object, option, required_text, root, text, texts,
        unlike,
    },
    pieces::{AnswerPiece, end_of, parts_of},
    sse::{data, frame, known_counts, to_json},
};
pub use self::{
    answer_writer::{AnswerWriter, ClientProtocol},
    problem::RequestProblem,
    request::ClientRequest,
};
