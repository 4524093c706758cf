//! All that a caller may see, as one stream.

use std::sync::Arc;

use super::*;
use crate::{
    readers::{
        scope_cursor::ScopeCursor,
        scope_events::{ScopeSources, note},
    },
    runs::run::ServiceRun,
};
use forgeline_store::{EventLog as _, InMemoryLog, LogKey, StoredRun};

/// The ids, kinds and data of a stream, until there are this many of a kind.
async fn seen(
    app: &Router,
    (path, token): (&str, &str),
    kind: &str,
    count: usize,
) -> Vec<(String, String, Value)> {
    let mut stream = get(app, path, token).await.into_body().into_data_stream();
    let (mut text, mut all) = (String::new(), Vec::new());
    while let Some(Ok(chunk)) = stream.next().await {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        all.clear();
        let (whole, _) = text.rsplit_once("\n\n").unwrap_or_default();
        for frame in whole.split("\n\n").filter(|frame| frame.starts_with("id: ")) {
            let (head, data) = frame.split_once("\ndata: ").unwrap();
            let (id, kind) = head.split_once("\nevent: ").unwrap();
            let data = serde_json::from_str(data).unwrap();
            let id = id.strip_prefix("id: ").unwrap();
            all.push((id.to_owned(), kind.to_owned(), data));
        }
        if all.iter().filter(|it| it.1 == kind).count() == count {
            break;
        }
    }
    all
}

// Covers: T-17
#[tokio::test(start_paused = true)]
async fn each_event_of_each_run_comes_once_from_wherever_it_is_read() {
    let (_, app) = service(chatty());
    // From the beginning: a place that is before all.
    let path = "/v1/events?after=0.0";
    let mut runs = Vec::new();
    for input in ["one", "two", "three"] {
        runs.push(begin(&app, "ann", &json!({ "input": input })).await);
    }
    begin(&app, "bob", &json!({ "input": "not hers" })).await;
    let all = seen(&app, (path, "ann"), "run_end", 3).await;
    for run in &runs {
        let id = run.rsplit('/').next().unwrap();
        let of_run = all.iter().filter(|it| it.2["run_id"] == id && it.1 != "run_queued");
        let numbers: Vec<_> = of_run.map(|it| it.2["seq"].as_u64().unwrap()).collect();
        assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "{id}: {numbers:?}");
    }
    let ids: std::collections::HashSet<_> = all.iter().map(|it| &it.2["run_id"]).collect();
    assert_eq!(ids.len(), 3, "those of another do not exist");
    assert_eq!(all.iter().filter(|it| it.1 == "run_queued").count(), 3);
    for at in 0..all.len() {
        let ended = all[..=at].iter().filter(|it| it.1 == "run_end").count();
        if ended == 3 {
            continue;
        }
        let path = format!("/v1/events?after={}", all[at].0);
        let rest = seen(&app, (&path, "ann"), "run_end", 3 - ended).await;
        let key = |it: &(String, String, Value)| {
            (it.2["run_id"].as_str().unwrap().to_owned(), it.2["seq"].as_u64(), it.1.clone())
        };
        let mut joined: Vec<_> = all[..=at].iter().chain(&rest).map(key).collect();
        let mut want: Vec<_> = all.iter().map(key).collect();
        joined.sort();
        want.sort();
        assert_eq!(joined, want, "behind {}", all[at].0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_without_a_place_begins_with_what_goes_on() {
    let (_, app) = service(scripted([
        ScriptedTurn::new().text("Done."),
        ScriptedTurn::new().text("So far.").hang(),
    ]));
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    text(get(&app, &format!("{run}/events"), "ann").await).await;
    let run = begin(&app, "ann", &json!({ "input": "Go on." })).await;
    let all = seen(&app, ("/v1/events", "ann"), "message_content", 1).await;
    let id = run.rsplit('/').next().unwrap();
    assert!(all.iter().all(|it| it.2["run_id"] == id), "{all:?}");
    assert_eq!(all[0].2["seq"], 0);
}

#[tokio::test]
async fn places_that_are_none_are_told() {
    let (_, app) = service(chatty());
    begin(&app, "ann", &json!({ "input": "one" })).await;
    for (after, want) in [
        ("x", 400),
        ("-1.0", 400),
        ("1.0~1:0", 400),
        ("9.0", 409),
        ("1.0~0:99999", 409),
        ("0.1", 409),
        ("0.99999", 409),
        ("0.18446744073709551615", 409),
        ("18446744073709551615.0", 409),
    ] {
        let response = get(&app, &format!("/v1/events?after={after}"), "ann").await;
        assert_eq!(response.status(), want, "{after}");
        let (_, problem) = value(response).await;
        assert!(!problem["detail"].as_str().unwrap().contains("runs-of"), "{problem}");
        if want == 409 {
            let last = problem["last_event_id"].as_str().unwrap();
            let again = get(&app, &format!("/v1/events?after={last}"), "ann").await;
            assert_eq!(again.status(), 200, "{last}");
        }
    }
    // Of one who has begun no run, too.
    let (status, problem) = value(get(&app, "/v1/events?after=5.0", "bob").await).await;
    assert_eq!((status, &problem["last_event_id"]), (409, &json!("0.0")), "{problem}");
    assert_eq!(get(&app, "/v1/events", "").await.status(), 401);
}

// Covers: T-23
#[tokio::test(start_paused = true)]
async fn a_notification_comes_among_the_events_of_runs_to_its_scope_alone() {
    let host = Caller::new("host").scope("team-a").permission("service.notify");
    let tokens = Tokens::new()
        .token("host", host)
        .token("ann", Caller::new("ann").scope("team-a"))
        .token("eve", Caller::new("eve").scope("team-e"));
    let service = Service::builder().agent("main", chatty()).identify(tokens);
    let app = router(service.build().unwrap());
    let body = json!({ "kind": "report_ready", "data": { "id": 7 } });
    assert_eq!(post(&app, "/v1/notifications", "host", &body).await.status(), 202);
    for token in ["ann", "eve"] {
        begin(&app, token, &json!({ "input": "Go." })).await;
        let all = seen(&app, ("/v1/events?after=0.0", token), "run_end", 1).await;
        let notes: Vec<_> = all.iter().filter(|it| it.1 == "notification").collect();
        assert_eq!(notes.len(), usize::from(token == "ann"), "{token}: {all:?}");
        for note in notes {
            assert_eq!((&note.2["kind"], &note.2["data"]), (&json!("report_ready"), &body["data"]));
        }
    }
}

/// The first frames of a stream.
async fn first(app: &Router, path: &str, count: usize) -> Vec<(String, Value)> {
    let mut stream = get(app, path, "ann").await.into_body().into_data_stream();
    let mut text = String::new();
    while text.matches("\n\n").count() < count {
        text.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    let frames = text.split("\n\n").take(count).map(|frame| {
        let (head, data) = frame.split_once("\ndata: ").unwrap();
        let (id, _) = head.strip_prefix("id: ").unwrap().split_once("\nevent: ").unwrap();
        (id.to_owned(), serde_json::from_str(data).unwrap())
    });
    frames.collect()
}

#[tokio::test]
async fn a_reader_that_was_away_too_long_is_told_what_it_missed() {
    let stores = forgeline_store::Stores::in_memory();
    let app = router(built(chatty()).stores(stores.clone()).build().unwrap());
    for at in 0..10_004_u64 {
        let note = forgeline_store::Notification::new("n", "1", at);
        stores.notifications.publish("team-a", note).await.unwrap();
    }
    let seen = first(&app, "/v1/events?after=0.1", 2).await;
    let gap = json!({ "type": "gap", "of": "notifications", "count": 3 });
    assert_eq!(seen[0], ("0.4".to_owned(), gap));
    assert_eq!((seen[1].0.as_str(), &seen[1].1["type"]), ("0.5", &json!("notification")));
    // The events of a run that are not kept any more.
    let run = begin(&app, "ann", &json!({ "input": "one" })).await;
    until(&app, &run, "run_end").await;
    let id = run.rsplit('/').next().unwrap();
    stores.log.retire(&forgeline_store::LogKey::new("team-a", id)).await.unwrap();
    let seen = first(&app, "/v1/events?after=1.10004~0:3", 1).await;
    let gap = json!({ "type": "gap", "of": "run", "run_id": id });
    assert_eq!(seen, [("1.10004".to_owned(), gap)]);
}

#[tokio::test]
async fn each_id_is_a_place_that_is_read_however_many_runs_go_on() {
    let log = Arc::new(InMemoryLog::new());
    let run = |number: u64| {
        let key = LogKey::new("team-a", format!("run-{number}"));
        Arc::new(ServiceRun::claimed(&StoredRun::new(key, "c", "ann", "main", 1)))
    };
    let caller = Caller::new("ann").scope("team-a");
    let sources = |log: &Arc<InMemoryLog>| {
        ScopeSources::new(Arc::clone(log) as _, None, ("team-a".into(), &caller))
    };
    for number in 0..600 {
        log.create(run(number).key.clone()).await.unwrap();
        note(&*log, &run(number)).await.unwrap();
    }
    let open = async || Ok((0..600).map(run).collect::<Vec<_>>());
    let now = sources(&log).now(open).await.unwrap();
    assert_eq!(now.open.len(), 600);
    for (from, count, runs) in [(now, 88, 0), (ScopeCursor::default(), 688, 600)] {
        let mut all = std::pin::pin!(sources(&log).into_frames(from));
        let (mut gaps, mut queued, mut last) = (Vec::new(), 0, String::new());
        for _ in 0..count {
            let frame = timeout(Duration::from_secs(20), all.next()).await.unwrap().unwrap();
            let frame = String::from_utf8(frame.to_vec()).unwrap();
            let id = frame.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
            last = id.to_owned();
            assert!(ScopeCursor::parse(id).is_some_and(|place| place.to_string() == id), "{frame}");
            queued += usize::from(frame.contains("\nevent: run_queued\n"));
            if let Some((_, data)) = frame.split_once("\nevent: gap\ndata: ") {
                gaps.push(data.trim_end().to_owned());
            }
        }
        // The oldest are left out, and each is named.
        let gap = |number| format!(r#"{{"type":"gap","of":"run","run_id":"run-{number}"}}"#);
        assert_eq!((gaps, queued), ((0..88).map(gap).collect(), runs));
        assert!(sources(&log).has(&ScopeCursor::parse(&last).unwrap()).await.unwrap());
    }
}
