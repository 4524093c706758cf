//! The window of a model is asked of its server, once a request was too long.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::memory::ConversationMemory;
use forgeline_llm::{Provider, Request, ollama::Ollama, openai::OpenAi};
use forgeline_types::{ErrorCode, Message, Transcript};

/// The longest request that the server answers, in bytes.
const MOST_BYTES: usize = 16_000;

const DONE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"It is done.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const OLLAMA_DONE: &str = "{\"message\":{\"role\":\"assistant\",\"content\":\"It is done.\"},\"done\":true,\"done_reason\":\"stop\"}\n";

/// A server that refuses long requests, and what it says of its models.
#[derive(Clone, Copy)]
struct Refusing {
    status: u16,
    words: &'static str,
    /// The answers to `GET` and to questions about a model, by their paths.
    facts: &'static [(&'static str, &'static str)],
}

/// Starts the server; returns its URL, and the paths that it was asked for.
async fn start(server: Refusing) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let paths = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&paths);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, server, Arc::clone(&seen)));
        }
    });
    (url, paths)
}

/// Answers one request.
async fn serve(mut stream: TcpStream, server: Refusing, paths: Arc<Mutex<Vec<String>>>) {
    let mut read = Vec::new();
    let (head, mut rest) = loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.unwrap_or(0);
        if count == 0 {
            return;
        }
        read.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            break (head.to_owned(), body.len());
        }
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        value.parse().ok().filter(|_| name.eq_ignore_ascii_case("content-length"))
    });
    let length: usize = length.unwrap_or(0);
    while rest < length {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(count) if count > 0 => rest += count,
            _ => return,
        }
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    paths.lock().unwrap().push(path.clone());
    let (status, body) = match &*path {
        "/v1/chat/completions" | "/api/chat" if length > MOST_BYTES => {
            (server.status, server.words)
        }
        "/v1/chat/completions" => (200, DONE),
        "/api/chat" => (200, OLLAMA_DONE),
        _ => server
            .facts
            .iter()
            .find(|fact| fact.0 == path)
            .map_or((404, "{}"), |fact| (200, fact.1)),
    };
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    drop(stream.write_all(format!("{head}{body}").as_bytes()).await);
}

fn openai(url: &str) -> Arc<dyn Provider> {
    Arc::new(OpenAi::builder().base_url(url).model("my-own").build().unwrap())
}

fn ollama(url: &str) -> Arc<dyn Provider> {
    Arc::new(Ollama::builder().base_url(url).model("my-own").build().unwrap())
}

/// A conversation twelve times as long as the server accepts: to shorten it twice by a guess is not enough.
fn long() -> ConversationMemory {
    let turn = |at: usize| {
        let question = format!("Question {at}: {}", "why is that so? ".repeat(70));
        [Message::user(question), Message::assistant("I see.")]
    };
    ConversationMemory::from(Transcript::from((0..168).flat_map(turn).collect::<Vec<_>>()))
}

const LONG: &str =
    r#"{"error":{"message":"the prompt is too long","code":"context_length_exceeded"}}"#;

/// A name, a provider, its server, and the paths that are asked.
type Row = (&'static str, fn(&str) -> Arc<dyn Provider>, Refusing, &'static [&'static str]);

// Rows: N-25
#[tokio::test]
async fn a_window_that_an_error_does_not_state_is_asked_of_the_server() {
    const LISTED: &str =
        r#"{"data":[{"id":"other","max_model_len":90000},{"id":"my-own","max_model_len":4000}]}"#;
    const TRAINED: &str = r#"{"data":[{"id":"my-own","meta":{"n_ctx_train":131072}}]}"#;
    const PROPS: &str = r#"{"default_generation_settings":{"n_ctx":4000},"total_slots":1}"#;
    const SHOWN: &str = r#"{"parameters":"stop   \"<|end|>\"\nnum_ctx                        4000","model_info":{"own.context_length":131072}}"#;
    const OF_MODEL: &str =
        r#"{"model_info":{"general.architecture":"own","own.context_length":4000}}"#;
    let bad = |facts| Refusing { status: 400, words: LONG, facts };
    let html = |facts| Refusing {
        status: 413,
        words: "<html><title>413 Request Entity Too Large</title></html>",
        facts,
    };
    #[rustfmt::skip]
    let rows: [Row; 12] = [
        ("vLLM",                     openai, bad(&[("/v1/models", LISTED)]), &["/v1/models"]),
        ("vLLM, by status",          openai, html(&[("/v1/models", LISTED)]), &["/v1/models"]),
        ("a gateway",                openai, bad(&[("/v1/models", r#"{"data":[{"id":"my-own","context_window":4000}]}"#)]), &["/v1/models"]),
        ("another gateway",          openai, bad(&[("/v1/models", r#"[{"id":"team/my-own","context_length":4000}]"#)]), &["/v1/models"]),
        ("llama.cpp, in its list",   openai, bad(&[("/v1/models", r#"{"data":[{"id":"a.gguf","meta":{"n_ctx_train":131072,"n_ctx":4000}}]}"#)]), &["/v1/models"]),
        ("llama.cpp",                openai, bad(&[("/v1/models", TRAINED), ("/props", PROPS)]), &["/v1/models", "/props"]),
        ("llama.cpp, by status",     openai, html(&[("/props", PROPS)]), &["/v1/models", "/props"]),
        ("Ollama",                   ollama, bad(&[("/api/tags", r#"{"models":[{"name":"my-own"}]}"#), ("/api/show", SHOWN)]), &["/api/tags", "/props", "/api/show"]),
        ("Ollama, by its model",     ollama, html(&[("/api/show", OF_MODEL)]), &["/api/tags", "/props", "/api/show"]),
        ("LM Studio",                openai, bad(&[("/v1/models", r#"{"data":[{"id":"my-own","object":"model"}]}"#), ("/props", r#"{"error":"Unexpected endpoint"}"#), ("/api/v0/models", r#"{"data":[{"id":"other","loaded_context_length":9},{"id":"my-own","max_context_length":131072,"loaded_context_length":4000}]}"#)]), &["/v1/models", "/props", "/api/show", "/api/v0/models"]),
        ("LM Studio, not loaded",    openai, html(&[("/api/v0/models", r#"{"data":[{"id":"team/my-own","state":"not-loaded","max_context_length":4000}]}"#)]), &["/v1/models", "/props", "/api/show", "/api/v0/models"]),
        ("Ollama, as OpenAI",        openai, bad(&[("/v1/models", r#"{"data":[{"id":"my-own"}]}"#), ("/api/show", OF_MODEL)]), &["/v1/models", "/props", "/api/show"]),
    ];
    for (name, provider, server, asked) in rows {
        let (url, paths) = start(server).await;
        let agent = Agent::builder(provider(&url)).memory(long()).build().unwrap().conversation();
        let outcome = agent.run("And now?").await;
        assert_eq!(outcome.unwrap_or_else(|error| panic!("{name}: {error}")).text, "It is done.");
        let seen = paths.lock().unwrap().clone();
        let [first, between @ .., last] = seen.as_slice() else { panic!("{name}: {seen:?}") };
        assert!(first.ends_with("/chat") || first.ends_with("/completions"), "{name}: {seen:?}");
        assert_eq!(first, last, "{name}: {seen:?}");
        assert_eq!(between, asked, "{name}");
        // What was learnt is known from then on.
        for turn in 1..4 {
            assert_eq!(agent.run("Why is that so?").await.unwrap().text, "It is done.", "{name}");
            assert_eq!(paths.lock().unwrap().len(), seen.len() + turn, "{name}");
        }
    }
}

// Rows: N-25
#[tokio::test]
async fn a_window_that_the_requests_set_is_that_of_the_model() {
    let options = |tokens: u64| json!({ "num_ctx": tokens });
    let (url, paths) = start(Refusing { status: 400, words: LONG, facts: &[] }).await;
    let agent = |tokens: u64| {
        let request = Request::default().extra("options", options(tokens));
        Agent::builder(ollama(&url)).request(request).memory(long()).build().unwrap().conversation()
    };
    // Nothing is asked, and nothing refused.
    assert_eq!(agent(4000).run("And now?").await.unwrap().text, "It is done.");
    assert_eq!(*paths.lock().unwrap(), ["/api/chat"]);
    // It is too large by the server's words: no other number is asked for.
    let refused = agent(4_000_000).run("And now?").await;
    assert_eq!(refused.unwrap_err().error.code, ErrorCode::ContextExceeded);
    assert!(paths.lock().unwrap().iter().all(|path| path == "/api/chat"), "{paths:?}");
    // Zero is the server's own: nothing is left out for it.
    let refused = agent(0).run("And now?").await;
    assert_eq!(refused.unwrap_err().error.code, ErrorCode::ContextExceeded);
}

// Rows: N-25
#[tokio::test]
async fn a_server_that_does_not_say_its_window_is_asked_once_and_never_ahead() {
    #[rustfmt::skip]
    let rows: [(&str, &[(&str, &str)]); 4] = [
        ("nothing",          &[]),
        ("no numbers",       &[("/v1/models", r#"{"data":[{"id":"my-own"}]}"#), ("/props", "{}"), ("/api/show", "{}")]),
        ("no JSON",          &[("/v1/models", "<html></html>"), ("/props", "Hi"), ("/api/show", "[")]),
        ("more than it has", &[("/v1/models", r#"{"data":[{"id":"my-own","max_model_len":99999}]}"#)]),
    ];
    for (name, facts) in rows {
        let (url, paths) = start(Refusing { status: 400, words: LONG, facts }).await;
        let provider = openai(&url);
        let agent = Agent::builder(Arc::clone(&provider)).build().unwrap().conversation();
        assert_eq!(agent.run("Hi.").await.unwrap().text, "It is done.", "{name}");
        assert_eq!(*paths.lock().unwrap(), ["/v1/chat/completions"], "{name}");
        for _ in 0..2 {
            let agent = Agent::builder(Arc::clone(&provider)).memory(long());
            let error = agent.build().unwrap().conversation().run("And now?").await.unwrap_err();
            assert_eq!(error.error.code, ErrorCode::ContextExceeded, "{name}");
        }
        let seen = paths.lock().unwrap().clone();
        let questions = seen.iter().filter(|path| !path.ends_with("/completions")).count();
        assert_eq!(questions, if name == "more than it has" { 1 } else { 4 }, "{name}: {seen:?}");
    }
}
