//! Content that a provider refuses is left out from then on, and the request is sent again.

use super::*;
use crate::Conversation;
use crate::{
    OutcomeKind, RunError, RunOutcome,
    journal::MemoryJournal,
    memory::ConversationMemory,
    notice::{CONTENT_REFUSED, CONTEXT_TRIMMED},
    tools::ToolOutput,
};
use forgeline_llm::{ProviderError, Request, StatusError, TokenEstimator};
use forgeline_types::{
    Capabilities, ErrorCode, ItemKind, Json, Message, MessageRole, Part, ProviderItem, Signature,
    ToolCall, ToolResult, Transcript,
};

/// A refusal in the vendor's words.
fn refusal(status: u16, kind: ErrorCode, words: &str) -> ProviderError {
    ProviderError::Status(Box::new(StatusError::new(status, kind, words)))
}

/// A model that refuses each request of which `is_refused` holds, and answers the others.
fn refusing(
    is_refused: impl Fn(&Request) -> bool + Send + 'static,
    error: impl Fn() -> ProviderError + Send + 'static,
) -> ScriptedProvider {
    let provider = ScriptedProvider::from_fn(move |request: &Request| {
        if is_refused(request) {
            return ScriptedTurn::refuse(error());
        }
        let last = request.messages.last().map(|last| last.text()).unwrap_or_default();
        if last.starts_with("Look") {
            ScriptedTurn::new().call("look", json!({}))
        } else {
            ScriptedTurn::new().text("It is done.")
        }
    });
    provider.capabilities(Capabilities::ALL)
}

fn parts(request: &Request) -> impl Iterator<Item = &Part> {
    request.messages.iter().flat_map(|message| message.parts.iter())
}

fn has_media(request: &Request) -> bool {
    let is_media = |part: &Part| matches!(part, Part::Image { .. } | Part::Document { .. });
    parts(request).any(|part| match part {
        Part::ToolResult(result) => result.parts.iter().any(is_media),
        other => is_media(other),
    })
}

fn has_proof(request: &Request) -> bool {
    parts(request).any(|part| match part {
        Part::Thinking { signature, .. } => signature.is_some(),
        Part::ToolCall(call) => call.signature.is_some(),
        Part::ProviderItem(item) => item.kind == ItemKind::Reasoning,
        _ => false,
    })
}

async fn run_of(
    agent: &Conversation,
    input: impl Into<crate::RunInput>,
) -> (Vec<String>, Result<RunOutcome, Box<RunError>>) {
    let (mut stream, mut events) = (agent.run_stream(input), Vec::new());
    to_the_end(&mut stream, &mut events).await;
    (kinds(&events), stream.outcome().await.map_err(Box::new))
}

fn named(kinds: &[String], name: &str) -> usize {
    kinds.iter().filter(|kind| kind.starts_with(name)).count()
}

fn picture() -> Part {
    Part::image("image/png", "iVBORw0KGgo=")
}

// Rows: N-24
#[tokio::test(start_paused = true)]
async fn a_refused_picture_or_file_is_a_note_from_then_on() {
    use ErrorCode::{InvalidRequest, Status};
    let text = |text: &str| Part::text(text.to_owned());
    let pdf = || Part::document("application/pdf", "JVBERi0xLjQ=", None);
    #[rustfmt::skip]
    let rows = [
        ("a picture",            vec![text("See"), picture()], (400, InvalidRequest, "this image cannot be read")),
        ("a model of text",      vec![text("See"), picture()], (500, Status, "image input needs the mmproj")),
        ("a server of text",     vec![text("See"), picture()], (422, InvalidRequest, "content: expected a string")),
        ("a file",               vec![text("See"), pdf()],     (400, InvalidRequest, "the PDF has a password")),
        ("a result's picture",   vec![text("Look")],           (400, InvalidRequest, "image exceeds 5 MB")),
    ];
    for (name, input, (status, kind, words)) in rows {
        let words = words.to_owned();
        let provider = refusing(has_media, move || refusal(status, kind, &words));
        let look = |_: ToolContext, _: Nothing| async {
            ToolOutput::new("The page.").picture("image/png", "iVBORw0KGgo=")
        };
        let journal = MemoryJournal::default();
        let build = || {
            let tool = tool_fn("look", "Looks.", look);
            let agent = Agent::builder(provider.clone()).tool(tool).build().unwrap();
            agent.conversation().with_journal(journal.clone())
        };
        let agent = build();
        let (events, outcome) = run_of(&agent, input).await;
        let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(outcome.text, "It is done.", "{name}");
        assert_eq!(named(&events, CONTENT_REFUSED), 1, "{name}: {events:?}");
        assert_eq!(named(&events, "error"), 0, "{name}");
        let before = provider.requests();
        assert_eq!(before.iter().filter(|it| has_media(it)).count(), 1, "{name}");
        let sent = format!("{:?}", before.last().unwrap().messages);
        assert!(sent.contains("It is left out because it was refused"), "{name}: {sent}");
        // The conversation keeps it; the requests of later runs do not have it, in this process and in another.
        assert!(format!("{:?}", agent.transcript()).contains("data"), "{name}");
        for agent in [agent, build()] {
            agent.resume().await.unwrap();
            let asked = provider.requests().len();
            let (events, outcome) = run_of(&agent, "And 2+2?").await;
            assert_eq!(outcome.unwrap().reason, OutcomeKind::Answer, "{name}");
            assert_eq!(named(&events, CONTENT_REFUSED), 0, "{name}");
            let requests = provider.requests();
            assert_eq!(requests.len(), asked + 1, "{name}: not refused again");
            assert!(!has_media(requests.last().unwrap()), "{name}");
        }
    }
}

// Rows: N-24
#[tokio::test(start_paused = true)]
async fn new_pictures_are_left_out_before_those_that_were_accepted() {
    // The first picture was accepted; the second is not.
    let provider = refusing(
        |request| parts(request).filter(|part| matches!(part, Part::Image { .. })).count() > 1,
        || refusal(400, ErrorCode::InvalidRequest, "too many images"),
    );
    let agent = Agent::builder(provider.clone()).build().unwrap().conversation();
    for refused in [0, 1, 1] {
        let (events, outcome) = run_of(&agent, vec![picture()]).await;
        assert_eq!(outcome.unwrap().text, "It is done.");
        assert_eq!(named(&events, CONTENT_REFUSED), refused);
        assert!(has_media(provider.requests().last().unwrap()), "the first is kept");
    }
}

// Rows: N-24
#[tokio::test(start_paused = true)]
async fn a_picture_of_a_kind_that_the_vendor_does_not_take_is_a_note_and_is_never_sent() {
    const DONE: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"It is done.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    const PHOTO: &str = "AAAAGGZ0eXBoZWlj";
    let photo = |kind: &str| Part::image(kind, PHOTO);
    let with = |part: Part| {
        let mut result = ToolResult::new("c1", "look", "The page.");
        result.parts = vec![part];
        Message::new(MessageRole::Tool, vec![Part::ToolResult(result)])
    };
    let asked = || {
        let call = Part::ToolCall(ToolCall::new("c1", "look", json!({})));
        Message::new(MessageRole::Assistant, vec![call])
    };
    let user = |parts: Vec<Part>| Message::new(MessageRole::User, parts);
    let tiff = || Part::image("image/tiff", "SUkqAAgAAAA=");
    #[rustfmt::skip]
    let rows = [
        ("of another vendor's model", vec![user(vec![photo("image/heic")]), Message::assistant("I see.")]),
        ("by its bytes",              vec![user(vec![photo("image/png")]), Message::assistant("I see.")]),
        ("of a tool",                 vec![Message::user("Look."), asked(), with(tiff()), Message::assistant("I see.")]),
        ("of a tool, unanswered",     vec![Message::user("Look."), asked(), with(photo("image/heif"))]),
    ];
    for (name, messages) in rows {
        let server =
            super::answering_server::Server::new([DONE, DONE].map(bytes::Bytes::from_static));
        let builder = forgeline_llm::openai::OpenAi::builder().api_key("k").model("gpt-4o");
        let provider = builder.transport(server.clone()).build().unwrap();
        let kept = vec![user(vec![picture()]), Message::assistant("A dot.")];
        let memory = ConversationMemory::from(Transcript::from([kept, messages].concat()));
        let agent = Agent::builder(provider).memory(memory).build().unwrap().conversation();
        for (turn, refused) in [(1, 1), (2, 0)] {
            let (events, outcome) = run_of(&agent, "Go on.").await;
            let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(outcome.text, "It is done.", "{name}");
            assert_eq!(named(&events, CONTENT_REFUSED), refused, "{name}: {events:?}");
            let sent = server.sent();
            assert_eq!(sent.len(), turn, "{name}: what is not accepted is not sent");
            let last = sent.last().unwrap();
            assert!(last.contains("It is left out because it was refused"), "{name}: {last}");
            assert!(last.contains("iVBORw0KGgo="), "{name}: the other picture stays");
            assert!(!last.contains(PHOTO) && !last.contains("SUkqAAgAAAA"), "{name}: {last}");
        }
    }
}

// Rows: N-24, N-23
#[tokio::test(start_paused = true)]
async fn an_error_without_such_content_is_told_at_once() {
    for words in ["this image cannot be read", "the signature is invalid"] {
        let provider = refusing(|_| true, move || refusal(400, ErrorCode::InvalidRequest, words));
        let agent = Agent::builder(provider.clone()).build().unwrap().conversation();
        let (events, outcome) = run_of(&agent, "Go.").await;
        assert_eq!(outcome.unwrap_err().error.code, ErrorCode::InvalidRequest);
        assert_eq!(provider.requests().len(), 1);
        assert_eq!((named(&events, "error"), named(&events, CONTENT_REFUSED)), (1, 0));
    }
}

// Rows: N-23
#[tokio::test(start_paused = true)]
async fn refused_signatures_are_left_out_once_and_stay_out() {
    let signed = |text: &str| Part::thinking(text.to_owned(), Signature::new("anthropic", "proof"));
    let mut call = ToolCall::new("c1", "look", json!({}));
    call.signature = Some(Signature::new("gemini", "proof"));
    let raw = Json::parse(r#"{"type":"reasoning","encrypted_content":"x"}"#).unwrap();
    let item = ProviderItem::new("responses", ItemKind::Reasoning, raw);
    let said = || Part::text("Well.");
    #[rustfmt::skip]
    let rows = [
        ("reasoning", "invalid `signature` in a `thinking` block",  vec![signed("Hm."), said()]),
        ("a call",    "the call lacks a thought_signature",         vec![Part::ToolCall(call)]),
        ("encrypted", "the encrypted content cannot be verified",   vec![Part::ProviderItem(item), said()]),
    ];
    for (name, words, parts) in rows {
        let has_call = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let mut history =
            vec![Message::user("Before."), Message::new(MessageRole::Assistant, parts)];
        if has_call {
            let result = Part::ToolResult(ToolResult::new("c1", "look", "x"));
            history.push(Message::new(MessageRole::Tool, vec![result]));
            history.push(Message::assistant("So."));
        }
        let provider = refusing(has_proof, move || refusal(400, ErrorCode::InvalidRequest, words));
        let memory = ConversationMemory::from(Transcript::from(history));
        let agent = Agent::builder(provider.clone()).memory(memory).build().unwrap().conversation();
        for (refused, requests) in [(1, 2), (0, 3)] {
            let (events, outcome) = run_of(&agent, "Go on.").await;
            assert_eq!(outcome.unwrap().text, "It is done.", "{name}");
            assert_eq!(named(&events, CONTENT_REFUSED), refused, "{name}");
            assert_eq!(provider.requests().len(), requests, "{name}");
        }
        // A refusal of content that is left out already is the answer.
        let provider = refusing(|_| true, move || refusal(400, ErrorCode::InvalidRequest, words));
        let memory = ConversationMemory::from(agent.transcript());
        let agent = Agent::builder(provider.clone()).memory(memory).build().unwrap().conversation();
        assert!(agent.run("Go on.").await.is_err(), "{name}");
        assert_eq!(provider.requests().len(), 2, "{name}: one retry");
    }
}

// Rows: N-25
#[tokio::test(start_paused = true)]
async fn a_conversation_too_long_for_an_unknown_window_is_shortened() {
    const MOST: u64 = 4_000;
    let count = |request: &Request| TokenEstimator::new().request(request);
    #[rustfmt::skip]
    let rows = [
        ("both numbers",  400, ErrorCode::ContextExceeded, "maximum context length is 4000 tokens, got 5500 tokens"),
        ("the window",    400, ErrorCode::ContextExceeded, "the context size (4000) is exceeded"),
        ("no number",     400, ErrorCode::ContextExceeded, "the prompt is too long"),
        ("by status",     413, ErrorCode::ContextExceeded, "payload too large"),
    ];
    for (name, status, kind, words) in rows {
        let is_long = move |request: &Request| count(request) > MOST;
        let provider = refusing(is_long, move || refusal(status, kind, words));
        let agent = Agent::builder(provider.clone()).build().unwrap().conversation();
        let (mut refused, mut trimmed) = (0, 0);
        for turn in 0..30 {
            let question = format!("Question {turn}: {}", "why is that so? ".repeat(60));
            let (events, outcome) = run_of(&agent, question).await;
            let outcome = outcome.unwrap_or_else(|error| panic!("{name}, {turn}: {error}"));
            assert_eq!(outcome.text, "It is done.", "{name}");
            refused += named(&events, CONTENT_REFUSED);
            trimmed += named(&events, CONTEXT_TRIMMED);
        }
        assert_eq!(refused, 1, "{name}: the room is learnt once");
        assert!(trimmed > 1, "{name}: {trimmed}");
        assert_eq!(provider.requests().len(), 31, "{name}");
        assert_eq!(agent.transcript().len(), 60, "{name}: the conversation keeps everything");
    }
}

// Rows: N-25
#[tokio::test(start_paused = true)]
async fn a_result_that_no_model_can_read_is_left_out_and_a_long_question_fails() {
    let count = |request: &Request| TokenEstimator::new().request(request);
    let error = || refusal(400, ErrorCode::ContextExceeded, "the prompt is too long");
    let provider = refusing(move |request| count(request) > 3_000, error);
    let look = |_: ToolContext, _: Nothing| async { "a word and another ".repeat(2_000) };
    let tool = tool_fn("look", "Looks.", look);
    let agent = Agent::builder(provider.clone()).tool(tool).build().unwrap().conversation();
    let (events, outcome) = run_of(&agent, "Look").await;
    assert_eq!(outcome.unwrap().text, "It is done.");
    assert_eq!((named(&events, CONTENT_REFUSED), provider.requests().len()), (1, 3));
    let sent = format!("{:?}", provider.requests().last().unwrap().messages);
    assert!(sent.contains("Ask for a smaller part"), "{sent}");

    // Nothing can be left out of one question: it is not sent again, and the error is sent once.
    let agent = Agent::builder(provider.clone()).build().unwrap().conversation();
    let before = provider.requests().len();
    let (events, outcome) = run_of(&agent, "why? ".repeat(4_000)).await;
    assert_eq!(outcome.unwrap_err().error.code, ErrorCode::ContextExceeded);
    assert_eq!(provider.requests().len() - before, 1);
    assert_eq!(named(&events, "error"), 1, "{events:?}");
    // The next question is answered.
    let (_, outcome) = run_of(&agent, "Shorter?").await;
    assert_eq!(outcome.unwrap().text, "It is done.");

    // A server that refuses everything is asked twice more at most.
    let history: Vec<_> = (0..40)
        .flat_map(|at| {
            [Message::user(format!("Q{at} {}", "x ".repeat(200))), Message::assistant("A.")]
        })
        .collect();
    let always = refusing(|_| true, error);
    let memory = ConversationMemory::from(Transcript::from(history));
    let agent = Agent::builder(always.clone()).memory(memory).build().unwrap().conversation();
    assert!(agent.run("Go.").await.is_err());
    assert_eq!(always.requests().len(), 3);
}
