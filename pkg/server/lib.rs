//! Agents as a service: runs that continue whether or not a client is connected, and whose events any number of readers can read.
//!
//! [`router`] returns the routes for a host's own axum application:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use forgeline::{agent::Agent, llm::demo::DemoProvider, server::{Service, router}};
//!
//! let agent = Agent::builder(DemoProvider::new()).build()?;
//! let service = Service::builder().agent("demo", agent).build()?;
//! let app = axum::Router::new().merge(router(service));
//! let app = app.into_make_service_with_connect_info::<std::net::SocketAddr>();
//! # drop(app);
//! # Ok(())
//! # }
//! ```
//!
//! `POST /v1/runs` starts a run and `GET /v1/runs/{id}/events` reads it, from any client and any number of times: its events are in an [event
//! log](forgeline_store::EventLog) before a reader sees them. `POST /api/chat` serves `useChat` of the AI SDK, and `POST /agui` AG-UI clients; to
//! clients of OpenAI, an agent is a model: `POST /v1/chat/completions` and `POST /v1/responses`. `GET /` is the web console.

mod access;
mod audit;
mod builder;
mod commands;
mod console;
mod conversations;
mod durable;
pub mod encode;
mod frames;
mod health;
mod http;
mod input;
mod journal;
mod lifecycle;
mod metrics;
#[cfg(feature = "oidc")]
pub mod oidc;
mod openapi;
mod problem;
mod providers;
mod readers;
mod retention;
mod routes;
mod runs;
mod service;
#[cfg(test)]
mod tests;
#[cfg(test)]
use tests::nodes::say;

pub use self::{
    access::identity::{Identify, Tokens},
    access::limits::Limits,
    access::origins::is_origin,
    builder::{ServiceBuilder, ServiceError},
    health::CheckState,
    input::client_instructions::ClientInstructions,
    journal::RunJournal,
    lifecycle::recover::Recovered,
    problem::Problem,
    providers::{
        KeyPolicy, ProviderChoice, ProviderChoiceError, ProviderKind, ProviderResolver,
        ProviderSettings, ResolvedProvider,
    },
    retention::Keep,
    routes::{openapi, router},
    service::Service,
};
