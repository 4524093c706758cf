//! Who is let in, and how much at a time.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;

use super::*;
use forgeline_types::UsageInfo;

fn local() -> Router {
    router(Service::builder().agent("main", chatty()).build().unwrap())
}

/// Asks without a token; returns the status and the code.
async fn ask(app: &Router, peer: Option<&str>, headers: &[(&str, &str)]) -> (u16, String) {
    let mut builder = Request::builder().uri("/v1/agents");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    let mut request = builder.body(Body::empty()).unwrap();
    if let Some(peer) = peer {
        request.extensions_mut().insert(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
    }
    let (status, body) = value(app.clone().oneshot(request).await.unwrap()).await;
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}

const OWN: Option<&str> = Some("127.0.0.1:50000");

#[tokio::test]
async fn without_tokens_only_this_machine_is_let_in() {
    let app = local();
    for peer in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        let answer = ask(&app, Some(peer), &[("host", "localhost:8787")]).await;
        assert_eq!(answer.0, 200, "{peer}");
    }
    for peer in [None, Some("10.0.0.7:1"), Some("[fe80::1]:1"), Some("[::ffff:10.0.0.7]:1")] {
        let answer = ask(&app, peer, &[("host", "localhost:8787")]).await;
        assert_eq!(answer, (403, "wrong_peer".to_owned()), "{peer:?}");
    }
    for proxy in [
        "forwarded",
        "via",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-real-ip",
    ] {
        let answer = ask(&app, OWN, &[("host", "localhost"), (proxy, "10.0.0.7")]).await;
        assert_eq!(answer, (403, "wrong_peer".to_owned()), "{proxy}");
    }
}

#[tokio::test]
async fn a_name_that_was_bound_anew_is_refused() {
    let app = local();
    for host in ["127.0.0.1:8787", "localhost", "LOCALHOST:1", "[::1]:8787", "127.0.0.2"] {
        assert_eq!(ask(&app, OWN, &[("host", host)]).await.0, 200, "{host}");
    }
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8787",
        "localhost@evil.example",
        "evil.example@localhost",
        "[::2]:8787",
        "[fe80::1]",
        "0.0.0.0:8787",
        "2130706433",
        "",
        "a b",
    ] {
        let answer = ask(&app, OWN, &[("host", host)]).await;
        assert_eq!(answer, (403, "wrong_host".to_owned()), "{host}");
    }
    assert_eq!(ask(&app, OWN, &[]).await.1, "wrong_host");
    let two = [("host", "localhost"), ("host", "evil.example")];
    assert_eq!(ask(&app, OWN, &two).await.1, "wrong_host");
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused() {
    let app = local();
    let host = ("host", "127.0.0.1:8787");
    let own = ("origin", "http://127.0.0.1:8787");
    for allowed in [vec![], vec![own], vec![own, ("sec-fetch-site", "same-origin")]] {
        assert_eq!(ask(&app, OWN, &[&[host][..], &allowed].concat()).await.0, 200, "{allowed:?}");
    }
    for origin in [
        "http://evil.example",
        "null",
        "",
        "http://127.0.0.1:9999",
        "http://127.0.0.1:87870",
        "https://127.0.0.1:8787",
        "http://localhost:8787",
        "http://127.0.0.1:8787.evil.example",
    ] {
        let answer = ask(&app, OWN, &[host, ("origin", origin)]).await;
        assert_eq!(answer, (403, "wrong_origin".to_owned()), "{origin}");
    }
    // A form or a picture of another page, for which a browser sends no origin.
    for site in ["cross-site", "same-site"] {
        let answer = ask(&app, OWN, &[host, ("sec-fetch-site", site)]).await;
        assert_eq!(answer, (403, "wrong_origin".to_owned()), "{site}");
    }
}

// Covers: T-28
#[tokio::test]
async fn a_scope_has_so_many_connections_and_gives_them_back() {
    let limits = Limits { scope_connections: 3, ..Limits::default() };
    let (_, app) = limited(scripted([ScriptedTurn::new().text("So far.").hang()]), limits);
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let path = format!("{run}/events");
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(get(&app, &path, "ann").await);
    }
    // A thousand more are refused, and the other scope is not.
    for _ in 0..1_000 {
        let response = get(&app, "/v1/agents", "bob").await;
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "30");
    }
    let (_, problem) = value(get(&app, "/v1/agents", "ann").await).await;
    assert_eq!(problem["code"], "too_many_connections");
    assert_eq!(get(&app, "/v1/agents", "eve").await.status(), 200);
    // A stream that its reader leaves makes room, in its middle.
    let mut body = streams.pop().unwrap().into_body().into_data_stream();
    assert!(body.next().await.is_some());
    assert_eq!(get(&app, "/v1/agents", "ann").await.status(), 429);
    drop(body);
    assert_eq!(get(&app, "/v1/agents", "ann").await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_caller_begins_so_many_runs_a_minute() {
    let limits = Limits { runs_per_minute: 2, ..Limits::default() };
    let (_, app) = limited(chatty(), limits);
    let begun = async |token: &str| {
        let response = post(&app, "/v1/runs", token, &json!({ "input": "a" })).await;
        let wait = response.headers().get("retry-after").map(|it| it.to_str().unwrap().to_owned());
        (response.status().as_u16(), wait)
    };
    assert_eq!((begun("ann").await.0, begun("ann").await.0), (202, 202));
    assert_eq!(begun("ann").await, (429, Some("30".to_owned())));
    assert_eq!(begun("bob").await.0, 202);
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(begun("ann").await.0, 202);
}

#[tokio::test]
async fn a_scope_has_so_many_runs_that_have_not_ended() {
    let limits = Limits { scope_runs: 2, ..Limits::default() };
    let hangs = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().hang());
    let (_, app) = limited(Agent::builder(hangs).build().unwrap(), limits);
    let body = json!({ "input": "Go." });
    let run = begin(&app, "ann", &body).await;
    begin(&app, "bob", &body).await;
    let (status, problem) = value(post(&app, "/v1/runs", "ann", &body).await).await;
    assert_eq!((status, &problem["code"]), (429, &json!("too_many_runs")));
    begin(&app, "eve", &body).await;
    post(&app, &format!("{run}/cancel"), "ann", &json!({})).await;
    until(&app, &run, "run_end").await;
    // Given back once the end is reported.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    begin(&app, "ann", &body).await;
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_has_no_place() {
    let mut limits = Limits::default();
    (limits.runs, limits.waiting_runs) = (1, 0);
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let turns = ScriptedProvider::from_fn(|request: &Asked| {
        let has_result = request.messages.iter().any(|it| it.tool_results().next().is_some());
        if has_result {
            return ScriptedTurn::new().text("Done.");
        }
        ScriptedTurn::new().call("remove", json!({}))
    });
    let agent = Agent::builder(turns).tool(remove.effects(ToolEffects::Irreversible));
    let (service, app) = limited(agent.build().unwrap(), limits);
    let body = json!({ "input": "Go." });
    let mut asked = Vec::new();
    for _ in 0..5 {
        let run = begin(&app, "ann", &body).await;
        let request = until(&app, &run, "tool_approval_request").await;
        while metrics_text(&service).contains("forgeline_runs_working 1\n") {
            tokio::task::yield_now().await;
        }
        asked.push((run, request["approval_id"].clone()));
    }
    for (run, id) in asked {
        let grant = json!({ "approval_id": id, "decision": "grant" });
        assert_eq!(post(&app, &format!("{run}/approvals"), "ann", &grant).await.status(), 200);
        assert_eq!(until(&app, &run, "run_end").await["status"], "completed");
    }
}

#[tokio::test]
async fn runs_that_wait_for_another_one_of_their_conversation_keep_no_one_from_working() {
    let mut limits = Limits::default();
    (limits.runs, limits.waiting_runs) = (2, 1);
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        let last = request.messages.iter().last().unwrap();
        let result = last.tool_results().next().map(|it| it.content.clone());
        let said = result.unwrap_or_else(|| last.text());
        if said == "Wait." {
            return ScriptedTurn::new().call("page", json!({}));
        }
        ScriptedTurn::new().text(said)
    });
    let agent = Agent::builder(provider).tool(page).build().unwrap();
    let (service, app) = limited(agent, limits);
    let said = |text: &str| json!({ "input": text, "conversation_id": "c" });
    let first = begin(&app, "ann", &said("Wait.")).await;
    let asked = until(&app, &first, "client_tool_request").await;
    let mut behind = Vec::new();
    for at in 0..10 {
        behind.push(begin(&app, "ann", &said(&at.to_string())).await);
    }
    for _ in 0..5 {
        let other = begin(&app, "eve", &json!({ "input": "Hi." })).await;
        assert!(text(get(&app, &format!("{other}/events"), "eve").await).await.contains("Hi."));
    }
    assert!(metrics_text(&service).contains("forgeline_runs_working 0\n"));
    for run in &behind {
        let (_, shown) = value(get(&app, run, "ann").await).await;
        assert_eq!(shown["status"], "queued", "{shown}");
    }
    // One in the middle is cancelled, and ends at once.
    assert_eq!(post(&app, &format!("{}/cancel", behind[3]), "ann", &json!({})).await.status(), 200);
    assert_eq!(until(&app, &behind[3], "run_end").await["status"], "cancelled");
    let result =
        json!({ "client_call_id": asked["client_call_id"], "result": { "content": "A." } });
    assert_eq!(post(&app, &format!("{first}/tool-results"), "ann", &result).await.status(), 200);
    assert_eq!(until(&app, &behind[9], "run_end").await["status"], "completed");
    let (_, shown) = value(get(&app, "/v1/conversations/c", "ann").await).await;
    let messages = shown["page"]["messages"].as_array().unwrap().iter();
    let answers = messages.filter(|it| it["message"]["role"] == "assistant");
    let texts: Vec<_> =
        answers.filter_map(|it| it["message"]["parts"][0]["text"].as_str()).collect();
    assert_eq!(texts, ["A.", "0", "1", "2", "4", "5", "6", "7", "8", "9"], "in their order");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_leaves_ends_the_run_only_where_it_says_so() {
    for (query, status) in [("", "running"), ("?on_disconnect=cancel", "cancelled")] {
        let (_, app) = service(scripted([ScriptedTurn::new().text("So far.").hang()]));
        let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
        let path = format!("{run}/events{query}");
        let mut frames = get(&app, &path, "ann").await.into_body().into_data_stream();
        assert!(frames.next().await.is_some());
        drop(frames);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], status, "{query}");
    }
    let (_, app) = service(chatty());
    let run = begin(&app, "ann", &json!({ "input": "What is 6*7?" })).await;
    text(get(&app, &format!("{run}/events?on_disconnect=cancel"), "ann").await).await;
    assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn a_head_request_is_no_reader_that_leaves() {
    let (_, app) = service(scripted([ScriptedTurn::new().text("So far.").hang()]));
    let body = json!({ "input": "Go.", "conversation_id": "c" });
    let run = begin(&app, "ann", &body).await;
    until(&app, &run, "message_content").await;
    let chat = "/api/chat/c/stream";
    for path in [
        format!("{run}/events?on_disconnect=cancel"),
        format!("{run}/events?after=0&on%5Fdisconnect=cancel"),
        format!("{run}/stream?on_disconnect=cancel"),
        format!("{chat}?on_disconnect=cancel"),
        "/v1/events?on_disconnect=cancel".to_owned(),
    ] {
        let head = request(Method::HEAD, &path, "ann").body(Body::empty()).unwrap();
        let response = app.clone().oneshot(head).await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        drop(response);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "running", "{path}");
    }
    // Other errors of the query are reported as before.
    let path = format!("{run}/events?after=x&on_disconnect=cancel");
    let head = request(Method::HEAD, &path, "ann").body(Body::empty()).unwrap();
    assert_eq!(app.clone().oneshot(head).await.unwrap().status(), 400);
    // A reader that leaves is one.
    let path = format!("{chat}?on_disconnect=cancel");
    let mut frames = get(&app, &path, "ann").await.into_body().into_data_stream();
    assert!(frames.next().await.is_some());
    drop(frames);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "cancelled");
}

#[tokio::test]
async fn the_scheme_of_a_token_has_no_case() {
    let (_, app) = service(chatty());
    for (given, want) in [
        ("bearer ann", 200),
        ("BEARER ann", 200),
        ("Bearer  ann", 200),
        ("Basic ann", 401),
        ("ann", 401),
        ("Bearer", 401),
        ("Bearerann", 401),
    ] {
        let request = Request::builder().uri("/v1/agents").header("authorization", given);
        let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), want, "{given}");
    }
}

#[tokio::test]
async fn a_run_shows_what_it_has_used_while_it_goes_on_and_at_its_end() {
    let usage = UsageInfo::default().input_tokens(7).output_tokens(2);
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let turns = [
        ScriptedTurn::new().call("page", json!({})).usage(usage),
        ScriptedTurn::new().text("Done.").usage(usage),
    ];
    let agent = Agent::builder(ScriptedProvider::new(turns)).tool(page);
    let (_, app) = service(agent.build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let asked = until(&app, &run, "client_tool_request").await;
    let used = async || {
        let (_, shown) = value(get(&app, &run, "ann").await).await;
        json!([shown["usage"]["input_tokens"], shown["usage"]["output_tokens"]])
    };
    assert_eq!(used().await, json!([7, 2]));
    let result =
        json!({ "client_call_id": asked["client_call_id"], "result": { "content": "A." } });
    assert_eq!(post(&app, &format!("{run}/tool-results"), "ann", &result).await.status(), 200);
    until(&app, &run, "run_end").await;
    while used().await != json!([14, 4]) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_head_has_so_many_headers_and_so_many_bytes() {
    let limits = Limits { headers: 12, head_bytes: 600, ..Limits::default() };
    let (_, app) = limited(chatty(), limits);
    let ask = async |headers: usize, bytes: usize, path: &str| {
        let mut request = request(Method::GET, path, "ann");
        for number in 1..headers {
            request = request.header(format!("x-{number}"), "a");
        }
        request = request.header("x-long", "a".repeat(bytes));
        let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        response.status().as_u16()
    };
    // With the token there is one more.
    for (headers, bytes, want) in
        [(1, 1, 200), (11, 1, 200), (12, 1, 431), (40, 0, 431), (1, 700, 431)]
    {
        assert_eq!(ask(headers, bytes, "/v1/agents").await, want, "{headers} {bytes}");
    }
    assert_eq!(ask(1, 1, &format!("/v1/runs/{}", "a".repeat(700))).await, 431);
    // Several with one name count each.
    let mut request = request(Method::GET, "/v1/agents", "ann");
    for _ in 0..12 {
        request = request.header("x-same", "");
    }
    let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 431);
}
