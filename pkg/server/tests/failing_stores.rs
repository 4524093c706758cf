//! Stores that are full or cannot be written: a problem that says what to do, and others are not slowed.

use super::*;
use forgeline_store::{SqliteOptions, SqliteStore, Stores};

/// A service over a file of this setup.
async fn over(options: SqliteOptions, agent: Agent) -> (SqliteStore, Router) {
    let store = SqliteStore::open_with(options).await.unwrap();
    let service = built(agent).stores(Stores::of(store.clone())).build().unwrap();
    (store, router(service))
}

/// Asks whether a request that writes nothing has its answer at once.
async fn is_read(app: &Router, run: &str) {
    for (path, token) in
        [(run, "ann"), ("/v1/conversations", "ann"), ("/v1/agents", "eve"), ("/health", "")]
    {
        let answer = timeout(Duration::from_secs(30), get(app, path, token)).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn a_full_store_refuses_what_is_too_much_and_takes_what_fits() {
    let folder = folder("service-full");
    let options = SqliteOptions::new(folder.join("service.db")).max_bytes(400 << 10);
    let (store, app) = over(options, chatty()).await;
    let small = json!({ "input": "What is 6*7?" });
    let run = begin(&app, "ann", &small).await;
    assert_eq!(until(&app, &run, "run_end").await["status"], "completed");
    let large = json!({ "input": "a".repeat(900 << 10) });
    let (status, problem) = value(post(&app, "/v1/runs", "ann", &large).await).await;
    assert_eq!((status, &problem["code"]), (507, &json!("store_full")));
    assert!(problem["detail"].as_str().unwrap().contains("has to make room"), "{problem}");
    is_read(&app, &run).await;
    let run = begin(&app, "ann", &small).await;
    assert_eq!(until(&app, &run, "run_end").await["status"], "completed", "what fits is taken");
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_run_whose_events_cannot_be_kept_ends_with_words_for_its_readers() {
    let folder = folder("service-flood");
    let options = SqliteOptions::new(folder.join("service.db")).max_bytes(400 << 10);
    let flood = ScriptedProvider::from_fn(|_: &Asked| {
        (0..4_000_u64).fold(ScriptedTurn::new(), |turn, at| {
            turn.text(format!("Line {at}: {:x}.\n", at * 7_919 * 104_729))
        })
    });
    let (store, app) = over(options, Agent::builder(flood).build().unwrap()).await;
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    // Its readers do not wait for ever, and have its end behind what was kept.
    let read = text(get(&app, &format!("{run}/events"), "ann").await);
    let read = timeout(Duration::from_secs(30), read).await.unwrap();
    let reported = events(&read);
    assert!(
        reported.iter().map(|(number, _)| *number).eq(0..reported.len() as u64),
        "{reported:?}"
    );
    assert_eq!(reported.last().unwrap().1, "run_end", "{read}");
    let ended = async {
        loop {
            let (_, shown) = value(get(&app, &run, "ann").await).await;
            if shown["end"].is_object() {
                return shown;
            }
            tokio::task::yield_now().await;
        }
    };
    let shown = timeout(Duration::from_secs(30), ended).await.unwrap();
    assert_eq!(shown["status"], "failed", "{shown}");
    let error = &shown["end"]["error"];
    assert_eq!(error["code"], "journal", "{error}");
    assert!(!error.to_string().contains("service.db"), "{error}");
    is_read(&app, &run).await;
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_store_that_cannot_be_written_refuses_what_writes_and_is_read() {
    let folder = folder("service-read-only");
    let (store, app) = over(SqliteOptions::new(folder.join("service.db")), chatty()).await;
    let run = begin(&app, "ann", &json!({ "input": "What is 6*7?", "conversation_id": "c" })).await;
    let whole = text(get(&app, &format!("{run}/events"), "ann").await).await;
    until(&app, &run, "run_end").await;
    store.refuse_writes().await;
    let rename = request(Method::PATCH, "/v1/conversations/c", "ann")
        .header("content-type", "application/json")
        .body(Body::from(r#"{"title":"Mine"}"#));
    let delete = request(Method::DELETE, "/v1/conversations/c", "ann").body(Body::empty());
    let said = json!({ "id": "c2", "messages": [{ "role": "user", "content": "Go." }] });
    for response in [
        post(&app, "/v1/runs", "ann", &json!({ "input": "Go." })).await,
        post(&app, "/api/chat", "ann", &said).await,
        app.clone().oneshot(rename.unwrap()).await.unwrap(),
    ] {
        let (status, problem) = value(response).await;
        assert_eq!((status, &problem["code"]), (507, &json!("store_read_only")), "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("in the service's logs") && !detail.contains("service.db"),
            "{detail}"
        );
    }
    let (status, problem) = value(app.clone().oneshot(delete.unwrap()).await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (507, &json!("store_read_only")), "{problem}");
    let (status, report) = value(get(&app, "/ready", "ann").await).await;
    assert_eq!((status, &report["status"]), (503, &json!("unready")), "{report}");
    assert!(report.to_string().contains("it cannot be written"), "{report}");
    is_read(&app, &run).await;
    assert_eq!(text(get(&app, &format!("{run}/events"), "ann").await).await, whole);
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_full_store_says_so_in_each_route_that_writes() {
    let folder = folder("service-full-routes");
    let options = SqliteOptions::new(folder.join("service.db")).max_bytes(400 << 10);
    let (store, app) = over(options, chatty()).await;
    let said = "a".repeat(900 << 10);
    let messages = json!([{ "id": "u1", "role": "user", "content": said }]);
    for (path, body) in [
        ("/v1/runs", json!({ "input": said })),
        ("/api/chat", json!({ "id": "c", "messages": messages })),
        ("/agui", json!({ "threadId": "t", "runId": "r", "messages": messages })),
    ] {
        let (status, problem) = value(post(&app, path, "ann", &body).await).await;
        assert_eq!((status, &problem["code"]), (507, &json!("store_full")), "{path}: {problem}");
    }
    let put = request(Method::PUT, "/v1/streams/large", "ann").body(Body::from(said)).unwrap();
    let (status, problem) = value(app.clone().oneshot(put).await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (507, &json!("store_full")), "{problem}");
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_damaged_log_is_told_as_one_that_stays_so() {
    let folder = folder("service-damaged");
    let path = folder.join("service.db");
    let (store, app) = over(SqliteOptions::new(&path), chatty()).await;
    let run = begin(&app, "ann", &json!({ "input": "What is 6*7?" })).await;
    until(&app, &run, "run_end").await;
    store.close_file().await;
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute("UPDATE chunk SET data = x'ffffffff01'", []).unwrap();
    drop(file);
    drop((store, app));
    let (store, app) = over(SqliteOptions::new(&path), chatty()).await;
    for path in [format!("{run}/events"), format!("{run}/stream"), format!("{run}/stream?as=ag-ui")]
    {
        let (status, problem) = value(get(&app, &path, "ann").await).await;
        assert_eq!(
            (status, &problem["code"]),
            (500, &json!("store_unusable")),
            "{path}: {problem}"
        );
        assert!(!problem.to_string().contains("damaged"), "{problem}");
    }
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}
