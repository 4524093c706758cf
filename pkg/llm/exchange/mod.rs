//! The data exchanged with a model: requests, chunks of the answer, errors, and the state of a server.

mod call_deltas;
mod chunk;
mod content_typer;
mod dropped_fields;
mod error;
mod health;
mod refused_content;
mod request;
mod status_error;

pub use call_deltas::{ToolCallDelta, ToolCallDeltas};
pub use chunk::{ChunkDetails, ContentType, StreamChunk};
pub use content_typer::ContentTyper;
pub use dropped_fields::{DEGRADED, DegradedNotice, is_notice};
pub use error::{ProviderError, TimeoutKind};
pub use health::{Health, ListedModel};
pub use refused_content::RefusedContent;
pub use request::{PromptCache, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec};
pub use status_error::StatusError;
