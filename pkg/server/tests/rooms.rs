//! The room of streams, and the time for which they are there.

use super::{
    streams::{JSON, field, send},
    *,
};
use forgeline_store::{InMemoryLog, LogKey, Stores, private::now_ms};

const BYTES: &[(&str, &str)] = &[("content-type", "application/octet-stream")];

fn small() -> Limits {
    Limits { scope_stream_bytes: 100 << 10, stream_bytes: 200 << 10, ..Limits::default() }
}

async fn status(app: &Router, (method, path, token): (&str, &str, &str), body: &str) -> u16 {
    let path = format!("/v1/streams/{path}");
    send(app, (method, &path, token), BYTES, body).await.0
}

#[tokio::test]
async fn streams_of_a_scope_have_their_room_and_leave_that_of_others() {
    let (_, app) = limited(chatty(), small());
    let piece = "x".repeat(30 << 10);
    for name in ["1", "2"] {
        assert_eq!(status(&app, ("PUT", name, "ann"), &piece).await, 201);
    }
    assert_eq!(status(&app, ("POST", "1", "bob"), &piece).await, 204);
    for (method, name) in [("POST", "1"), ("POST", "2"), ("PUT", "3")] {
        let path = format!("/v1/streams/{name}");
        let (status, _, body) = send(&app, (method, &path, "ann"), BYTES, &piece).await;
        assert!(status == 507 && body.contains("delete some first"), "{method} {name}: {body}");
    }
    assert_eq!(status(&app, ("GET", "3", "ann"), "").await, 404, "it was not begun");
    let ends = [("stream-closed", "true")];
    let ended = send(&app, ("POST", "/v1/streams/2", "ann"), &ends, "").await;
    assert_eq!(ended.0, 204, "its end needs no room");
    assert_eq!(status(&app, ("POST", "1", "ann"), "small").await, 204, "what fits is taken");
    let run = begin(&app, "ann", &json!({ "input": "What is 6*7?" })).await;
    assert_eq!(until(&app, &run, "run_end").await["status"], "completed");
    // Others have less than theirs once all have no more.
    assert_eq!(status(&app, ("PUT", "1", "eve"), &piece).await, 201);
    assert_eq!(status(&app, ("POST", "1", "eve"), &piece).await, 507);
    assert_eq!(status(&app, ("DELETE", "1", "ann"), "").await, 204);
    assert_eq!(status(&app, ("POST", "1", "eve"), &piece).await, 204);
    assert_eq!(status(&app, ("PUT", "3", "ann"), &piece).await, 201, "and its room is free");
}

#[tokio::test]
async fn a_record_counts_with_what_it_takes_in_memory() {
    let (_, app) = limited(chatty(), small());
    let zeros = format!("[{}]", vec!["0"; 1_000].join(","));
    let mut count = 0;
    while send(&app, ("PUT", &format!("/v1/streams/{count}"), "ann"), JSON, &zeros).await.0 == 201 {
        count += 1;
    }
    assert_eq!(count, 1, "1,000 records of a byte each take more than 50 KiB");
}

#[tokio::test]
async fn a_stream_that_retention_took_is_created_again() {
    let (service, app) = service(chatty());
    let closed = [("content-type", "text/plain"), ("stream-closed", "true")];
    let path = "/v1/streams/notes";
    assert_eq!(send(&app, ("PUT", path, "ann"), &closed, "one").await.0, 201);
    let keep = Keep { bytes: Some(0), ..Keep::default() };
    service.sweep(&keep).await.unwrap();
    assert_eq!(send(&app, ("GET", path, "ann"), &[], "").await.0, 404);
    assert_eq!(send(&app, ("PUT", path, "ann"), &closed[..1], "two").await.0, 201);
    let (status, headers, body) = send(&app, ("GET", path, "ann"), &[], "").await;
    assert_eq!((status, body.as_str()), (200, "two"));
    assert_eq!(field(&headers, "stream-closed"), "");
}

#[tokio::test]
async fn streams_of_the_process_before_count_and_come_to_their_end() {
    let mut stores = Stores::in_memory();
    stores.log = std::sync::Arc::new(InMemoryLog::new());
    let piece = "x".repeat(30 << 10);
    let life = || {
        let service = built(chatty()).stores(stores.clone()).limits(small()).build().unwrap();
        (service.clone(), router(service))
    };
    let (_, app) = life();
    for name in ["1", "2"] {
        assert_eq!(status(&app, ("PUT", name, "ann"), &piece).await, 201, "{name}");
    }
    let past = loop {
        let past = now_ms() + 300;
        let at = jiff::Timestamp::from_millisecond(i64::try_from(past).unwrap()).unwrap();
        let headers = [BYTES[0], ("stream-expires-at", &at.to_string())];
        if send(&app, ("PUT", "/v1/streams/over", "ann"), &headers, &piece).await.0 == 201 {
            break past;
        }
        // On a busy machine, it may be over before it exists.
        assert!(now_ms() >= past, "it is refused");
    };
    drop(app);
    let (service, app) = life();
    while now_ms() <= past {
        tokio::task::yield_now().await;
    }
    // Its process died between the log and the first record.
    stores.log.create(LogKey::new("team-a", "stream/died")).await.unwrap();
    assert_eq!(stores.log.list("stream/", None, 9).await.unwrap().len(), 4);
    service.sweep(&Keep::default()).await.unwrap();
    let left = stores.log.list("stream/", None, 9).await.unwrap();
    let names: Vec<_> = left.iter().map(|it| it.key.name.as_str()).collect();
    assert_eq!(names, ["stream/1", "stream/2"], "without a request for it");
    assert_eq!(status(&app, ("PUT", "3", "ann"), &piece).await, 201);
    assert_eq!(status(&app, ("PUT", "4", "ann"), &piece).await, 507, "those before count");
}

#[tokio::test]
async fn the_use_of_a_stream_outlives_the_process() {
    let stores = Stores::in_memory();
    let service = || built(chatty()).stores(stores.clone()).build().unwrap();
    let key = LogKey::new("team-a", "stream/notes");
    let used = async || stores.log.list("stream/", None, 9).await.unwrap()[0].used_ms;
    let (first, path) = (service(), "/v1/streams/notes");
    let app = router(first.clone());
    let headers = [JSON[0], ("stream-ttl", "3600")];
    assert_eq!(send(&app, ("PUT", path, "ann"), &headers, "[1]").await.0, 201);
    let created = used().await;
    first.sweep(&Keep::default()).await.unwrap();
    assert_eq!(used().await, created, "it was not used since");
    while now_ms() <= created + 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(send(&app, ("GET", path, "ann"), &[], "").await.0, 200);
    first.sweep(&Keep::default()).await.unwrap();
    assert!(used().await > created, "its use is noted");
    // One that is not used is gone in the next process, too.
    let short = LogKey::new("team-a", "stream/short");
    let created = json!({ "created": 1, "content_type": "text/plain", "ttl": 1 }).to_string();
    stores.log.create(short.clone()).await.unwrap();
    let record = forgeline_store::LogRecord::new("stream_created", created);
    stores.log.append(&short, 0, vec![record], None).await.unwrap();
    let app = router(service());
    assert_eq!(send(&app, ("GET", path, "ann"), &[], "").await.0, 200);
    assert_eq!(
        send(&app, ("GET", "/v1/streams/short", "ann"), &[], "").await.0,
        200,
        "a minute late at most"
    );
    assert!(stores.log.read(&key, 0, 9).await.is_ok());
}

#[tokio::test]
async fn the_address_of_a_new_stream_is_that_of_its_client() {
    let (_, app) = service(chatty());
    let nested = Router::new().nest("/ai", app);
    #[rustfmt::skip]
    let rows: [(&[(&str, &str)], &str); 4] = [
        (&[("host", "a.example")],                                   "http://a.example/ai/v1/streams/0"),
        (&[("host", "a.example"), ("x-forwarded-proto", "https")],   "https://a.example/ai/v1/streams/1"),
        (&[("host", "a.example:81"), ("x-forwarded-proto", "ftp")],  "http://a.example:81/ai/v1/streams/2"),
        (&[],                                                        "/ai/v1/streams/3"),
    ];
    for (number, (headers, want)) in rows.into_iter().enumerate() {
        let path = format!("/ai/v1/streams/{number}");
        let (status, fields, _) = send(&nested, ("PUT", &path, "ann"), headers, "").await;
        assert_eq!((status, field(&fields, "location")), (201, want));
    }
}
