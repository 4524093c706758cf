//! Agents as a service: runs that go on whoever listens, and whose events any number of readers get.
//!
//! [`router`] is for a host's own axum application:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use forgeline::{agent::DefaultAgent, llm::demo::DemoProvider, server::{Service, router}};
//!
//! let agent = DefaultAgent::builder(DemoProvider::new()).build()?;
//! let service = Service::builder().agent("demo", agent).build()?;
//! let app = axum::Router::new().merge(router(service));
//! let app = app.into_make_service_with_connect_info::<std::net::SocketAddr>();
//! # drop(app);
//! # Ok(())
//! # }
//! ```
//!
//! A run is begun by `POST /v1/runs` and read at `GET /v1/runs/{id}/events`, from any place and as often as is wanted: its events are in an
//! [event log](crate::store::EventLog) before a reader sees them. `POST /api/chat` is read by `useChat` of the AI SDK, `POST /agui` by
//! clients of AG-UI. `GET /` is the web console, for people.

mod again;
mod batches;
mod below;
mod body;
mod builder;
mod client_tools;
mod console;
mod conversations;
mod cors;
mod durable;
pub mod encode;
mod erase;
mod extract;
mod fired;
mod gate;
mod going_on;
mod guard;
mod health;
mod hosts;
mod identity;
mod journal;
mod journal_line;
mod keep;
mod latency;
mod latency_records;
mod limits;
mod metrics;
mod object;
mod origins;
mod own_calls;
mod pieces;
mod places;
mod problem;
mod recover;
mod request_log;
mod routes;
mod run;
mod run_records;
mod runs;
mod said;
mod scope;
mod scope_events;
mod scope_frames;
mod scope_place;
mod service;
mod settling;
mod shared_events;
mod shared_frames;
mod sharing;
mod shutdown;
mod steered;
mod streamed;
mod sweep;
mod tags;
mod take_back;
mod taken_back;
#[cfg(test)]
mod tests;
mod title;
mod turns;
mod undelivered;
mod unread;
mod usage;
mod words;

pub use self::{
    builder::{ServiceBuilder, ServiceError},
    health::CheckState,
    identity::{Identify, Tokens},
    keep::Keep,
    limits::Limits,
    origins::is_origin,
    problem::Problem,
    recover::Recovered,
    routes::router,
    service::Service,
};
