//! Runs and conversations that are over, and are swept, deleted or erased; and runs when the service ends.

use super::*;
use forgeline_store::{ConversationKey, EraseMode, LogKey, RunQuery, Stores};

/// Runs to the end; returns the path.
async fn run(app: &Router, token: &str, conversation: &str) -> String {
    let body = json!({ "input": "What is 6*7?", "conversation_id": conversation });
    let run = begin(app, token, &body).await;
    text(get(app, &format!("{run}/events"), token).await).await;
    run
}

async fn status(app: &Router, path: &str, token: &str) -> u16 {
    get(app, path, token).await.status().as_u16()
}

/// Waits until the run is noted as ended, which is behind its last event.
async fn settle(app: &Router, run: &str, token: &str) {
    while value(get(app, run, token).await).await.1["end"].is_null() {
        tokio::task::yield_now().await;
    }
}

// Covers: T-30
#[tokio::test(start_paused = true)]
async fn what_is_not_to_be_kept_is_swept_each_minute_until_the_service_ends() {
    let keep = |bytes, runs| {
        let mut keep = Keep::default();
        (keep.bytes, keep.runs) = (bytes, runs);
        keep
    };
    let service = built(chatty()).keep(keep(Some(0), 1)).build().unwrap();
    let app = router(service.clone());
    let (first, second) = (run(&app, "ann", "c1").await, run(&app, "ann", "c1").await);
    settle(&app, &second, "ann").await;
    let events = |run: &str| format!("{run}/events");
    sleep(Duration::from_secs(50)).await;
    assert_eq!(status(&app, &events(&first), "ann").await, 200, "not yet");
    sleep(Duration::from_secs(20)).await;
    for path in [first.clone(), events(&first), format!("{first}/stream?offset=-1")] {
        assert_eq!(status(&app, &path, "ann").await, 410, "one run is kept: {path}");
        // Other callers get no event.
        assert_eq!(status(&app, &path, "bob").await, 404, "{path}");
        assert_eq!(status(&app, &path, "eve").await, 404, "{path}");
    }
    let cancel = post(&app, &format!("{first}/cancel"), "ann", &json!({})).await;
    assert_eq!(cancel.status(), 404, "there is nothing to cancel");
    assert_eq!(status(&app, "/v1/runs/run_none/events", "ann").await, 404, "there was none");
    assert_eq!(status(&app, &second, "ann").await, 200);
    let (status, problem) = value(get(&app, &events(&second), "ann").await).await;
    assert_eq!(status, 410, "{problem}");
    // The next minute, too, and what was said stays.
    let third = run(&app, "ann", "c1").await;
    settle(&app, &third, "ann").await;
    sleep(Duration::from_secs(61)).await;
    assert_eq!(get(&app, &second, "ann").await.status(), 410);
    let (_, conversation) = value(get(&app, "/v1/conversations/c1", "ann").await).await;
    assert_eq!(conversation["messages"], 8, "{conversation}");
    timeout(Duration::from_secs(5), service.shutdown(Duration::from_secs(1))).await.unwrap();

    // One that is dropped sweeps no more.
    let service = built(chatty()).build().unwrap();
    let app = router(service.clone());
    run(&app, "ann", "c1").await;
    let tasks = service.0.lifecycle.tasks.clone();
    assert!(!tasks.is_empty());
    tasks.close();
    drop((service, app));
    timeout(Duration::from_secs(5), tasks.wait()).await.unwrap();
}

#[tokio::test]
async fn a_conversation_is_deleted_with_its_runs_and_their_events() {
    let stores = Stores::in_memory();
    let app = router(built(chatty()).stores(stores.clone()).build().unwrap());
    let runs = [run(&app, "ann", "c1").await, run(&app, "ann", "c1").await];
    let (other, eves) = (run(&app, "ann", "c2").await, run(&app, "eve", "c1").await);
    for run in &runs {
        settle(&app, run, "ann").await;
    }
    let delete = async |path: &str, token: &str| {
        let request = request(Method::DELETE, path, token).body(Body::empty()).unwrap();
        app.clone().oneshot(request).await.unwrap().status().as_u16()
    };
    assert_eq!(delete("/v1/conversations/c1", "bob").await, 404, "it is Ann's");
    assert_eq!(status(&app, &runs[0], "ann").await, 200);
    assert_eq!(delete("/v1/conversations/c1", "ann").await, 204);
    for run in &runs {
        assert_eq!(status(&app, run, "ann").await, 404);
        assert_eq!(status(&app, &format!("{run}/events"), "ann").await, 404);
        let key = LogKey::new("team-a", run.rsplit('/').next().unwrap());
        assert!(stores.log.read(&key, 0, 1).await.is_err(), "its events are gone");
    }
    assert_eq!(delete("/v1/conversations/c1", "ann").await, 404);
    assert_eq!(status(&app, &format!("{other}/events"), "ann").await, 200);
    assert_eq!(status(&app, &format!("{eves}/events"), "eve").await, 200);
}

#[tokio::test]
async fn a_conversation_with_a_run_under_way_is_not_deleted_by_its_routes() {
    let (_, app) = service(scripted([ScriptedTurn::new().text("So far.").hang()]));
    let body = json!({ "input": "Go.", "conversation_id": "c1" });
    let first = begin(&app, "ann", &body).await;
    until(&app, &first, "message_content").await;
    // The last one of the conversation has ended, the one before it has not.
    let second = begin(&app, "ann", &body).await;
    post(&app, &format!("{second}/cancel"), "ann", &json!({})).await;
    settle(&app, &second, "ann").await;
    let delete = async |path: &str| {
        let request = request(Method::DELETE, path, "ann").body(Body::empty()).unwrap();
        app.clone().oneshot(request).await.unwrap().status().as_u16()
    };
    let (_, shown) = value(get(&app, "/v1/conversations/c1", "ann").await).await;
    assert_eq!(shown["open_run"], first.rsplit('/').next().unwrap(), "{shown}");
    for path in ["/v1/conversations/c1", "/api/chat/history?id=c1"] {
        assert_eq!(delete(path).await, 409, "{path}");
    }
    post(&app, &format!("{first}/cancel"), "ann", &json!({})).await;
    settle(&app, &first, "ann").await;
    assert_eq!(delete("/v1/conversations/c1").await, 204);
}

#[tokio::test]
async fn a_host_deletes_a_conversation_whose_run_goes_on() {
    let stores = Stores::in_memory();
    let agent = scripted([ScriptedTurn::new().text("So far.").hang()]);
    let service = built(agent).stores(stores.clone()).build().unwrap();
    let app = router(service.clone());
    let run = begin(&app, "ann", &json!({ "input": "Go.", "conversation_id": "c1" })).await;
    until(&app, &run, "message_content").await;
    let [ann, bob] = ["ann", "bob"].map(|name| Caller::new(name).scope("team-a"));
    assert!(!service.delete_conversation(&bob, "c1").await.unwrap());
    assert!(!service.delete_conversation(&ann, "c9").await.unwrap());
    assert!(service.delete_conversation(&ann, "c1").await.unwrap());
    assert!(!service.delete_conversation(&ann, "c1").await.unwrap());
    // The run is cancelled: the service ends at once.
    timeout(Duration::from_secs(10), service.shutdown(Duration::from_secs(9))).await.unwrap();
    assert_eq!(get(&app, &run, "ann").await.status(), 404);
    assert!(stores.runs.list(RunQuery::new("team-a", 9)).await.unwrap().runs.is_empty());
}

#[tokio::test]
async fn what_an_owner_has_is_erased_and_what_others_have_stays() {
    for mode in [EraseMode::Count, EraseMode::Tombstone, EraseMode::Hard] {
        let stores = Stores::in_memory();
        let service = built(chatty()).stores(stores.clone()).build().unwrap();
        let app = router(service.clone());
        let anns = [run(&app, "ann", "c1").await, run(&app, "ann", "c2").await];
        let others = [("bob", run(&app, "bob", "c3").await), ("eve", run(&app, "eve", "c1").await)];
        for run in &anns {
            settle(&app, run, "ann").await;
        }
        let erased = service.erase("team-a", "ann", mode).await.unwrap();
        assert_eq!(erased.conversations, 2, "{mode:?}");
        let want = if mode == EraseMode::Count { 200 } else { 404 };
        for run in &anns {
            for path in [run.clone(), format!("{run}/events")] {
                assert_eq!(status(&app, &path, "ann").await, want, "{mode:?} {path}");
            }
        }
        let list = text(get(&app, "/v1/conversations", "ann").await).await;
        assert_eq!(list.contains("c1"), mode == EraseMode::Count, "{mode:?}: {list}");
        let kept = stores.conversations.messages(&ConversationKey::new("team-a", "c1"), 0, 9).await;
        let is_said = kept.is_ok_and(|all| all.iter().any(|it| it.message.text().contains("6*7")));
        assert_eq!(is_said, mode == EraseMode::Count, "{mode:?}");
        for (owner, run) in &others {
            assert_eq!(
                status(&app, &format!("{run}/events"), owner).await,
                200,
                "{mode:?} {owner}"
            );
        }
        // Neither do the durations tell whose they were.
        let records = stores.latency.since("team-a", 0).await.unwrap();
        assert_eq!(
            records.iter().any(|it| it.owner == "ann"),
            mode == EraseMode::Count,
            "{mode:?}"
        );
        assert!(records.iter().any(|it| it.owner == "bob"), "{mode:?}");
        // The owner may come back, and begins anew.
        if mode != EraseMode::Count {
            let again = run(&app, "ann", "c9").await;
            assert_eq!(status(&app, &format!("{again}/events"), "ann").await, 200, "{mode:?}");
            assert_eq!(status(&app, "/v1/events?after=1.0", "ann").await, 200, "{mode:?}");
            assert_eq!(status(&app, "/v1/events?after=2.0", "ann").await, 409, "{mode:?}");
        }
        // One without a name has nothing.
        assert_eq!(service.erase("team-a", "", mode).await.unwrap().conversations, 0);
    }
}

#[tokio::test]
async fn a_run_that_is_erased_while_it_goes_on_leaves_nothing() {
    let stores = Stores::in_memory();
    let turns = [
        ScriptedTurn::new().call("calculator", json!({ "expression": "6*7" })),
        ScriptedTurn::new().text("So far.").hang(),
    ];
    let service = built(scripted(turns)).stores(stores.clone()).build().unwrap();
    let app = router(service.clone());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    until(&app, &run, "message_content").await;
    service.erase("team-a", "ann", EraseMode::Hard).await.unwrap();
    timeout(Duration::from_secs(10), service.shutdown(Duration::from_secs(9))).await.unwrap();
    assert_eq!(stores.latency.since("team-a", 0).await.unwrap(), []);
    assert!(stores.runs.list(RunQuery::new("team-a", 9)).await.unwrap().runs.is_empty());
}

/// A log of the runs of an owner that an earlier version retired.
#[tokio::test]
async fn an_owner_whose_runs_were_retired_begins_anew() {
    let stores = Stores::in_memory();
    let app = router(built(chatty()).stores(stores.clone()).build().unwrap());
    let runs = forgeline_store::private::runs_of(&"team-a".into(), "ann");
    stores.log.create(runs.clone()).await.unwrap();
    stores.log.retire(&runs).await.unwrap();
    assert_eq!(status(&app, "/v1/events?after=0.0", "ann").await, 200);
    run(&app, "ann", "c1").await;
    assert_eq!(status(&app, "/v1/events?after=1.0", "ann").await, 200);
}

mod in_a_file {
    use super::*;
    use forgeline_store::{EventLog as _, SqliteStore};

    // Covers: T-30
    #[tokio::test]
    async fn a_reload_gives_the_same_once_events_are_packed_and_410_once_they_are_not_kept() {
        let folder = folder("reload");
        let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
        let service = built(chatty()).stores(Stores::of(store.clone())).build().unwrap();
        let app = router(service.clone());
        let run = run(&app, "ann", "c1").await;
        settle(&app, &run, "ann").await;
        let reload = async || {
            let mut seen = Vec::new();
            for path in [
                "/events",
                "/events?after=2",
                "/stream",
                "/stream?offset=-1&live=sse",
                "/stream?as=ag-ui",
            ] {
                let response = get(&app, &format!("{run}{path}"), "ann").await;
                let status = response.status().as_u16();
                seen.push((path, status, text(response).await));
            }
            seen
        };
        let bytes = async || {
            let id = run.rsplit('/').next().unwrap();
            let logs = store.list(id, None, 9).await.unwrap();
            logs.iter().map(|log| log.bytes).sum::<u64>()
        };
        let (before, long) = (reload().await, bytes().await);
        for (path, status, body) in &before {
            assert!(*status == 200 && body.len() > 100, "{path}: {status} {body}");
        }
        service.sweep(&Keep::default()).await.unwrap();
        assert!(bytes().await < long, "{long} bytes are not packed");
        assert_eq!(reload().await, before);
        let none = Keep { bytes: Some(0), ..Keep::default() };
        service.sweep(&none).await.unwrap();
        for (path, status, body) in reload().await {
            assert_eq!(status, 410, "{path}: {body}");
        }
        drop((service, app));
        store.close_file().await;
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// The end of a process, and the beginning of the next: three times, and no run is lost or cut.
    #[tokio::test]
    async fn runs_that_do_not_end_in_time_are_put_away_and_go_on_in_the_next_process() {
        let folder = folder("put_away");
        let remove =
            || tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
        let mut waits = String::new();
        let mut works = String::new();
        // More often than a run may be resumed whose processes die.
        for life in 0..6 {
            let provider = ScriptedProvider::from_fn(|asked: &Asked| {
                let said = asked.messages.iter().next().unwrap().text();
                let has_result = asked.messages.iter().any(|it| it.tool_results().next().is_some());
                match said.as_str() {
                    "Wait." if !has_result => ScriptedTurn::new().call("remove", json!({})),
                    "Wait." => ScriptedTurn::new().text("Done."),
                    _ => ScriptedTurn::new().text("So far.").hang(),
                }
            });
            let agent = Agent::builder(provider).tool(remove().effects(ToolEffects::Irreversible));
            let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
            let stores = Stores::of(store.clone());
            let service = built(agent.build().unwrap()).stores(stores.clone()).build().unwrap();
            let app = router(service.clone());
            let recovered = service.recover().await.unwrap();
            if life == 0 {
                waits = begin(&app, "ann", &json!({ "input": "Wait." })).await;
                works = begin(&app, "ann", &json!({ "input": "Work." })).await;
            } else {
                assert_eq!((recovered.resumed, recovered.interrupted), (2, 0), "life {life}");
            }
            let asked = until(&app, &waits, "tool_approval_request").await;
            until(&app, &works, "message_content").await;
            if life == 5 {
                while get(&app, &waits, "ann").await.status() == 200
                    && value(get(&app, &waits, "ann").await).await.1["status"] != "waiting"
                {
                    tokio::task::yield_now().await;
                }
                let answer = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
                assert_eq!(
                    post(&app, &format!("{waits}/approvals"), "ann", &answer).await.status(),
                    200
                );
                let end = until(&app, &waits, "run_end").await;
                assert_eq!(end["status"], "completed");
                post(&app, &format!("{works}/cancel"), "ann", &json!({})).await;
                assert_eq!(until(&app, &works, "run_end").await["status"], "cancelled");
            }
            // A reader is sent away behind all that there is.
            let reader = get(&app, &format!("{works}/events"), "ann").await;
            let read = tokio::spawn(text(reader));
            let ends = service.shutdown(Duration::from_millis(20));
            timeout(Duration::from_secs(20), ends).await.unwrap();
            let read = timeout(Duration::from_secs(30), read).await.unwrap().unwrap();
            assert_eq!(read.contains("event: run_end\n"), life == 5, "life {life}: {read}");
            assert!(read.contains("event: message_content\n"), "life {life}: {read}");
            let numbers = events(&read).into_iter().map(|(number, _)| number);
            assert!(numbers.eq(0..events(&read).len() as u64), "{read}");
            if life < 5 {
                let open = stores.runs.open(9).await.unwrap();
                assert!(open.len() == 2 && open.iter().all(|run| run.resumed == 0), "{open:?}");
            }
            drop((service, app, stores));
            store.close_file().await;
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
