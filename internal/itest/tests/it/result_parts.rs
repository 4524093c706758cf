//! Pictures and documents in results of tools: the form that each protocol takes.

use std::sync::Arc;

use forgeline::{
    agent::{
        Agent,
        approval::ApprovalPolicy,
        notice::Notice,
        tools::{ToolContext, ToolOutput, tool_fn},
    },
    llm::{
        Provider, Request,
        anthropic::Messages,
        cohere::ChatV2,
        gemini::GenerateContent,
        http::{HttpProvider, WireFormat},
        ollama::OllamaChat,
        openai::ChatCompletions,
        responses::Responses,
    },
    testing::{ScriptedProvider, ScriptedTurn},
    types::{Capabilities, Json, Message, MessageRole, ModelInfo, Part, ToolCall, ToolResult},
};
use forgeline_testkit::canned::Canned;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

fn picture() -> Part {
    Part::image("image/png", "iVBO")
}

fn document() -> Part {
    let name = Some("a.pdf".into());
    Part::document("application/pdf", "JVBE", name)
}

fn words() -> Part {
    Part::text("b")
}

/// What the server gets of the last message, and whether the request is asked to be degraded.
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
        |event| matches!(Notice::read(event), Some(Notice::Degraded(notice)) if notice.left_out.iter().any(|it| it.contains("tool results"))),
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

/// What a tool may give, and vendors refuse: a type that no model reads, a drawing, no base64, text that is none, a file by its address.
fn refused() -> Vec<Part> {
    let image = |kind: &str, data: &str| Part::image(kind, data);
    let file = |kind: &str, data: &str| Part::document(kind, data, None);
    vec![
        file("application/octet-stream", "YmxvYg=="),
        image("image/svg+xml", "PHN2Zy8+"),
        image("image/png", "not base64!"),
        file("text/plain", "/w=="),
        file("text/plain", "https://x/y.txt"),
    ]
}

async fn is_taken<W: WireFormat>(request: &Request) {
    let server = Canned::new("");
    let builder = HttpProvider::<W>::builder().base_url("http://h").model("m");
    let builder = builder.capabilities(Capabilities::ALL);
    let provider = builder.transport(Arc::clone(&server)).build().unwrap();
    let sent = provider.stream_completion(request.clone()).await;
    assert!(sent.is_ok(), "{}: {:?}", W::PROVIDER, sent.err());
    let body = server.json().to_string();
    assert!(body.contains("is left out"), "{}: {body}", W::PROVIDER);
    for data in ["YmxvYg==", "PHN2Zy8+", "not base64!", "/w==", "https://x/y.txt"] {
        assert!(!body.contains(data), "{}: {body}", W::PROVIDER);
    }
}

#[tokio::test]
async fn what_vendors_refuse_stays_out_of_the_conversation_with_each_protocol() {
    let give = tool_fn("give", "Gives files.", async |_: ToolContext, (): ()| {
        refused().into_iter().fold(ToolOutput::new("Files."), ToolOutput::part)
    });
    let turns = [
        ScriptedTurn::new().call("give", json!({})),
        ScriptedTurn::new().text("Given."),
        ScriptedTurn::new().text("Again."),
    ];
    let info = ModelInfo::new("scripted", "m").capabilities(Capabilities::ALL);
    let model = ScriptedProvider::new(turns).info_of(info);
    let agent = Agent::builder(model.clone()).tool(give);
    let agent = agent.approval(ApprovalPolicy::Never).build().unwrap().conversation();
    agent.run("Give.").await.unwrap();
    agent.run("And now?").await.unwrap();
    let requests = model.requests();
    let [_, second, next] = &*requests else { panic!("{} requests", requests.len()) };
    for request in [second, next] {
        is_taken::<Messages>(request).await;
        is_taken::<Responses>(request).await;
        is_taken::<GenerateContent>(request).await;
        is_taken::<ChatCompletions>(request).await;
        is_taken::<ChatV2>(request).await;
        is_taken::<OllamaChat>(request).await;
    }
}

#[tokio::test]
async fn a_conversation_that_was_kept_with_a_file_that_the_vendor_refuses_goes_on() {
    let blob = Part::document("application/octet-stream", "YmxvYg==", None);
    let (sent, _) = sent::<Messages>("m", vec![blob]).await;
    let note = json!({ "type": "text", "text": "[A document is left out: the provider does not take it.]" });
    assert_eq!(sent[0]["content"][0]["content"][1], note);
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
