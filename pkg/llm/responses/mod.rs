//! OpenAI Responses.

mod extras;
mod items;
mod output;
mod stream;
mod wire;

pub use stream::ResponsesDecoder;
