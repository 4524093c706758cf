use std::sync::{Arc, Mutex};

use futures_util::stream;
use serde_json::{Value, json};

use super::tool_search::model_knows_search;
use crate::{
    Provider as _, Request, RetryPolicy, ToolChoice, ToolSpec,
    http::HttpBuilder,
    responses::{OpenAiResponses, Responses},
    transport::{HttpRequest, HttpResponse, Transport, TransportFuture},
};
use forgeline_types::{Message, MessageRole, Part, Signature, ToolCall, ToolResult, Transcript};

const OWN: &str = "https://api.openai.com/v1";

/// Keeps the bodies of requests, and answers with nothing.
#[derive(Default)]
struct Kept(Mutex<Vec<String>>);

impl Transport for Kept {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        self.0.lock().unwrap().push(String::from_utf8(request.body.concat()).unwrap());
        let response = HttpResponse::new(200, Box::pin(stream::empty()));
        Box::pin(std::future::ready(Ok(response)))
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, format!("About {name}."), json!({ "type": "object", "properties": {} }))
}

fn search() -> ToolSpec {
    tool("tool_search").searches(true)
}

fn call(id: &str, name: &str) -> Message {
    let call = ToolCall::new(id, name, json!({ "query": "mail" }));
    Message::new(MessageRole::Assistant, vec![Part::ToolCall(call)])
}

fn result(result: ToolResult) -> Message {
    Message::new(MessageRole::Tool, vec![Part::ToolResult(result)])
}

/// A search that has found these tools.
fn found(id: &str, names: &[&str]) -> [Message; 2] {
    let names = names.iter().map(|name| (*name).into()).collect();
    [
        call(id, "tool_search"),
        result(ToolResult::new(id, "tool_search", "It found some.").found(names)),
    ]
}

/// A call of another tool.
fn called(id: &str, name: &str) -> [Message; 2] {
    [call(id, name), result(ToolResult::new(id, name, "It worked."))]
}

/// A request with the search, these messages, and these tools after it.
fn request(messages: impl IntoIterator<Item = Message>, deferred: &[ToolSpec]) -> Request {
    let deferred = deferred.iter().map(|spec| spec.clone().deferred(true));
    let tools: Vec<_> = [search()].into_iter().chain(deferred).collect();
    Request::new(Transcript::from_iter(messages)).tools(tools)
}

type Builder = HttpBuilder<Responses>;

fn own() -> Builder {
    OpenAiResponses::builder().base_url(OWN).model("gpt-5.4")
}

/// Sends the requests one after the other with one provider, and returns their bodies.
async fn texts(builder: Builder, requests: &[Request]) -> Vec<String> {
    let kept = Arc::new(Kept::default());
    let builder = builder.api_key("k").retry(RetryPolicy::NONE).transport(Arc::clone(&kept));
    let provider = builder.build().unwrap();
    for request in requests {
        drop(provider.stream_completion(request.clone()).await.unwrap());
    }
    std::mem::take(&mut *kept.0.lock().unwrap())
}

async fn body(builder: Builder, request: &Request) -> Value {
    let texts = texts(builder, std::slice::from_ref(request)).await;
    serde_json::from_str(&texts[0]).unwrap()
}

/// The items of a body of this type.
fn items<'b>(body: &'b Value, kind: &str) -> Vec<&'b Value> {
    body["input"].as_array().unwrap().iter().filter(|item| item["type"] == kind).collect()
}

fn names(tools: &Value) -> Vec<&str> {
    let tools = tools.as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap_or("")).collect()
}

#[test]
fn models_that_know_the_search_are_told_by_their_names() {
    let known =
        ["gpt-5.4", "gpt-5.4-mini", "gpt-5.5-2026-04-23", "gpt-5.10", "gpt-6", "gpt-6.1-codex"];
    for model in known {
        assert!(model_knows_search(model), "{model}");
    }
    #[rustfmt::skip]
    let others = [
        "gpt-5.4-nano", "gpt-5.3-codex", "gpt-5", "gpt-5-mini", "gpt-4o", "gpt-4.1", "gpt-oss-120b",
        "gpt-realtime", "o3", "chatgpt-4o-latest", "grok-5.4", "",
    ];
    for model in others {
        assert!(!model_knows_search(model), "{model}");
    }
}

#[tokio::test]
async fn what_is_found_is_described_there_and_what_was_sent_stays_byte_for_byte() {
    let tools = [tool("mail.send"), tool("mail.list")];
    let first = request([Message::user("Write to Ann.")], &[]).system("Be brief.");
    let mut second = first.clone();
    second.tools = request([], &tools).tools;
    for message in found("call_0", &["mail.send", "mail.list"]) {
        second.messages.push(message);
    }
    let mut third = second.clone();
    for message in called("call_1", "mail.send") {
        third.messages.push(message);
    }
    let sent = texts(own(), &[first, second, third.clone()]).await;

    let start = r#"{"model":"gpt-5.4","stream":true,"store":false,"include":["reasoning.encrypted_content"],"tools":[{"type":"tool_search","execution":"client","description":"About tool_search.","parameters":{"type":"object","properties":{}}}],"instructions":"Be brief.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Write to Ann."}]}"#;
    let function = |name: &str, about: &str| {
        format!(
            r#"{{"type":"function","name":"{name}","description":"About {about}.","parameters":{{"type":"object","properties":{{}}}},"strict":false,"defer_loading":true}}"#
        )
    };
    let searched = format!(
        r#",{{"type":"tool_search_call","call_id":"call_0","execution":"client","status":"completed","arguments":{{"query":"mail"}}}},{{"type":"tool_search_output","call_id":"call_0","execution":"client","status":"completed","tools":[{},{}]}}"#,
        function("mail_send", "mail.send"),
        function("mail_list", "mail.list"),
    );
    let called = r#",{"type":"function_call","call_id":"call_1","name":"mail_send","arguments":"{\"query\":\"mail\"}","namespace":"mail_send"},{"type":"function_call_output","call_id":"call_1","output":"It worked."}"#;
    assert_eq!(sent[0], format!("{start}]}}"));
    assert_eq!(sent[1], format!("{start}{searched}]}}"));
    assert_eq!(sent[2], format!("{start}{searched}{called}]}}"));
    assert_eq!(texts(own(), &[third]).await[0], sent[2], "as one that does not know it writes it");
}

#[tokio::test]
async fn a_tool_is_described_once_and_stands_among_the_tools_if_it_was_called_before() {
    let mut of_search = call("call_3", "mail.list");
    let Part::ToolCall(it) = &mut of_search.parts[0] else { unreachable!() };
    it.signature = Some(Signature::new("openai-responses", r#"{"namespace":"mail_list","by":1}"#));
    let messages = [Message::user("Hi")]
        .into_iter()
        .chain(called("call_0", "mail.list"))
        .chain(found("call_1", &["mail.list", "mail.send"]))
        .chain(found("call_2", &["mail.send", "mail.read"]))
        .chain(found("call_4", &["mail.read"]))
        .chain([of_search])
        .chain(called("call_5", "mail.read"));
    let tools = ["mail.list", "mail.send", "mail.read"].map(tool);
    let body = body(own(), &request(messages, &tools)).await;
    assert_eq!(names(&body["tools"]), ["", "mail_list"], "one is where its call expects it");
    assert_eq!(body["tools"][1].get("defer_loading"), None);
    let outputs = items(&body, "tool_search_output");
    let described: Vec<_> = outputs.iter().map(|output| names(&output["tools"])).collect();
    assert_eq!(described, [vec!["mail_send"], vec!["mail_read"], vec![]]);
    // What finds nothing new says so in words.
    let words = items(&body, "message");
    assert_eq!(words.len(), 2);
    assert_eq!(words[1]["role"], "user");
    assert_eq!(words[1]["content"][0]["text"], "It found some.");
    let calls = items(&body, "function_call");
    let spaces: Vec<_> = calls.iter().map(|call| call.get("namespace")).collect();
    assert_eq!(spaces, [None, None, Some(&json!("mail_read"))]);
    assert_eq!(calls[1]["by"], 1, "other members go back");
}

#[tokio::test]
async fn what_is_kept_is_written_anew_when_a_found_tool_is_another_than_it_was() {
    let changed = ToolSpec::new("mail.send", "Now with a subject.", json!({ "type": "object" }));
    let messages = || {
        let found = found("call_0", &["mail.send", "mail.list"]);
        [Message::user("Hi")].into_iter().chain(found).chain([Message::user("Go on.")])
    };
    let history = request(messages(), &[]).messages;
    let with = |tools: &[ToolSpec]| {
        let mut request = request([], tools);
        request.messages = history.clone();
        request
    };
    let (both, list) = ([tool("mail.send"), tool("mail.list")], [tool("mail.list")]);
    let new = [changed, tool("mail.list")];
    let requests = [&both[..], &new, &list, &[], &list, &both, &both].map(with);
    let sent = texts(own(), &requests).await;
    for (request, text) in requests.iter().zip(&sent) {
        assert_eq!(texts(own(), std::slice::from_ref(request)).await[0], *text);
    }
    assert!(sent[0].contains("About mail.send.") && sent[0] == sent[6]);
    assert!(sent[1].contains("Now with a subject.") && !sent[1].contains("About mail.send."));
    assert!(!sent[2].contains("mail_send") && sent[2].contains("mail_list"));
    assert!(!sent[3].contains("About mail"), "{}", sent[3]);
    // What a caller may not use is not named by the words of the search either.
    assert!(!sent[3].contains("It found some."), "{}", sent[3]);
}

#[tokio::test]
async fn a_search_that_finds_nothing_or_fails_says_so_in_words() {
    for (words, is_error) in [("No tool matches any of these words.", false), ("Not now.", true)] {
        let answer = ToolResult::new("call_0", "tool_search", words).error(is_error);
        let messages = [Message::user("Hi"), call("call_0", "tool_search"), result(answer)];
        let body = body(own(), &request(messages, &[])).await;
        let want = json!([
            { "type": "tool_search_output", "call_id": "call_0", "execution": "client",
              "status": "completed", "tools": [] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": words }] },
        ]);
        assert_eq!(body["input"].as_array().unwrap()[2..], *want.as_array().unwrap());
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_go_back_as_an_empty_one() {
    let mut cut = call("call_0", "tool_search");
    let Part::ToolCall(it) = &mut cut.parts[0] else { unreachable!() };
    (it.arguments, it.arguments_raw) = (None, r#"{"que"#.to_owned());
    let answer = result(ToolResult::new("call_0", "tool_search", "Bad.").error(true));
    let body = body(own(), &request([Message::user("Hi"), cut, answer], &[])).await;
    assert_eq!(body["input"][1]["type"], "tool_search_call");
    assert_eq!(body["input"][1]["arguments"], json!({}));
}

#[tokio::test]
async fn others_get_functions_and_no_word_of_the_search() {
    let messages = || {
        let mut call = call("call_1", "mail.send");
        let Part::ToolCall(it) = &mut call.parts[0] else { unreachable!() };
        it.signature = Some(Signature::new("openai-responses", r#"{"namespace":"mail_send"}"#));
        let answer = result(ToolResult::new("call_1", "mail.send", "Sent."));
        let found = found("call_0", &["mail.send"]);
        [Message::user("Hi")].into_iter().chain(found).chain([call, answer])
    };
    let plain = request(messages(), &[tool("mail.send")]);
    let mut not_marked = plain.clone();
    not_marked.tools = plain.tools.iter().map(|spec| spec.clone().searches(false)).collect();
    let forced = |name: &str| plain.clone().tool_choice(ToolChoice::Tool(name.into()));
    let local = || OpenAiResponses::builder().base_url("http://local").model("gpt-5.4");
    let cases = [
        ("another server", local(), plain.clone()),
        ("an older model", own().model("gpt-5.3"), plain.clone()),
        ("the smallest model", own().model("gpt-5.4-nano"), plain.clone()),
        ("switched off", own().tool_search(false), plain.clone()),
        ("a tool of the same name", own(), not_marked),
        ("the search is forced", own(), forced("tool_search")),
        ("what was found is forced", own(), forced("mail.send")),
    ];
    for (case, builder, request) in cases {
        let body = body(builder, &request).await;
        assert_eq!(names(&body["tools"]), ["tool_search", "mail_send"], "{case}");
        let text = body.to_string();
        for word in ["tool_search_", "defer_loading", "namespace", "execution"] {
            assert!(!text.contains(word), "{case}: {text}");
        }
        assert!(text.contains("It found some."), "{case}: {text}");
    }
    for (case, builder) in
        [("switched on", local().tool_search(true)), ("a later model", own().model("gpt-6"))]
    {
        let body = body(builder, &plain).await;
        assert_eq!(items(&body, "tool_search_output").len(), 1, "{case}");
    }
}

#[tokio::test]
async fn whoever_writes_the_tools_himself_says_what_the_search_is() {
    let messages = || [Message::user("Hi")].into_iter().chain(found("call_0", &["mail.send"]));
    for (execution, want) in [("client", 1), ("server", 0)] {
        let written = json!([{ "type": "tool_search", "execution": execution }]);
        let request = request(messages(), &[tool("mail.send")]).extra("tools", written.clone());
        let local = OpenAiResponses::builder().base_url("http://local").model("m");
        let body = body(local, &request).await;
        assert_eq!(body["tools"], written);
        assert_eq!(items(&body, "tool_search_call").len(), want, "{execution}");
        assert_eq!(items(&body, "function_call").len(), 1 - want, "{execution}");
    }
    // Messages that are not sent describe nothing.
    let request = request(messages(), &[tool("mail.send")]).extra("input", json!("Hi"));
    assert_eq!(names(&body(own(), &request).await["tools"]), ["", "mail_send"]);
}

#[tokio::test]
async fn notes_on_what_was_found_follow_it_as_a_message() {
    let notes = |text: &str| vec![Part::text(text)];
    let found = ToolResult::new("call_0", "tool_search", "It found some.")
        .found(["mail.send".into()].into())
        .parts(notes("Ask before you send."));
    let messages = [Message::user("Go."), call("call_0", "tool_search"), result(found)];
    let body = body(own(), &request(messages, &[tool("mail.send")])).await;
    assert_eq!(names(&items(&body, "tool_search_output")[0]["tools"]), ["mail_send"]);
    let last = body["input"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["type"], &last["role"]), (&json!("message"), &json!("user")));
    assert_eq!(last["content"][0]["text"], "Ask before you send.");
    assert!(!body.to_string().contains("It found some."));
}
