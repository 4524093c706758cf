//! Agents as models of vendors' clients.

use super::*;
use forgeline_types::{Message, MessageRole, UsageInfo};

pub(super) const CHAT: &str = "/v1/chat/completions";

pub(super) fn said(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": text })
}

pub(super) fn tools() -> Value {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let function = json!({ "name": "weather", "description": "Tells.", "parameters": parameters });
    json!([{ "type": "function", "function": function }])
}

/// A body of a request with these messages.
pub(super) fn body(messages: &Value, more: &Value) -> Value {
    let mut body = json!({ "model": "main", "messages": messages });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

pub(super) async fn send(
    app: &Router,
    (path, token): (&str, &str),
    headers: &[(&str, &str)],
    body: &Value,
) -> Response {
    let request = request(Method::POST, path, token).header("content-type", "application/json");
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    app.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap()
}

/// Sends a request of Ann's client.
pub(super) async fn ask(app: &Router, headers: &[(&str, &str)], body: &Value) -> Response {
    send(app, (CHAT, "ann"), headers, body).await
}

pub(super) async fn answered(app: &Router, messages: &Value, more: &Value) -> (u16, Value) {
    value(ask(app, &[], &body(messages, more)).await).await
}

/// The data of a stream's frames, which ends with `[DONE]` if it is whole.
pub(super) fn chunks(frames: &str) -> Vec<Value> {
    let data = frames.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The message that the chunks of a stream make: its text, its calls with their arguments, and the reason for its end.
pub(super) fn joined(chunks: &[Value]) -> (String, Vec<Value>, Value) {
    let (mut text, mut calls, mut reason) = (String::new(), Vec::<Value>::new(), Value::Null);
    for choice in chunks.iter().filter_map(|chunk| chunk["choices"].get(0)) {
        text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            if call["id"].is_string() {
                let name = &call["function"]["name"];
                let function = json!({ "name": name, "arguments": "" });
                calls.push(json!({ "id": call["id"], "type": call["type"], "function": function }));
            }
            let arguments = &mut calls.last_mut().unwrap()["function"]["arguments"];
            let more = call["function"]["arguments"].as_str().unwrap_or_default();
            *arguments = format!("{}{more}", arguments.as_str().unwrap()).into();
        }
        if !choice["finish_reason"].is_null() {
            assert!(reason.is_null(), "it ends once: {chunks:?}");
            reason = choice["finish_reason"].clone();
        }
    }
    (text, calls, reason)
}

/// An agent that asks the client for the weather of two cities if it is asked to, and says what it reads.
pub(super) fn asking() -> (ScriptedProvider, Agent) {
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        let last = request.messages.iter().last().unwrap();
        let usage = UsageInfo::default().input_tokens(3).output_tokens(2);
        let turn = ScriptedTurn::new().usage(usage);
        let city = |city: &str| json!({ "city": city });
        match last.text().as_str() {
            "Both." => {
                turn.text("I look.").call("weather", city("Faro")).call("weather", city("Porto"))
            }
            "One." => turn.call("weather", city("Faro")),
            "Add." => turn.text("First.").call("calculator", json!({ "expression": "1+1" })),
            _ => {
                let read = request.messages.iter().map(|message| shown(message));
                turn.text(read.collect::<Vec<_>>().join(" | "))
            }
        }
    });
    let agent = Agent::builder(provider.clone()).tool(Calculator).system("Fixed.");
    (provider, agent.build().unwrap())
}

/// Shows a message: its role, its text, its calls and its results.
fn shown(message: &Message) -> String {
    let role = match message.role {
        MessageRole::User => "u",
        MessageRole::Assistant => "a",
        MessageRole::Tool => "t",
        MessageRole::System | _ => "s",
    };
    let calls = message.tool_calls().map(|call| format!(" {}()", call.name));
    let results = message.tool_results().map(|result| format!(" ={}", result.content));
    let more: String = calls.chain(results).collect();
    format!("{role}:{}{more}", message.text().trim())
}

#[tokio::test]
async fn an_agent_is_a_model_whose_answer_is_the_same_streamed_and_whole() {
    let (_, app) = service(asking().1);
    let messages = json!([said("user", "Add.")]);
    for model in ["main", "default"] {
        let more = json!({ "model": model });
        let (status, whole) = answered(&app, &messages, &more).await;
        assert_eq!(
            (status, &whole["object"], &whole["model"]),
            (200, &json!("chat.completion"), &json!(model))
        );
        let choice = &whole["choices"][0];
        assert_eq!(choice["finish_reason"], "stop", "{whole}");
        let text = choice["message"]["content"].as_str().unwrap();
        // A tool of the agent is not a call for the client, and the texts of two turns are apart.
        assert!(text.starts_with("First.\n\nu:Add. | a:First. calculator()"), "{text}");
        assert_eq!(choice["message"].get("tool_calls"), None, "{whole}");
        assert_eq!(
            (&whole["usage"]["prompt_tokens"], &whole["usage"]["total_tokens"]),
            (&json!(6), &json!(10))
        );
        assert!(whole["created"].as_u64().unwrap() > 1_600_000_000, "{whole}");

        let more =
            json!({ "model": model, "stream": true, "stream_options": { "include_usage": true } });
        let response = ask(&app, &[], &body(&messages, &more)).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let run = response.headers()["x-run-id"].to_str().unwrap().to_owned();
        let frames = self::text(response).await;
        assert!(frames.ends_with("data: [DONE]\n\n"), "{frames}");
        let read = chunks(&frames);
        assert_eq!(joined(&read), (text.to_owned(), Vec::new(), json!("stop")));
        assert_eq!(read.last().unwrap()["usage"], whole["usage"]);
        assert_eq!(read[0]["choices"][0]["delta"]["role"], "assistant");
        assert_eq!(read[0]["id"], format!("chatcmpl-{run}"));
        // A run as any other.
        let (_, shown) = value(get(&app, &format!("/v1/runs/{run}"), "ann").await).await;
        assert_eq!(shown["status"], "completed");
        assert_eq!(get(&app, &format!("/v1/runs/{run}"), "eve").await.status(), 404);
        let frames =
            self::text(ask(&app, &[], &body(&messages, &json!({ "stream": true }))).await).await;
        assert!(!frames.contains("\"usage\""), "no counts unless asked: {frames}");
    }
}

#[tokio::test]
async fn models_are_the_agents_of_the_caller_and_others_do_not_exist() {
    let small = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("Small."));
    let large = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("Large."));
    let agent = Agent::builder(small).model("large", large).build().unwrap();
    let (_, app) = service(agent);
    let (status, listed) = value(get(&app, "/v1/models", "ann").await).await;
    let ids: Vec<_> =
        listed["data"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!((status, &listed["object"]), (200, &json!("list")));
    assert!(ids.contains(&json!("main")) && ids.contains(&json!("main/large")), "{ids:?}");
    for (id, want) in
        [("main", 200), ("main/large", 200), ("default", 200), ("nope", 404), ("main/nope", 404)]
    {
        let (status, model) = value(get(&app, &format!("/v1/models/{id}"), "ann").await).await;
        assert_eq!(status, want, "{id}: {model}");
        if want == 200 {
            assert_eq!((&model["id"], &model["object"]), (&json!(id), &json!("model")));
        } else {
            assert_eq!(model["error"]["code"], "model_not_found", "{model}");
        }
    }
    let messages = json!([said("user", "Go.")]);
    for (model, want, said) in [
        ("main", 200, "Small."),
        ("main/large", 200, "Large."),
        ("main/nope", 404, ""),
        ("nope", 404, ""),
        ("", 404, ""),
    ] {
        let (status, answer) = answered(&app, &messages, &json!({ "model": model })).await;
        assert_eq!(status, want, "{model}: {answer}");
        if want == 200 {
            assert_eq!(answer["choices"][0]["message"]["content"], said);
        } else {
            let error = &answer["error"];
            assert_eq!(
                (&error["code"], &error["param"]),
                (&json!("model_not_found"), &json!("model"))
            );
        }
    }
}

#[tokio::test]
async fn results_of_the_clients_calls_continue_the_run_that_made_them() {
    for is_streamed in [false, true] {
        let (provider, agent) = asking();
        let (_, app) = service(agent);
        let more = json!({ "tools": tools(), "stream": is_streamed });
        let read = async |messages: &Value| {
            let response = ask(&app, &[], &body(messages, &more)).await;
            assert_eq!(response.status(), 200);
            let (text, run) =
                (response.headers()["x-run-id"].to_str().unwrap().to_owned(), response);
            let (run, answer) = (text, self::text(run).await);
            let (text, calls, reason) = if is_streamed {
                assert!(answer.ends_with("data: [DONE]\n\n"), "{answer}");
                joined(&chunks(&answer))
            } else {
                let whole: Value = serde_json::from_str(&answer).unwrap();
                let choice = &whole["choices"][0];
                let calls = choice["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
                let text = choice["message"]["content"].as_str().unwrap_or_default().to_owned();
                (text, calls, choice["finish_reason"].clone())
            };
            (run, text, calls, reason)
        };
        let asks = json!([said("user", "Both.")]);
        let (run, first, calls, reason) = read(&asks).await;
        assert_eq!((first.as_str(), &reason, calls.len()), ("I look.", &json!("tool_calls"), 2));
        assert_eq!(
            calls[0]["function"],
            json!({ "name": "weather", "arguments": "{\"city\":\"Faro\"}" })
        );
        let call = |at: usize| calls[at]["id"].as_str().unwrap().to_owned();
        let result = |at: usize, text: &str| json!({ "role": "tool", "tool_call_id": call(at), "content": text });
        let answer = json!({ "role": "assistant", "content": first, "tool_calls": calls });
        // Who has a part of the results is asked for the rest.
        let part = json!([asks[0], answer, result(0, "Sun.")]);
        let (same, _, open, reason) = read(&part).await;
        assert_eq!((&same, &reason, open.len()), (&run, &json!("tool_calls"), 1));
        assert_eq!(open[0], calls[1]);
        // Another caller has no such run.
        let whole = json!([asks[0], answer, result(0, "Sun."), result(1, "Rain.")]);
        for token in ["bob", "eve"] {
            let (status, refused) =
                value(send(&app, (CHAT, token), &[], &body(&whole, &more)).await).await;
            assert_eq!((status, &refused["error"]["code"]), (404, &json!("call_not_found")));
        }
        assert_eq!(provider.requests().len(), 1);
        // The second request is one whose response was lost: it has the same answer, and nothing is asked twice.
        for _ in 0..2 {
            let (same, text, calls, reason) = read(&whole).await;
            assert_eq!((same, calls.len(), reason), (run.clone(), 0, json!("stop")));
            let want = "u:Both. | a:I look. weather() weather() | t: =Sun. =Rain.";
            assert_eq!(text, want);
            assert_eq!(provider.requests().len(), 2);
        }
    }
}

#[tokio::test]
async fn results_that_no_run_waits_for_are_refused_and_never_taken_for_read() {
    let (provider, agent) = asking();
    let (_, app) = service(agent);
    let more = json!({ "tools": tools() });
    let (_, first) = answered(&app, &json!([said("user", "One.")]), &more).await;
    let message = first["choices"][0]["message"].clone();
    let id = message["tool_calls"][0]["id"].as_str().unwrap().to_owned();
    let run = id.split('.').next().unwrap().to_owned();
    let with = |call: &str, extra: &[Value]| {
        let mut answer = message.clone();
        answer["tool_calls"][0]["id"] = call.into();
        let result = json!({ "role": "tool", "tool_call_id": call, "content": "Sun." });
        let mut messages = vec![said("user", "One."), answer, result];
        messages.extend(extra.iter().cloned());
        Value::from(messages)
    };
    // One that the run did not make.
    let (status, refused) = answered(&app, &with(&format!("{run}.9.call_9"), &[]), &more).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("invalid_input")), "{refused}");
    let (status, refused) = answered(&app, &with("call_of_others", &[]), &more).await;
    assert_eq!((status, &refused["error"]["code"]), (404, &json!("call_not_found")), "{refused}");
    assert_eq!(provider.requests().len(), 1);
    // Messages of another service go on with what the user says next.
    let (status, answer) =
        answered(&app, &with("call_of_others", &[said("user", "So?")]), &more).await;
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!((status, text), (200, "u:One. | a: weather() | t: =Sun. | u:So?"));
    // One that came after the run had ended.
    let cancel = format!("/v1/runs/{run}/cancel");
    assert_eq!(post(&app, &cancel, "ann", &json!({})).await.status(), 200);
    until(&app, &format!("/v1/runs/{run}"), "run_end").await;
    let (status, late) = answered(&app, &with(&id, &[]), &more).await;
    assert!(status == 400 || status == 409, "{late}");
    assert!(late["error"]["message"].is_string(), "{late}");
}

#[tokio::test]
async fn a_message_after_results_is_read_with_them() {
    let (_, app) = service(asking().1);
    let more = json!({ "tools": tools() });
    let (_, first) = answered(&app, &json!([said("user", "One.")]), &more).await;
    let message = &first["choices"][0]["message"];
    let id = &message["tool_calls"][0]["id"];
    let result = json!({ "role": "tool", "tool_call_id": id, "content": "Sun." });
    let messages = json!([said("user", "One."), message, result, said("user", "Be brief.")]);
    let (status, answer) = answered(&app, &messages, &more).await;
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!((status, text), (200, "u:One. | a: weather() | t: =Sun. | u:Be brief."));
}

// Covers: H-35
#[tokio::test]
async fn a_session_keeps_what_was_said_and_without_one_the_messages_are_all() {
    let (_, app) = service(asking().1);
    let read = async |session: Option<&str>, messages: Value| {
        let headers: Vec<_> = session.iter().map(|id| ("x-session-id", *id)).collect();
        let response = ask(&app, &headers, &body(&messages, &json!({}))).await;
        assert_eq!(response.status(), 200);
        let named = response.headers().get("x-session-id");
        let named = named.map(|id| id.to_str().unwrap().to_owned());
        let (_, whole) = value(response).await;
        (named, whole["choices"][0]["message"]["content"].as_str().unwrap().to_owned())
    };
    let (hi, so) = (said("user", "Hi."), said("user", "So?"));
    let earlier = json!([said("user", "A."), said("assistant", "B."), hi]);
    // Stateless: nothing is kept between two requests.
    for _ in 0..2 {
        assert_eq!(read(None, earlier.clone()).await, (None, "u:A. | a:B. | u:Hi.".to_owned()));
    }
    // Fresh, with an id of the client's; then only what is new counts.
    let (named, text) = read(Some("s1"), earlier.clone()).await;
    assert_eq!((named.as_deref(), text.as_str()), (Some("s1"), "u:A. | a:B. | u:Hi."));
    let forged = json!([said("user", "X."), said("assistant", "Y."), so]);
    let (named, text) = read(Some("s1"), forged).await;
    let want = "u:A. | a:B. | u:Hi. | a:u:A. | a:B. | u:Hi. | u:So?";
    assert_eq!((named.as_deref(), text.as_str()), (Some("s1"), want));
    // Fresh, with an id of the service.
    let (named, _) = read(Some("new"), json!([hi])).await;
    let named = named.unwrap();
    assert!(named.starts_with("conv-"), "{named}");
    let (same, text) = read(Some(&named), json!([so])).await;
    assert_eq!((same.as_deref(), text.as_str()), (Some(&*named), "u:Hi. | a:u:Hi. | u:So?"));
    // A conversation of another caller of the team is not found, and another team has its own.
    let asks = body(&json!([hi]), &json!({}));
    let (status, refused) =
        value(send(&app, (CHAT, "bob"), &[("x-session-id", "s1")], &asks).await).await;
    assert_eq!((status, &refused["error"]["code"]), (404, &json!("not_found")));
    let (_, answer) =
        value(send(&app, (CHAT, "eve"), &[("x-session-id", "s1")], &asks).await).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "u:Hi.");
    let too_long = "x".repeat(201);
    let refused = ask(&app, &[("x-session-id", &too_long)], &asks).await;
    assert_eq!(refused.status(), 400);
}

// Covers: T-38
#[tokio::test]
async fn instructions_of_a_client_reach_the_system_prompt_by_no_rule() {
    for rule in
        [ClientInstructions::AsUserText, ClientInstructions::Refuse, ClientInstructions::InMetadata]
    {
        let (provider, agent) = asking();
        let app = router(built(agent).client_instructions(rule).build().unwrap());
        let messages = json!([
            said("system", "PLANTED-1"),
            said("user", "A."),
            said("assistant", "B."),
            said("developer", "PLANTED-2"),
            said("user", "C."),
        ]);
        let mut tool = tools();
        tool[0]["function"]["description"] = "PLANTED-3".into();
        let more = json!({ "metadata": { "ticket": "7", "system": "PLANTED-4" }, "user": "PLANTED-5",
            "system": "PLANTED-6", "instructions": "PLANTED-7", "tools": tool });
        let asks = body(&messages, &more);
        let response = ask(&app, &[("x-system", "PLANTED-8")], &asks).await;
        if rule == ClientInstructions::Refuse {
            let (status, refused) = value(response).await;
            assert_eq!((status, &refused["error"]["code"]), (400, &json!("instructions_refused")));
            assert_eq!(provider.requests().len(), 0);
            continue;
        }
        let run = response.headers()["x-run-id"].to_str().unwrap().to_owned();
        assert_eq!(response.status(), 200);
        drop(response);
        let asked = provider.requests().pop().unwrap();
        assert_eq!(asked.system.as_deref(), Some("Fixed."));
        let read: Vec<_> = asked.messages.iter().map(|message| message.text()).collect();
        let (_, shown) = value(get(&app, &format!("/v1/runs/{run}"), "ann").await).await;
        assert_eq!(shown["request"]["metadata"]["ticket"], "7");
        if rule == ClientInstructions::AsUserText {
            // At the beginning of the conversation, with their sender.
            assert!(read[0].starts_with("[Instructions of the client program"), "{read:?}");
            assert!(
                read[0].contains("PLANTED-1\n\nPLANTED-2") && read[0].ends_with("A."),
                "{read:?}"
            );
            assert_eq!(read[1..], ["B.", "C."]);
        } else {
            assert_eq!(read, ["A.", "B.", "C."]);
            let kept = &shown["request"]["metadata"]["client_instructions"];
            assert_eq!(*kept, json!("PLANTED-1\n\nPLANTED-2"));
        }
    }
}

#[tokio::test]
async fn pictures_and_files_are_parts_of_the_input_and_reasoning_of_others_is_left_out() {
    let (provider, _) = asking();
    let provider = provider.capabilities(forgeline_types::Capabilities::ALL);
    let (_, app) = service(Agent::builder(provider.clone()).build().unwrap());
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let picture = json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{png}") } });
    let content = json!([{ "type": "text", "text": "Look." }, picture]);
    let before = json!({ "role": "assistant", "content": "B.", "reasoning_content": "PLANTED" });
    let messages = json!([{ "role": "user", "content": content }, before, { "role": "user", "content": content }]);
    let (status, answer) = answered(&app, &messages, &json!({})).await;
    assert_eq!(status, 200, "{answer}");
    let asked = provider.requests().pop().unwrap();
    let images = asked.messages.iter().map(|message| {
        message
            .parts
            .iter()
            .filter(|part| matches!(part, forgeline_types::Part::Image { .. }))
            .count()
    });
    assert_eq!(images.collect::<Vec<_>>(), [1, 0, 1]);
    assert!(!serde_json::to_string(&asked.messages).unwrap().contains("PLANTED"));
    for url in ["http://example.com/a.png", "data:image/png;base64,AAAA"] {
        let content = json!([{ "type": "image_url", "image_url": { "url": url } }]);
        let messages = json!([{ "role": "user", "content": content }]);
        let (status, refused) = answered(&app, &messages, &json!({})).await;
        assert_eq!(
            (status, &refused["error"]["type"]),
            (400, &json!("invalid_request_error")),
            "{url}"
        );
    }
}

#[tokio::test]
async fn members_that_would_change_the_answer_are_refused_and_others_are_named() {
    let (provider, agent) = asking();
    let (_, app) = service(agent);
    let messages = json!([said("user", "Go.")]);
    let format = json!({ "type": "json_object" });
    for (more, param) in [
        (json!({ "n": 2 }), "n"),
        (json!({ "logprobs": true }), "logprobs"),
        (json!({ "modalities": ["text", "audio"] }), "modalities"),
        (json!({ "functions": [{ "name": "f" }] }), "functions"),
        (json!({ "response_format": format }), "response_format"),
        (json!({ "tools": tools(), "tool_choice": "required" }), "tool_choice"),
        (json!({ "messages": 7 }), "messages"),
        (json!({ "messages": [] }), "messages"),
        (json!({ "messages": [said("assistant", "A.")] }), "messages"),
        (json!({ "messages": [said("user", " ")] }), "messages"),
        (json!({ "messages": [{ "role": "user", "content": 7 }] }), "messages[0].content"),
        (json!({ "stream": 7 }), "stream"),
        (json!({ "tools": [{ "type": "custom" }] }), "tools[0].type"),
    ] {
        let (status, refused) = answered(&app, &messages, &more).await;
        assert_eq!((status, &refused["error"]["param"]), (400, &json!(param)), "{more}: {refused}");
    }
    let long = json!([said("user", &"x".repeat((1 << 20) + 1))]);
    let (status, refused) = answered(&app, &long, &json!({})).await;
    assert_eq!((status, &refused["error"]["code"]), (413, &json!("input_too_long")));
    assert_eq!(provider.requests().len(), 0);
    let more = json!({ "n": 1, "temperature": 0.5, "max_tokens": 9, "user": "u", "tools": tools(), "tool_choice": "none" });
    let response = ask(&app, &[], &body(&messages, &more)).await;
    assert_eq!(response.headers()["x-ignored-members"], "max_tokens, temperature, n, user");
    assert_eq!(response.status(), 200);
    let offered = provider.requests().pop().unwrap();
    assert!(offered.tools.iter().all(|tool| tool.name != "weather"), "{:?}", offered.tools);
}

#[tokio::test]
async fn errors_have_the_vendors_form_and_their_status() {
    let limits =
        Limits { scope_connections: 1, runs_per_minute: 4, body_bytes: 1_000, ..Limits::default() };
    let hangs = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("So far.").hang());
    // Each node counts the connections that it has.
    let agent = Agent::builder(hangs).build().unwrap();
    let app = router(built(agent).limits(limits).build().unwrap());
    let asks = body(&json!([said("user", "Go.")]), &json!({ "stream": true }));
    let check = async |response: Response, want: u16, kind: &str| {
        let retry = response.headers().get("retry-after").cloned();
        assert_eq!(response.headers()["content-type"], "application/json");
        let (status, refused) = value(response).await;
        assert_eq!((status, &refused["error"]["type"]), (want, &json!(kind)), "{refused}");
        assert!(refused["error"]["code"].is_string(), "{refused}");
        assert_eq!(retry.is_some(), want == 429 || want == 503, "{refused}");
    };
    let refused = send(&app, (CHAT, "unknown"), &[], &asks).await;
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    check(refused, 401, "authentication_error").await;
    check(get(&app, "/v1/models", "").await, 401, "authentication_error").await;
    let long = body(&json!([said("user", &"x".repeat(2_000))]), &json!({}));
    check(ask(&app, &[], &long).await, 413, "invalid_request_error").await;
    let open = ask(&app, &[], &asks).await;
    assert_eq!(open.status(), 200);
    check(ask(&app, &[], &asks).await, 429, "rate_limit_error").await;
    drop(open);
    let put = request(Method::PUT, CHAT, "ann").body(Body::empty()).unwrap();
    check(app.clone().oneshot(put).await.unwrap(), 405, "invalid_request_error").await;
    // Those of other routes stay as they are.
    let other = get(&app, "/v1/runs/nope", "ann").await;
    assert_eq!(other.headers()["content-type"], "application/problem+json");
}
