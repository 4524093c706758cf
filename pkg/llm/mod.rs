//! Models: decoders, parsers, the provider boundary and the providers.

mod chunk;
mod collect;
mod error;
pub mod parser;
mod provider;
mod request;
pub mod sse;
mod typing;

#[cfg(feature = "runtime")]
pub mod channel;
#[cfg(feature = "runtime")]
pub mod demo;
#[cfg(feature = "runtime")]
pub mod scripted;

pub use chunk::{ChunkDetails, ContentType, StreamChunk, ToolCallDelta};
pub use collect::collect;
pub use error::{ProviderError, StatusError, TimeoutKind};
pub use provider::{ChunkStream, Provider};
pub use request::{Request, ResponseFormat, ToolChoice, ToolSpec};
pub use typing::ContentTyper;
