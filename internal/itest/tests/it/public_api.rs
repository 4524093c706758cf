//! The public API, as its users rely on it.

use std::collections::BTreeSet;

use forgeline::{
    agent::{Agent, AgentBuilder, core::StreamMachine},
    llm::{
        ChunkStream, ProviderError, Request, RetryPolicy, StreamChunk,
        anthropic::Anthropic,
        cohere::Cohere,
        demo::DemoProvider,
        gemini::Gemini,
        ollama::Ollama,
        openai::OpenAi,
        parser::{ThinkingDialect, ThinkingParser, ToolCallParser, ToolDialect},
        responses::OpenAiResponses,
        sse::SseDecoder,
        transport::{HttpRequest, ReqwestTransport, TransportError},
    },
    testing::{
        ScriptedProvider, ScriptedTurn,
        conformance::Report,
        record::{Recording, RecordingError, RecordingTransport},
        replay::{ReplayProvider, ReplayTransport},
    },
    types::{AgentError, AgentEvent, Completion, Json, Message, PartialJson, Text, Transcript},
};

use super::source::read_file;

/// Compiles only for types that threads can share.
fn is_shared<T: Send + Sync>() {}

/// Compiles only for types that another thread can take over.
fn is_sent<T: Send>() {}

#[test]
fn public_types_are_send_and_sync() {
    is_shared::<(Agent, StreamMachine)>();
    is_shared::<(Request, RetryPolicy, StreamChunk, ProviderError, TransportError, HttpRequest)>();
    is_shared::<(OpenAi, Anthropic, OpenAiResponses, Gemini, Ollama, Cohere, DemoProvider)>();
    is_shared::<(ThinkingDialect, ThinkingParser, ToolCallParser, ToolDialect, SseDecoder)>();
    is_shared::<(ReqwestTransport, RecordingTransport<ReqwestTransport>, ReplayTransport)>();
    is_shared::<(ScriptedProvider, ScriptedTurn, ReplayProvider, Recording, RecordingError, Report)>(
    );
    is_shared::<(AgentError, AgentEvent, Completion, Json, Message, PartialJson, Text, Transcript)>(
    );
    // A memory is used by one run at a time, so it need not be `Sync`.
    is_sent::<(AgentBuilder, ChunkStream)>();
}

#[test]
fn every_feature_is_described() {
    let manifest = read_file("Cargo.toml");
    let features = manifest.split("\n[features]\n").nth(1).unwrap();
    let features = features.split("\n[").next().unwrap().lines();
    let features: BTreeSet<_> = features
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .collect();
    let docs = read_file("pkg/lib.rs");
    let rows = docs.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let rows = rows.filter_map(|row| row.split_once("` | ").map(|(name, _)| name));
    let described: BTreeSet<_> = rows.collect();
    assert_eq!(described, features, "the table of features in pkg/lib.rs");
    forgeline_testkit::say(format!("{} features are described", features.len()));
}
