//! Models: decoders, parsers, the provider boundary and the providers.

mod chunk;
mod collect;
mod error;
pub(crate) mod native;
pub mod ndjson;
pub mod openai;
pub mod parser;
mod protocol;
mod provider;
mod request;
pub mod sse;
mod typing;

#[cfg(feature = "runtime")]
mod body;
#[cfg(feature = "runtime")]
pub mod channel;
#[cfg(feature = "runtime")]
pub mod demo;
#[cfg(feature = "runtime")]
pub mod replay;
#[cfg(feature = "runtime")]
pub mod scripted;
#[cfg(feature = "runtime")]
pub mod transport;

#[cfg(feature = "runtime")]
pub use body::Timeouts;
pub use chunk::{ChunkDetails, ContentType, StreamChunk, ToolCallDelta};
pub use collect::collect;
pub use error::{ProviderError, StatusError, TimeoutKind};
pub use protocol::{BodyDecoder, Progress, Protocol};
pub use provider::{ChunkStream, Provider};
pub use request::{Request, ResponseFormat, ToolChoice, ToolSpec};
pub use typing::ContentTyper;
