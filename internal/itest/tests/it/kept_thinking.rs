//! Reasoning that a model wrote into its text goes back as text, and every provider takes it.

use std::sync::Arc;

use forgeline::{
    agent::{
        Agent,
        config::{AtLimit, KeepThinking},
        tools::Calculator,
    },
    llm::{Provider, Request, RetryPolicy, openai::OpenAi},
    types::{Message, MessageRole, Part, Transcript},
};
use forgeline_testkit::canned::Canned;
use serde_json::{Value, json};

use crate::request_bodies::SERVERS;

/// An answer of Chat Completions with reasoning in tags, and a call.
fn body() -> String {
    let arguments = json!({ "expression": "6 * 7" }).to_string();
    let call = json!({ "index": 0, "id": "c1", "function": { "name": "calculator", "arguments": arguments } });
    let deltas = [
        json!({ "content": "<think>\nSix times seven.\n</think>\n\nOne moment." }),
        json!({ "tool_calls": [call] }),
    ];
    let events = deltas.map(|delta| {
        let choice = json!({ "index": 0, "delta": delta });
        format!("data: {}\n\n", json!({ "object": "chat.completion.chunk", "choices": [choice] }))
    });
    format!("{}data: [DONE]\n\n", events.concat())
}

/// Runs three turns with calls and returns the requests.
async fn requests() -> (Vec<String>, Transcript) {
    let server = Canned::new(body());
    let provider = OpenAi::builder().base_url("http://h").model("m").retry(RetryPolicy::NONE);
    let provider = provider.transport(Arc::clone(&server)).build().unwrap();
    let agent = Agent::builder(provider).tool(Calculator).loop_guard(false).max_turns(3);
    let agent = agent.at_limit(AtLimit::Fail).build().unwrap().conversation();
    agent.run("What is 6 * 7?").await.unwrap_err();
    let text = |body: Vec<_>| String::from_utf8(body.concat()).unwrap();
    (server.sent().into_iter().map(|request| text(request.body)).collect(), agent.transcript())
}

// Covers: H-14
#[tokio::test]
async fn reasoning_in_tags_goes_back_in_them_and_what_was_sent_stays() {
    let (bodies, transcript) = requests().await;
    assert_eq!(bodies.len(), 3);
    let messages = |body: &str| {
        let body: Value = serde_json::from_str(body).unwrap();
        body["messages"].as_array().unwrap().clone()
    };
    let last = messages(&bodies[2]);
    let want = "<think>\nSix times seven.\n</think>\n\nOne moment.";
    let answers: Vec<_> = last.iter().filter(|message| message["role"] == "assistant").collect();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer["content"] == want), "{last:#?}");
    assert_eq!(transcript.messages()[1].parts[0].as_thinking(), Some("Six times seven."));
    for (earlier, later) in bodies.iter().zip(&bodies[1..]) {
        let sent = messages(earlier);
        assert_eq!(sent, messages(later)[..sent.len()]);
        let same = earlier.bytes().zip(later.bytes()).take_while(|(one, other)| one == other);
        let end = earlier.rfind(if sent.len() > 2 { "42" } else { "What is" }).unwrap();
        assert!(same.count() > end, "byte for byte");
    }
}

/// Every provider takes an answer whose reasoning is text, before calls and without one.
#[tokio::test]
async fn every_provider_takes_reasoning_that_is_text() {
    let written = "<think>\nHm.\n</think>\n\nOne moment.";
    let (_, transcript) = requests().await;
    let call = transcript.messages()[1].tool_calls().next().unwrap().clone();
    let text = |text: &str| Part::text(text);
    let messages = [
        Message::user("Hi"),
        Message::new(MessageRole::Assistant, vec![text(written), Part::ToolCall(call)]),
        (*transcript.messages()[2]).clone(),
        Message::new(MessageRole::Assistant, vec![text(written)]),
        Message::user("And?"),
    ];
    for (name, build, urls) in SERVERS {
        for url in urls {
            let server = Canned::new("");
            let request = Request::new(messages.iter().cloned().collect());
            drop(build(url, &server).stream_completion(request).await.unwrap());
            let body = String::from_utf8(server.segments().concat()).unwrap();
            let written = json!(written).to_string();
            assert_eq!(body.matches(written.trim_matches('"')).count(), 2, "{name}: {body}");
        }
    }
}

#[test]
fn reasoning_is_written_where_it_is_known_to_come_from_the_text() {
    for (name, build, urls) in SERVERS {
        for url in urls {
            let provider = build(url, &Canned::new(""));
            let is_written = name == "openai" && !url.contains("mistral");
            assert_eq!(provider.written_thinking().is_some(), is_written, "{name}: {url}");
        }
    }
    assert_eq!(KeepThinking::default(), KeepThinking::WithCalls);
}
