//! OpenAI Responses.

mod stream;

pub use stream::ResponsesDecoder;
