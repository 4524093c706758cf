//! Pictures and documents in results of tools: the form that each protocol takes.

use std::sync::Arc;

use forgeline::{
    llm::{
        DEGRADED, Provider, Request,
        anthropic::Messages,
        cohere::ChatV2,
        gemini::GenerateContent,
        http::{HttpProvider, WireFormat},
        ollama::OllamaChat,
        openai::ChatCompletions,
        responses::Responses,
    },
    types::{AgentEvent, Json, Message, MessageRole, Part, ToolCall, ToolResult},
};
use forgeline_testkit::canned::Canned;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

fn picture() -> Part {
    Part::Image { media_type: "image/png".into(), data: "iVBO".into() }
}

fn document() -> Part {
    let name = Some("a.pdf".into());
    Part::Document { media_type: "application/pdf".into(), data: "JVBE".into(), name }
}

fn words() -> Part {
    Part::Text { text: "b".into() }
}

/// What the server gets of the last message, and whether the request is told to be degraded.
async fn sent<W: WireFormat>(model: &str, parts: Vec<Part>) -> (Value, bool) {
    let call = ToolCall::new("c", "look", Json::parse("{}").unwrap());
    let result = ToolResult::new("c", "look", "Seen.").parts(parts);
    let messages = vec![
        Message::user("x"),
        Message::new(MessageRole::Assistant, vec![Part::ToolCall(call)]),
        Message::new(MessageRole::Tool, vec![Part::ToolResult(result)]),
    ];
    let request = Request::new(messages.into());
    let server = Canned::new("");
    let builder = HttpProvider::<W>::builder().base_url("http://h").model(model);
    let provider = builder.transport(Arc::clone(&server)).build().unwrap();
    let mut chunks = provider.stream_completion(request).await.unwrap();
    let first = chunks.next().await.and_then(Result::ok);
    let details = first.and_then(|chunk| chunk.details);
    let is_told = details.iter().flat_map(|details| &details.events).any(
        |event| matches!(event, AgentEvent::Custom { name, data } if name == DEGRADED && data.to_string().contains("results of tools")),
    );
    let body = server.json();
    let messages = ["messages", "input", "contents"].iter().find_map(|name| body.get(name));
    let behind = messages.unwrap().as_array().unwrap().iter().skip(2).cloned().collect();
    (Value::Array(behind), is_told)
}

#[tokio::test]
async fn parts_stand_in_results_where_a_protocol_has_a_place_for_them() {
    let all = || vec![picture(), document(), words()];
    let anthropic = json!([{ "role": "user", "content": [{
        "type": "tool_result",
        "tool_use_id": "c",
        "content": [
            { "type": "text", "text": "Seen." },
            { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "iVBO" } },
            {
                "type": "document",
                "source": { "type": "base64", "media_type": "application/pdf", "data": "JVBE" },
                "title": "a.pdf",
            },
            { "type": "text", "text": "b" },
        ],
    }] }]);
    assert_eq!(sent::<Messages>("m", all()).await, (anthropic, false));
    let responses = json!([{ "type": "function_call_output", "call_id": "c", "output": [
        { "type": "input_text", "text": "Seen." },
        { "type": "input_image", "image_url": "data:image/png;base64,iVBO" },
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,JVBE",
        },
        { "type": "input_text", "text": "b" },
    ] }]);
    assert_eq!(sent::<Responses>("m", all()).await, (responses, false));
    let gemini = json!([{ "role": "user", "parts": [{ "functionResponse": {
        "id": "c",
        "name": "look",
        "response": { "output": "Seen.\nb" },
        "parts": [
            { "inlineData": { "mimeType": "image/png", "data": "iVBO" } },
            { "inlineData": { "mimeType": "application/pdf", "data": "JVBE" } },
        ],
    } }] }]);
    assert_eq!(sent::<GenerateContent>("gemini-3-pro", all()).await, (gemini, false));
}

#[tokio::test]
async fn parts_stand_behind_results_that_are_text_and_that_is_told() {
    let from = "From the result of `look`, call c:";
    let tool = json!({ "role": "tool", "tool_call_id": "c", "content": "Seen." });
    let chat = json!([tool, { "role": "user", "content": [
        { "type": "text", "text": from },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBO" } },
    ] }]);
    assert_eq!(sent::<ChatCompletions>("m", vec![picture()]).await, (chat.clone(), true));
    assert_eq!(sent::<ChatV2>("m", vec![picture()]).await, (chat, true));
    let ollama = json!([
        { "role": "tool", "content": "Seen.", "tool_name": "look", "tool_call_id": "c" },
        { "role": "user", "content": from, "images": ["iVBO"] },
    ]);
    assert_eq!(sent::<OllamaChat>("m", vec![picture()]).await, (ollama, true));
    let gemini = json!([{ "role": "user", "parts": [
        { "functionResponse": { "id": "c", "name": "look", "response": { "output": "Seen." } } },
        { "text": from },
        { "inlineData": { "mimeType": "image/png", "data": "iVBO" } },
    ] }]);
    assert_eq!(sent::<GenerateContent>("gemini-2.5-pro", vec![picture()]).await, (gemini, true));
}

#[tokio::test]
async fn results_without_parts_are_told_of_by_no_protocol() {
    let told = [
        sent::<ChatCompletions>("m", Vec::new()).await.1,
        sent::<Responses>("m", Vec::new()).await.1,
        sent::<Messages>("m", Vec::new()).await.1,
        sent::<ChatV2>("m", Vec::new()).await.1,
        sent::<OllamaChat>("m", Vec::new()).await.1,
        sent::<GenerateContent>("gemini-2.5-pro", Vec::new()).await.1,
    ];
    assert_eq!(told, [false; 6]);
}
