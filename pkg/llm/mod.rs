//! Models: decoders, parsers, the [`Provider`] trait and the providers.
//!
//! A [`Request`] goes to a [`Provider`], which answers with a [`ChunkStream`]: [`StreamChunk`]s of
//! text, reasoning and deltas of calls, until the response ends or fails with a [`ProviderError`].
//!
//! | to | use |
//! | --- | --- |
//! | ask a vendor or a local server | the provider in [`openai`], [`anthropic`], [`responses`], [`gemini`], [`ollama`] or [`cohere`] |
//! | run without a model, offline | [`demo`] |
//! | get an answer as a Rust value | [`StructuredExt`] |
//! | continue during an outage of a provider | [`Failover`], [`Retrying`], [`RetryPolicy`] |
//! | read a body that another client received | [`decode`], with a [`BodyDecoder`] such as [`openai::OpenAiDecoder`] |
//! | read text that a model wrote | [`parser`] |
//! | only frame a body | [`sse`], [`ndjson`] |
//! | write a provider | [`http`], for a vendor over HTTP; otherwise the [`Provider`] trait |
//!
//! # Examples
//!
//! ```
//! # #[cfg(feature = "runtime")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), forgeline::llm::ProviderError> {
//! use forgeline::llm::{Provider as _, Request, demo::DemoProvider};
//! use futures_util::StreamExt as _;
//!
//! let request = Request::prompt("Who are you?");
//! let mut chunks = DemoProvider::new().stream_completion(request).await?;
//! let mut text = String::new();
//! while let Some(chunk) = chunks.next().await {
//!     text.push_str(&chunk?.content);
//! }
//! assert!(text.contains("no language model"));
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "runtime"))]
//! # fn main() {}
//! ```

pub(crate) mod answer;
pub mod anthropic;
mod call_deltas;
mod catalog;
mod chunk;
pub mod cohere;
mod collect;
mod content_typer;
pub(crate) mod decode;
mod decoders;
mod dropped_fields;
mod error;
pub mod gemini;
mod health;
pub mod ndjson;
pub mod ollama;
pub mod openai;
pub mod parser;
mod protocol;
mod provider;
mod request;
pub mod responses;
pub mod sse;
mod status_error;
mod structured;
mod tokens;
mod tool_names;
mod tool_schema;

#[cfg(feature = "runtime")]
mod attempts;
#[cfg(feature = "runtime")]
#[cfg_attr(
    not(feature = "http"),
    allow(dead_code, reason = "without HTTP, only `Timeouts` is used")
)]
pub(crate) mod body;
#[cfg(feature = "runtime")]
pub mod channel;
#[cfg(feature = "runtime")]
pub mod demo;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "http")]
pub(crate) mod http_error;
#[cfg(feature = "runtime")]
pub(crate) mod media;
#[cfg(feature = "runtime")]
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "some of it is for HTTP"))]
pub(crate) mod secrets;
#[cfg(feature = "runtime")]
pub mod transport;

#[cfg(feature = "runtime")]
pub use self::media::picture_kind;
pub use call_deltas::{ToolCallDelta, ToolCallDeltas};
pub use catalog::{Cost, InvalidCost, KnownCapabilities, LongPrices, ModelCard, Prices};
pub use chunk::{ChunkDetails, ContentType, StreamChunk};
pub use collect::collect;
pub use content_typer::ContentTyper;
pub use decode::{BodyDecoder, Progress, decode};
pub use dropped_fields::DEGRADED;
#[cfg(feature = "runtime")]
pub(crate) use dropped_fields::is_notice;
pub use error::{ProviderError, TimeoutKind};
pub use health::{Health, ListedModel};
pub use protocol::{Protocol, UnknownProtocol};
pub use provider::{ChunkStream, Provider, ProviderFuture};
pub use request::{PromptCache, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec};
pub use status_error::StatusError;
pub use structured::SchemaRules;
#[cfg(feature = "runtime")]
pub(crate) use structured::schema_of;
pub use tokens::TokenEstimator;
pub use tool_schema::{FittedSchema, References, SchemaNeed, ToolSchemaRules, UnfitSchema};
#[cfg(feature = "runtime")]
pub use {
    attempts::{Failover, FailoverHop, RetryPolicy, Retrying},
    body::Timeouts,
    secrets::without_secrets,
    structured::{AnswerSchema, Structured, StructuredExt, StructuredMethod, StructuredStream},
};
