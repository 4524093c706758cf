//! The public API, as its users rely on it.

use std::{collections::BTreeSet, env, process::Command};

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
        transport::{HttpRequest, HttpTransport, TransportError},
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
    is_shared::<(HttpTransport, RecordingTransport<HttpTransport>, ReplayTransport)>();
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

// Found: F3
#[test]
fn a_host_of_reqwest_without_tls_builds_clients_before_and_after_a_provider() {
    let _before = reqwest::Client::new();
    let provider = OpenAi::builder().base_url("https://127.0.0.1:1").model("m").build();
    assert!(provider.is_ok(), "{provider:?}");
    let _after = reqwest::Client::new();
}

/// Cargo unifies features: with TLS but no provider, a program's own clients would panic.
#[test]
fn no_feature_gives_the_program_s_reqwest_tls() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = |features: &str| {
        let output = Command::new(&cargo)
            .args(["tree", "-q", "--locked", "--offline", "-p", "forgeline", "-e", "normal"])
            .args(["--prefix", "none", "-f", "{p} {f}", features])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let of_reqwest = |tree: &str| {
        let line = tree.lines().find(|line| line.starts_with("reqwest v"));
        line.map(str::to_owned)
    };
    assert_eq!(of_reqwest(&tree("--features=mcp,server,testing")), None);
    let all = of_reqwest(&tree("--all-features")).expect("the feature `reqwest` has it");
    assert!(!all.contains("tls"), "{all}");
}
