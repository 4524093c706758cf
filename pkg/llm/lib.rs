//! Models: decoders, parsers, the [`Provider`] trait and the providers.
//!
//! A [`Request`] goes to a [`Provider`], which answers with a [`ChunkStream`]: [`StreamChunk`]s of
//! text, reasoning and deltas of calls, until the response ends or fails with a [`ProviderError`].
//!
//! | to | use |
//! | --- | --- |
//! | ask a vendor or a local server | the provider in [`openai`], [`anthropic`], [`responses`], [`gemini`], [`ollama`] or [`cohere`] |
//! | run without a model, offline | [`demo`], with the feature `testing` |
//! | get an answer as a Rust value | [`StructuredExt`] |
//! | continue during an outage of a provider | [`Failover`], [`Retrying`], [`RetryPolicy`] |
//! | read a body that another client received | [`decode`], with a [`BodyDecoder`] such as [`openai::OpenAiDecoder`] |
//! | read text that a model wrote | [`parser`] |
//! | only frame a body | [`sse`], [`ndjson`] |
//! | serve clients of a vendor's protocol | [`gateway`] |
//! | write a provider | [`http`], for a vendor over HTTP; otherwise the [`Provider`] trait |
//!
//! # Examples
//!
//! ```
//! # #[cfg(feature = "testing")]
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
//! # #[cfg(not(feature = "testing"))]
//! # fn main() {}
//! ```

pub(crate) mod answer;
mod answer_schema;
pub mod anthropic;
mod catalog;
pub mod cohere;
pub(crate) mod decode;
mod exchange;
pub mod gateway;
pub mod gemini;
pub mod ndjson;
pub mod ollama;
pub mod openai;
mod protocols;
mod provider;
pub mod responses;
pub mod sse;
mod tokens;
mod tool_schema;

#[cfg(feature = "runtime")]
mod attempts;
#[cfg(feature = "http")]
pub(crate) mod body;
#[cfg(feature = "runtime")]
pub mod channel;
#[cfg(feature = "testing")]
pub mod demo;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "runtime")]
pub(crate) mod media;
#[cfg(any(feature = "testing", all(test, feature = "runtime")))]
#[doc(hidden)] // Programs use it as `testing::ScriptedProvider`.
pub mod scripted;
#[cfg(feature = "runtime")]
pub(crate) mod secrets;
#[cfg(feature = "runtime")]
mod structured;
#[cfg(feature = "runtime")]
pub mod transport;

pub use forgeline_parser as parser;

pub use self::{
    answer::collect,
    answer_schema::SchemaRules,
    catalog::{Cost, InvalidCost, KnownCapabilities, LongPrices, ModelCard, Prices},
    decode::{BodyDecoder, Progress, SseAnswer, SseBody, SseFormat, decode},
    exchange::{
        ChunkDetails, ContentType, ContentTyper, DEGRADED, DegradedNotice, Health, ListedModel,
        PromptCache, ProviderError, RefusedContent, Request, RequestOwner, ResponseFormat,
        StatusError, StreamChunk, Thinking, TimeoutKind, ToolCallDelta, ToolCallDeltas, ToolChoice,
        ToolSpec,
    },
    protocols::{Protocol, UnknownProtocol},
    provider::{ChunkStream, Provider, ProviderFuture},
    tokens::TokenEstimator,
    tool_schema::{FittedSchema, References, SchemaNeed, ToolSchemaRules, UnfitSchema},
};
#[cfg(feature = "runtime")]
pub use self::{
    answer_schema::{AnswerSchema, StructuredMethod},
    attempts::{Failover, FailoverHop, Limited, RetryPolicy, Retrying},
    media::picture_kind,
    secrets::without_secrets,
    structured::{Structured, StructuredExt, StructuredStream},
    transport::Timeouts,
};

/// Items for the crates above, and not for programs: they may change in any version.
#[doc(hidden)]
pub mod private {
    pub use crate::{
        answer::{AnswerAssembler, OpenCall, TextSection},
        decode::BodyDecoding,
        exchange::is_notice,
    };
    #[cfg(feature = "runtime")]
    pub use crate::{
        answer_schema::schema_of,
        secrets::remove_secrets,
        structured::{AnswerJson, ask_again},
        transport::{UrlAddress, redact_url},
    };
    #[cfg(feature = "http")]
    pub use crate::{
        body::BodyChunks,
        http::{http_error::status_error, redact::SecretRedactor},
        transport::HostLookup,
    };

    /// Pictures and other media in messages.
    #[cfg(feature = "runtime")]
    pub mod media {
        pub use crate::media::{
            AcceptedMedia, CheckedPart, MediaRefusal, OmittedPart, document_text, inline, is_text,
            of_result, unfit, unreadable,
        };
    }
}
