//! Readiness, metrics and latencies, and what is in none of them.

use super::*;

/// A service whose Ann may see how it does.
fn observed(agent: Agent) -> ServiceBuilder {
    let ann = Caller::new("planted-ann").scope("planted").permission("service.observe");
    let tokens = Tokens::new().token("ann", ann).token("eve", Caller::new("eve"));
    Service::builder().agent("main", agent).identify(tokens)
}

// Covers: CT-104, CT-109
#[tokio::test]
async fn readiness_names_each_part() {
    let degraded = || async { CheckState::Degraded("half of it".into()) };
    let service = observed(chatty()).check("billing", degraded).build().unwrap();
    let app = router(service.clone());
    // Rows: N-64
    let (status, report) = value(get(&app, "/ready", "").await).await;
    assert_eq!((status, report), (200, json!({ "status": "degraded" })), "no name without a token");
    let (status, report) = value(get(&app, "/ready", "eve").await).await;
    assert_eq!((status, &report["status"]), (200, &json!("degraded")), "{report}");
    let state = |name: &str| {
        let mut checks = report["checks"].as_array().unwrap().iter();
        checks.find(|it| it["name"] == name).unwrap()["status"].clone()
    };
    for name in ["provider:main", "event_log", "store"] {
        assert_eq!(state(name), "healthy", "{name}");
    }
    assert_eq!(state("billing"), "degraded");

    let unhealthy = || async { CheckState::Unhealthy("gone".into()) };
    let app = router(observed(chatty()).check("billing", unhealthy).build().unwrap());
    assert_eq!(value(get(&app, "/ready", "eve").await).await.0, 503);
    assert_eq!(get(&app, "/health", "").await.status(), 200, "it lives");

    service.shutdown(Duration::ZERO).await;
    for token in ["", "eve"] {
        let response = get(&router(service.clone()), "/ready", token).await;
        assert_eq!(response.headers()["retry-after"], "30");
        assert_eq!(value(response).await, (503, json!({ "status": "ending" })));
    }
}

// Covers: T-95
#[tokio::test]
async fn a_provider_that_is_gone_or_refuses_the_key_is_not_ready() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refuses = listener.local_addr().unwrap();
    let answer = || async { (StatusCode::UNAUTHORIZED, r#"{"error":{"message":"planted key"}}"#) };
    tokio::spawn(axum::serve(listener, Router::new().fallback(answer)).into_future());
    // A connection holds this port, so that nobody can listen on it.
    let held = tokio::net::TcpStream::connect(refuses).await.unwrap();
    for address in [refuses, held.local_addr().unwrap()] {
        let provider = forgeline_llm::openai::OpenAi::builder()
            .base_url(format!("http://{address}/v1"))
            .model("m")
            .api_key("planted key");
        let agent = Agent::builder(provider.build().unwrap()).build().unwrap();
        let app = router(observed(agent).build().unwrap());
        let (status, report) = value(get(&app, "/ready", "eve").await).await;
        assert_eq!((status, &report["status"]), (503, &json!("unready")), "{report}");
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|it| it["name"] == "provider:main").unwrap();
        assert_eq!(check["status"], "unhealthy");
        assert!(!report.to_string().contains("planted key"), "{report}");
    }
}

// Covers: T-94
#[tokio::test]
async fn metrics_count_and_have_neither_ids_nor_what_was_said() {
    let app = router(observed(chatty()).build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "planted prompt 6*7" })).await;
    until(&app, &run, "run_end").await;
    get(&app, "/v1/runs/planted-id", "ann").await;
    get(&app, "/planted-path", "ann").await;
    assert_eq!(get(&app, "/metrics", "eve").await.status(), 403);
    assert_eq!(get(&app, "/metrics", "").await.status(), 401);
    // The end is counted behind the last event.
    let metrics = loop {
        let metrics = text(get(&app, "/metrics", "ann").await).await;
        if metrics.contains("forgeline_runs_live 0\n") && metrics.contains("runs_ended_total{") {
            break metrics;
        }
        tokio::task::yield_now().await;
    };
    for line in [
        "forgeline_runs_begun_total 1\n",
        "forgeline_runs_ended_total{status=\"completed\"} 1\n",
        "forgeline_tool_calls_total{tool=\"calculator\",end=\"succeeded\"} 1\n",
        "forgeline_turn_seconds_count{provider=\"scripted\",model=\"scripted\"} 2\n",
        "forgeline_turn_seconds_bucket{provider=\"scripted\",model=\"scripted\",le=\"+Inf\"} 2\n",
        "forgeline_cached_tokens_total{provider=\"scripted\",model=\"scripted\"} 0\n",
        "forgeline_run_seconds_count 1\n",
        "forgeline_requests_total{route=\"/v1/runs/{id}\",status=\"404\"} 1\n",
        "forgeline_requests_total{route=\"other\",status=\"404\"} 1\n",
        "forgeline_runs_live 0\n",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    for secret in ["planted", run.rsplit('/').next().unwrap()] {
        assert!(!metrics.contains(secret), "{secret}");
    }
}

// Covers: T-94, CT-144
#[tokio::test]
async fn results_over_their_budget_are_counted_by_tool() {
    let dump = tool_fn("dump", "Dumps.", |_: ToolContext, asked: Value| async move {
        let size = asked["size"].as_u64().unwrap();
        "x".repeat(usize::try_from(size).unwrap())
    });
    let turn = |size: u64| ScriptedTurn::new().call("dump", json!({ "size": size }));
    let turns = [9_999, 10_001, 20_000].map(turn);
    let turns = turns.into_iter().chain([ScriptedTurn::new().text("Done.")]);
    let agent = Agent::builder(ScriptedProvider::new(turns)).tool(dump.max_result_chars(10_000));
    let app = router(observed(agent.build().unwrap()).build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    assert_eq!(until(&app, &run, "run_end").await["status"], "completed");
    let metrics = text(get(&app, "/metrics", "ann").await).await;
    assert!(
        metrics.contains("forgeline_tool_results_elided_total{tool=\"dump\"} 2\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("forgeline_tool_calls_total{tool=\"dump\",end=\"succeeded\"} 3\n"),
        "{metrics}"
    );
}

#[tokio::test]
async fn latencies_are_shown_where_they_are_switched_on() {
    let app = router(observed(chatty()).build().unwrap());
    assert_eq!(get(&app, "/dev/latency", "ann").await.status(), 404);
    let app = router(observed(chatty()).dev(true).build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "6*7" })).await;
    until(&app, &run, "run_end").await;
    assert_eq!(get(&app, "/dev/latency", "eve").await.status(), 403);
    let (status, shown) = value(get(&app, "/dev/latency", "ann").await).await;
    assert_eq!((status, &shown["window_seconds"]), (200, &json!(3_600)));
    assert_eq!(shown["models"][0]["turn_ms"]["count"], 2, "{shown}");
    assert_eq!(shown["tools"][0]["tool"], "calculator");
    assert_eq!(shown["tools"][0]["error_rate"], 0.0);
}

// Covers: T-92
#[tokio::test]
async fn a_record_of_each_turn_is_kept_and_shown_to_its_scope() {
    let stores = forgeline_store::Stores::in_memory();
    let eve = Caller::new("eve").scope("other").permission("service.observe");
    let ann = Caller::new("ann").scope("team-a").permission("service.observe");
    let tokens = Tokens::new().token("ann", ann).token("eve", eve);
    let service = Service::builder().agent("main", chatty()).identify(tokens).dev(true);
    let service = service.stores(stores.clone()).build().unwrap();
    let app = router(service.clone());
    let run = begin(&app, "ann", &json!({ "input": "6*7", "conversation_id": "c1" })).await;
    until(&app, &run, "run_end").await;
    // They are written behind the end.
    service.shutdown(Duration::from_secs(9)).await;
    let records = stores.latency.since("team-a", 0).await.unwrap();
    assert_eq!(records.len(), 2, "{records:?}");
    let (first, last) = (&records[0], &records[1]);
    assert_eq!((first.turn, last.turn, first.calls.len(), last.calls.len()), (1, 2, 1, 0));
    assert_eq!(format!("/v1/runs/{}", first.run), run);
    assert_eq!((first.conversation.as_str(), first.owner.as_str()), ("c1", "ann"));
    assert_eq!((first.calls[0].tool.as_str(), first.calls[0].is_error), ("calculator", false));
    assert!(first.first_text_ms.is_some() && first.stop_reason.is_some(), "{first:?}");
    assert!(first.at_ms > 0 && !first.model.is_empty() && !first.provider.is_empty());
    let (_, shown) = value(get(&app, "/dev/latency", "ann").await).await;
    assert_eq!(shown["recorded"]["total"], 2, "{shown}");
    assert_eq!(shown["recorded"]["last"][1]["turn"], 2, "{shown}");
    let (_, shown) = value(get(&app, "/dev/latency", "eve").await).await;
    assert_eq!(shown["recorded"], json!({ "total": 0, "last": [] }));
}

#[tokio::test]
async fn each_answer_has_the_id_of_its_request() {
    let (_, app) = service(chatty());
    let ask = async |id: &str| {
        let request = request(Method::GET, "/v1/agents", "ann").header("x-request-id", id);
        let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        response.headers()["x-request-id"].to_str().unwrap().to_owned()
    };
    assert_eq!(ask("proxy-17").await, "proxy-17");
    for odd in ["a b", "", "a\"b", &"a".repeat(65)] {
        assert!(ask(odd).await.starts_with("req-"), "{odd}");
    }
    assert_ne!(ask("").await, ask("").await);
}

// Rows: N-66
#[tokio::test(start_paused = true)]
async fn the_time_that_a_person_takes_is_told_apart_from_that_of_the_turn() {
    let service = observed(super::chats::asking()).dev(true).build().unwrap();
    let app = router(service);
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let asked = until(&app, &run, "tool_approval_request").await;
    tokio::time::advance(Duration::from_mins(3)).await;
    let decided = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
    assert_eq!(post(&app, &format!("{run}/approvals"), "ann", &decided).await.status(), 200);
    until(&app, &run, "client_tool_request").await;
    let (_, shown) = value(get(&app, "/dev/latency", "ann").await).await;
    let model = &shown["models"][0];
    let longest = |member: &str| model[member]["p99"].as_f64().unwrap();
    assert_eq!((&model["turn_ms"]["count"], &model["waited_ms"]["count"]), (&json!(1), &json!(1)));
    assert!(longest("turn_ms") < 10_000.0 && longest("waited_ms") >= 180_000.0, "{model}");
}
