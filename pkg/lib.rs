//! A streaming agent pipeline: what a language model streams becomes typed events, tools run, the
//! answer goes on.
//!
//! ```text
//! provider bytes → SSE → wire format → ThinkingParser → StreamChunks
//!                → process_stream (ToolCallParser) → AgentEvents → DefaultAgent with tools
//! ```
//!
//! Data moves right; backpressure and cancellation move left, by bounded channels and by dropping.
//! However the bytes are cut, the events are the same; no byte is lost; a cut answer is an error, and a
//! cut call never runs.
//!
//! # An agent
//!
//! ```
//! use forgeline::{agent::DefaultAgent, agent::tools::Calculator, llm::demo::DemoProvider};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = DefaultAgent::builder(DemoProvider::new()).tool(Calculator).build()?;
//! let outcome = agent.run("What is 6 * 7?").await?;
//! assert!(outcome.text.contains("42"));
//! # Ok(())
//! # }
//! ```
//!
//! [`run_stream`](agent::DefaultAgent::run_stream) gives every event as it is made, and
//! [`start`](agent::DefaultAgent::start) channels for a conversation that goes on.
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
//! | [`agent`], [`agent::tools`] | the agent's loop, and tools |
//! | [`testing`] | scripted and recorded providers, the conformance suite for authors of providers |
//! | [`prelude`] | the names that most programs need |
//!
//! # Features
//!
//! Without features, the decoders, the parsers, the event machine and the data types remain, without a
//! runtime.
//!
//! | feature | adds |
//! | --- | --- |
//! | `default` | `openai`, `anthropic` and `tls` |
//! | `openai` | the OpenAI Chat Completions provider, for OpenAI and all servers that speak its protocol |
//! | `anthropic` | the Anthropic Messages provider |
//! | `responses` | the OpenAI Responses provider |
//! | `gemini` | the Gemini provider |
//! | `ollama` | the Ollama provider, chat and generate |
//! | `cohere` | the Cohere provider, version 2 of its API |
//! | `http` | the HTTP transport (reqwest), which every provider implies |
//! | `tls` | TLS for the library's own client (rustls with *ring*); without it, bring a client, or use `http://` |
//! | `runtime` | the agent, its channels and tools, without HTTP: everything that needs tokio |
//! | `files` | the file tools: listing, reading, searching and changing files under a root |
//! | `skills` | skills: folders with a `SKILL.md`, listed in the prompt and loaded by a tool |
//! | `server` | the service: runs over HTTP, read by browsers and other programs, as routes for an axum application |
//! | `sqlite` | the stores of the service in a file of SQLite, whose C source is compiled in |
//! | `testing` | the conformance suite for authors of stores, for dev-dependencies |
//! | `tokenizer` | exact counts of tokens by the vocabularies of OpenAI's models, which are compiled in |
//! | `command` | the command tool: programs of an allow-list, run below a root |
//! | `mcp` | tools of MCP servers, of child processes and over HTTP |
//! | `schema` | the whole of JSON Schema for the arguments of tools |
//! | `record` | recording of sessions with a server, and their replay |
//! | `conformance` | the conformance suite for authors of providers, for dev-dependencies |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod agent;
mod json;
pub mod llm;
#[cfg(any(feature = "record", feature = "runtime"))]
mod own_file;
pub mod prelude;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod store;
pub mod testing;
pub mod types;

pub use agent::core::TextPipeline;

/// The programs of the README, compiled and run.
#[cfg(all(
    doctest,
    feature = "anthropic",
    feature = "openai",
    feature = "responses",
    feature = "gemini",
    feature = "ollama",
    feature = "cohere"
))]
#[doc = include_str!("../README.md")]
mod readme {}
