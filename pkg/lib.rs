//! A streaming agent pipeline: what a language model streams becomes typed events, tools run, the
//! answer goes on.
//!
//! ```text
//! provider bytes → SSE → wire format → ThinkingParser → StreamChunks
//!                → process_stream (ToolCallParser) → AgentEvents → Agent with tools
//! ```
//!
//! Data moves right; backpressure and cancellation move left, by bounded channels and by dropping.
//! However the bytes are cut, the events are the same; no byte is lost; a cut answer is an error, and a
//! cut call never runs.
//!
//! # An agent
//!
//! ```
//! use forgeline::{agent::Agent, agent::tools::Calculator, llm::demo::DemoProvider};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = Agent::builder(DemoProvider::new()).tool(Calculator).build()?;
//! let outcome = agent.run("What is 6 * 7?").await?;
//! assert!(outcome.text.contains("42"));
//! # Ok(())
//! # }
//! ```
//!
//! [`run_stream`](agent::Agent::run_stream) gives every event as it is made, and
//! [`start`](agent::Agent::start) channels for a conversation that goes on.
//!
//! # The parts
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`types`] | messages, events, completions, errors: plain data |
//! | [`llm::sse`], [`llm::ndjson`] | decoders of response bodies |
//! | [`llm::parser`] | reasoning and tool calls out of text, at any cut |
//! | [`llm`] | requests, chunks, the [`Provider`](llm::Provider) trait and the providers |
//! | [`TextPipeline`] | the text of a model, cut anywhere, as events: both parsers and the machine |
//! | [`agent::core`] | the event machine and its drivers |
//! | [`agent`] | the agent, its conversations and runs |
//! | [`agent::tools`], [`agent::search`], [`agent::sub_agents`] | tools, tools that the model finds when it needs them, and agents that are tools |
//! | [`agent::mcp`], [`agent::skills`] | tools of MCP servers, and folders of instructions |
//! | [`agent::access`], [`agent::approval`] | who may call what: permissions, authorizers and their audit, and approvals by a person |
//! | [`agent::channels`], [`agent::steering`] | an agent behind channels, and messages and answers while a run is in progress |
//! | [`agent::config`], [`agent::run`] | the limits and choices of an agent, and the details of one run: its budget and context |
//! | [`agent::prompts`], [`agent::memory`], [`agent::knowledge`] | the system prompt, histories that fit the window, and what is remembered |
//! | [`agent::journal`] | runs that another process continues |
//! | [`agent::notice`], [`agent::observe`] | the custom events of the library, and records of runs, turns and calls |
//! | [`server`], [`store`] | runs over HTTP, and what the service stores |
//! | [`testing`] | scripted and recorded providers, the conformance suites for authors of providers and stores |
//! | [`prelude`] | the names that most programs need |
//!
//! # Features
//!
//! Without features, the decoders, the parsers, the event machine and the data types remain, without a
//! runtime.
//!
//! | feature | adds |
//! | --- | --- |
//! | `default` | `http` and `tls` |
//! | `http` | the providers over HTTP, by hyper |
//! | `tls` | TLS for the library's own client (rustls with *ring*); without it, bring a client, or use `http://` |
//! | `reqwest` | clients of reqwest that the program brings, for their proxies, certificates and TLS |
//! | `runtime` | the agent, its channels and tools, without HTTP, and the attribute [`tool`](https://docs.rs/forgeline/latest/forgeline/attr.tool.html), which makes a tool of an async function: everything that needs tokio |
//! | `local-tools` | the tools that work on this machine: files below a root, programs of an allow-list, skills |
//! | `mcp` | tools of MCP servers, of child processes and over HTTP |
//! | `schema` | the whole of JSON Schema for the arguments of tools |
//! | `server` | the service: runs over HTTP, read by browsers and other programs, as routes for an axum application |
//! | `sqlite` | the stores of the service in a file of `SQLite`, whose C source is compiled in |
//! | `postgres` | stores in a database of `PostgreSQL`, which any number of nodes of the service share |
//! | `oidc` | callers of the service by the tokens of an `OpenID` Connect login server |
//! | `redis` | notifications over Redis, for any number of processes |
//! | `testing` | the demo model and scripted providers, recording and replay of sessions, and the conformance suites for authors of providers and, with `server`, of stores |
//!
//! Exact counts of tokens, by the vocabularies of OpenAI's models, are a feature of the crate below this one: add
//! `forgeline-llm` with its feature `tokenizer`.
//!
//! # Crates
//!
//! This crate is a facade. A program that needs a part only can depend on the crate that has it:
//! `forgeline-parser` finds reasoning and calls in text, without a runtime; `forgeline-llm` has the decoders and the
//! providers; `forgeline-core` the event machine; `forgeline-agent` the loop. All have the same version.

#![cfg_attr(docsrs, feature(doc_cfg))]

/// The agent: the loop that turns chunks into events, runs tools, and asks the model again.
pub mod agent {
    #[cfg(feature = "runtime")]
    #[doc(inline)]
    pub use forgeline_agent::*;
    #[doc(inline)]
    pub use forgeline_core as core;
    #[cfg(feature = "mcp")]
    #[doc(inline)]
    pub use forgeline_mcp as mcp;
    #[cfg(feature = "local-tools")]
    #[doc(inline)]
    pub use forgeline_skills as skills;
}
pub mod prelude;

#[doc(inline)]
pub use forgeline_core::TextPipeline;
#[doc(inline)]
pub use forgeline_llm as llm;
#[cfg(feature = "runtime")]
#[doc(inline)]
pub use forgeline_macros::tool;
#[cfg(feature = "server")]
#[doc(inline)]
pub use forgeline_server as server;
#[cfg(feature = "server")]
#[doc(inline)]
pub use forgeline_store as store;
#[cfg(feature = "testing")]
#[doc(inline)]
pub use forgeline_testing as testing;
#[doc(inline)]
pub use forgeline_types as types;

#[cfg(all(doctest, feature = "local-tools", feature = "testing"))]
mod guide;
/// The programs of the README, compiled and run.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../README.md")]
mod readme {}
/// The examples of the attribute `tool`.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("macros/tool.md")]
mod tool_attribute {}
