//! Tools that a search has found, in the words of Anthropic Messages.

use forgeline::{
    llm::{PromptCache, Request, ToolSpec, anthropic::Anthropic},
    types::{Message, MessageRole, Part, ToolCall, ToolResult, Transcript},
};
use forgeline_testkit::canned::Canned;
use serde_json::{Value, json};
use std::sync::Arc;

const OWN: &str = "https://api.anthropic.com";

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, format!("About {name}."), json!({ "type": "object", "properties": {} }))
}

/// The messages of a conversation in which a search has found these tools.
fn found(names: &[&str]) -> [Message; 2] {
    let call = ToolCall::new("call_0", "tool_search", json!({ "query": "mail" }));
    let names = names.iter().map(|name| (*name).into()).collect();
    let result = ToolResult::new("call_0", "tool_search", "It found some.").found(names);
    [
        Message::new(MessageRole::Assistant, vec![Part::ToolCall(call)]),
        Message::new(MessageRole::Tool, vec![Part::ToolResult(result)]),
    ]
}

fn request(messages: impl IntoIterator<Item = Message>, deferred: &[&str]) -> Request {
    let deferred = deferred.iter().map(|name| tool(name).deferred(true));
    let tools: Vec<_> = [tool("tool_search")].into_iter().chain(deferred).collect();
    let messages = Transcript::from_iter(messages);
    Request::new(messages).system("Be brief.").tools(tools).cache(PromptCache::Marks)
}

/// Sends the requests one after the other, and returns their bodies.
async fn bodies(base_url: &str, model: &str, requests: &[Request]) -> Vec<Value> {
    use forgeline::llm::{Provider as _, RetryPolicy};
    let server = Canned::new("");
    let builder = Anthropic::builder().base_url(base_url).model(model).api_key("k");
    let builder = builder.retry(RetryPolicy::NONE).transport(Arc::clone(&server));
    let (provider, mut bodies) = (builder.build().unwrap(), Vec::new());
    for request in requests {
        drop(provider.stream_completion(request.clone()).await.unwrap());
        bodies.push(serde_json::from_slice(&server.last().body.concat()).unwrap());
    }
    bodies
}

#[tokio::test]
async fn what_was_found_is_described_there_and_the_prefix_keeps_its_bytes() {
    let before = Message::user("Write to Ann.");
    let first = request([before.clone()], &[]);
    let mut second = first.clone();
    for message in found(&["mail.send", "mail.list"]) {
        second.messages.push(message);
    }
    second.tools = request([], &["mail.send", "mail.list"]).tools;
    let mut third = second.clone();
    third.messages.push(Message::assistant("Sent."));
    third.messages.push(Message::user("Thank you."));
    let [one, two, three] = &bodies(OWN, "claude-sonnet-5", &[first, second, third]).await[..]
    else {
        panic!("three bodies")
    };
    // The tools that are described at the beginning, with their mark, and the instructions.
    assert_eq!(two["tools"][0], one["tools"][0]);
    assert_eq!(one["tools"][0]["cache_control"]["type"], "ephemeral");
    assert_eq!(two["system"], one["system"]);
    for at in [1, 2] {
        assert_eq!(two["tools"][at]["defer_loading"], true);
        assert_eq!(two["tools"][at].get("cache_control"), None, "it would not be taken");
    }
    let mut result = three["messages"][2]["content"][0].clone();
    result.as_object_mut().unwrap().remove("cache_control");
    let want = json!({ "type": "tool_result", "tool_use_id": "call_0", "content": [
        { "type": "tool_reference", "tool_name": "mail_send" },
        { "type": "tool_reference", "tool_name": "mail_list" },
    ] });
    assert_eq!(result, want);
    assert_eq!(three["tools"], two["tools"]);
}

#[tokio::test]
async fn a_name_without_a_tool_is_not_referred_to_even_where_it_was() {
    let messages = || [Message::user("Hi")].into_iter().chain(found(&["mail.send", "mail.list"]));
    let both = request(messages().chain([Message::user("Go on.")]), &["mail.send", "mail.list"]);
    let content = |body: &Value| {
        let content = body["messages"].as_array().unwrap().iter().find_map(|message| {
            let result = &message["content"][0];
            (result["type"] == "tool_result").then(|| result["content"].clone())
        });
        content.unwrap()
    };
    let mut one = both.clone();
    one.tools = request([], &["mail.list"]).tools;
    let mut none = both.clone();
    none.tools = request([], &[]).tools;
    let bodies = bodies(OWN, "claude-sonnet-5", &[both.clone(), one, none, both]).await;
    let reference = |name| json!({ "type": "tool_reference", "tool_name": name });
    let contents: Vec<_> = bodies.iter().map(content).collect();
    assert_eq!(contents[0], json!([reference("mail_send"), reference("mail_list")]));
    assert_eq!(contents[1], json!([reference("mail_list")]));
    assert_eq!(contents[2], json!([{ "type": "text", "text": "It found some." }]));
    assert_eq!(contents[3], contents[0], "they can be called again");
}

#[tokio::test]
async fn other_servers_and_older_models_get_the_tools_as_any() {
    let messages = || [Message::user("Hi")].into_iter().chain(found(&["mail.send"]));
    let request = request(messages(), &["mail.send"]);
    for (base_url, model) in
        [("http://local", "claude-sonnet-5"), (OWN, "claude-3-5-haiku-20241022")]
    {
        let body = bodies(base_url, model, std::slice::from_ref(&request)).await.remove(0);
        let text = body.to_string();
        assert!(!text.contains("tool_reference") && !text.contains("defer_loading"), "{text}");
        assert!(text.contains("It found some."), "{text}");
        assert_eq!(body["tools"][1]["cache_control"]["type"], "ephemeral", "the last is marked");
    }
}

#[tokio::test]
async fn notes_on_what_was_found_follow_the_results_as_text() {
    let mut messages = found(&["mail.send"]);
    if let Part::ToolResult(result) = &mut messages[1].parts[0] {
        result.parts = vec![Part::text("Ask before you send.")];
    }
    let messages = || [Message::user("Hi")].into_iter().chain(messages.clone());
    let request = request(messages(), &["mail.send"]);
    let body = bodies(OWN, "claude-sonnet-5", std::slice::from_ref(&request)).await.remove(0);
    let content = body["messages"][2]["content"].as_array().unwrap();
    let reference = json!([{ "type": "tool_reference", "tool_name": "mail_send" }]);
    assert_eq!(content[0]["content"], reference, "it takes nothing beside them");
    assert_eq!(
        (&content[1]["type"], &content[1]["text"]),
        (&json!("text"), &json!("Ask before you send."))
    );
    // Elsewhere they are a part of the result.
    let body = bodies("http://local", "m", std::slice::from_ref(&request)).await.remove(0);
    let content = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!((content.len(), content[0]["content"].as_array().unwrap().len()), (1, 2));
}
