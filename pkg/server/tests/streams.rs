//! Durable Streams, of runs and of hosts.

use axum::http::HeaderMap;

use super::*;
use forgeline_store::Stores;

/// Sends a request; returns the status, the headers and the body.
pub(super) async fn send(
    app: &Router,
    (method, path, token): (&str, &str, &str),
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, HeaderMap, String) {
    let mut builder = request(method.parse().unwrap(), path, token);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    let response = app.clone().oneshot(builder.body(Body::from(body.to_owned())).unwrap()).await;
    let response = response.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, text(response).await)
}

pub(super) fn field<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

pub(super) const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// The data of all events `data` of a stream of server-sent events, joined.
fn sse_values(frames: &str) -> Vec<Value> {
    let frames = frames.split("\n\n").filter_map(|it| it.strip_prefix("event: data\n"));
    let data = frames
        .map(|it| it.lines().filter_map(|line| line.strip_prefix("data:")).collect::<String>());
    data.flat_map(|data| serde_json::from_str::<Vec<Value>>(&data).unwrap()).collect()
}

/// A run that has ended, and its path.
async fn ended(app: &Router) -> String {
    let run = begin(app, "ann", &json!({ "input": "What is 6*7?" })).await;
    text(get(app, &format!("{run}/events"), "ann").await).await;
    run
}

// Covers: T-17
#[tokio::test]
async fn a_run_is_a_stream_in_each_mode_from_each_place() {
    let (_, app) = service(chatty());
    let run = ended(&app).await;
    for protocol in ["native", "ag-ui"] {
        let path = format!("{run}/stream?as={protocol}");
        let whole = get(&app, &path, "ann").await;
        assert_eq!(field(whole.headers(), "stream-closed"), "true");
        assert_eq!(field(whole.headers(), "stream-up-to-date"), "true");
        let end = field(whole.headers(), "stream-next-offset").to_owned();
        let all: Vec<Value> = serde_json::from_str(&text(whole).await).unwrap();
        let (first, last) = match protocol {
            "native" => ("update_busy", "run_end"),
            _ => ("RUN_STARTED", "RUN_FINISHED"),
        };
        assert_eq!((&all[0]["type"], &all.last().unwrap()["type"]), (&json!(first), &json!(last)));
        let (of_run, count) = end.split_once('_').unwrap();
        for number in 0..=count.parse().unwrap() {
            let offset = format!("{of_run}_{number:016}");
            let (status, _, rest) =
                send(&app, ("GET", &format!("{path}&offset={offset}"), "ann"), &[], "").await;
            let rest: Vec<Value> = serde_json::from_str(&rest).unwrap();
            assert!(status == 200 && all.ends_with(&rest), "{protocol} from {number}");
            let query = format!("{path}&offset={offset}&live=long-poll");
            let (status, headers, polled) = send(&app, ("GET", &query, "ann"), &[], "").await;
            let polled: Vec<Value> = serde_json::from_str(&polled).unwrap_or_default();
            assert_eq!((status, polled), (if rest.is_empty() { 204 } else { 200 }, rest.clone()));
            assert_eq!(field(&headers, "stream-next-offset"), end);
            let query = format!("{path}&offset={offset}&live=sse");
            let (_, _, frames) = send(&app, ("GET", &query, "ann"), &[], "").await;
            assert_eq!(sse_values(&frames), rest, "{protocol} from {number}: {frames}");
            assert!(frames.ends_with("\"upToDate\":true,\"streamClosed\":true}\n\n"), "{frames}");
        }
    }
    let path = format!("{run}/stream");
    let (status, headers, _) = send(&app, ("HEAD", &path, "ann"), &[], "").await;
    assert_eq!((status, field(&headers, "stream-closed")), (200, "true"));
    for (method, want) in [("POST", 405), ("PUT", 405), ("DELETE", 405)] {
        assert_eq!(send(&app, (method, &path, "ann"), JSON, "{}").await.0, want, "{method}");
    }
}

#[tokio::test]
async fn places_that_are_none_are_told() {
    let (_, app) = service(chatty());
    let (run, other) = (ended(&app).await, ended(&app).await);
    let mut ends = Vec::new();
    for run in [&run, &other] {
        let (_, headers, _) = send(&app, ("HEAD", &format!("{run}/stream"), "ann"), &[], "").await;
        ends.push(field(&headers, "stream-next-offset").to_owned());
    }
    let behind = format!("{}_{:016}", ends[0].split_once('_').unwrap().0, 9_999);
    let other = ends.pop().unwrap();
    let huge = "9".repeat(40);
    #[rustfmt::skip]
    let rows = [
        ("offset=", 400, "must be one from an earlier response"),
        ("offset=-2", 400, "must be one from an earlier response"),
        ("offset=1", 400, "must be one from an earlier response"),
        (&format!("offset={huge}"), 400, "must be one from an earlier response"),
        (&format!("offset={other}"), 400, "does not belong to this run"),
        (&format!("as=ag-ui&offset={other}&live=sse"), 400, "does not belong to this run"),
        (&format!("offset={behind}"), 409, "no such event yet"),
        (&format!("offset={behind}&live=sse"), 409, "no such event yet"),
        (&format!("offset={behind}&live=long-poll"), 409, "no such event yet"),
        ("offset=now&offset=now", 400, "twice"),
        ("live=sse", 400, "needs an `offset`"),
        ("offset=-1&live=ever", 400, "`long-poll` or `sse`"),
        ("as=nothing", 400, "`native` or `ag-ui`"),
    ];
    for (query, want, said) in rows {
        let (status, _, body) =
            send(&app, ("GET", &format!("{run}/stream?{query}"), "ann"), &[], "").await;
        assert!(status == want && body.contains(said), "{query}: {status} {body}");
    }
}

#[tokio::test]
async fn what_a_stream_has_belongs_to_its_scope() {
    let (_, app) = service(chatty());
    let path = "/v1/streams/notes/of today";
    let path = &path.replace(' ', "%20");
    let (status, headers, _) = send(&app, ("PUT", path, "ann"), JSON, "[1,2]").await;
    assert_eq!((status, field(&headers, "content-type")), (201, "application/json"));
    assert_eq!(send(&app, ("POST", path, "bob"), JSON, "{\"of\":\"bob\"}").await.0, 204);
    assert_eq!(send(&app, ("GET", path, "ann"), &[], "").await.2, "[1,2,{\"of\":\"bob\"}]");
    for (method, body) in [("GET", ""), ("HEAD", ""), ("POST", "1"), ("DELETE", "")] {
        assert_eq!(send(&app, (method, path, "eve"), JSON, body).await.0, 404, "{method}");
        assert_eq!(send(&app, (method, path, ""), JSON, body).await.0, 401, "{method}");
    }
    // One of the same name is another stream.
    assert_eq!(send(&app, ("PUT", path, "eve"), JSON, "").await.0, 201);
    assert_eq!(send(&app, ("GET", path, "eve"), &[], "").await.2, "[]");
    // Its log is no run, and a run is no stream.
    let run = ended(&app).await;
    let id = run.rsplit('/').next().unwrap();
    assert_eq!(get(&app, &format!("/v1/streams/{id}"), "ann").await.status(), 404);
    assert_eq!(get(&app, "/v1/runs/stream%2Fnotes%2Fof%20today/events", "ann").await.status(), 404);
}

#[tokio::test]
async fn a_stream_that_is_created_again_is_another() {
    let (_, app) = service(chatty());
    let path = "/v1/streams/notes";
    send(&app, ("PUT", path, "ann"), JSON, "[1]").await;
    let (_, headers, _) = send(&app, ("GET", path, "ann"), &[], "").await;
    let old = field(&headers, "stream-next-offset").to_owned();
    assert_eq!(send(&app, ("DELETE", path, "ann"), &[], "").await.0, 204);
    send(&app, ("PUT", path, "ann"), JSON, "[2,3]").await;
    let (status, _, body) =
        send(&app, ("GET", &format!("{path}?offset={old}"), "ann"), &[], "").await;
    assert!(status == 410 && body.contains("created again"), "{status} {body}");
    let (_, headers, _) = send(&app, ("HEAD", path, "ann"), &[], "").await;
    assert!(field(&headers, "stream-next-offset") > old.as_str());
}

#[tokio::test]
async fn another_process_reads_a_stream_of_several_pages_to_its_end() {
    let stores = Stores::in_memory();
    let app = || router(built(chatty()).stores(stores.clone()).build().unwrap());
    let (first, path) = (app(), "/v1/streams/long");
    assert_eq!(send(&first, ("PUT", path, "ann"), JSON, "").await.0, 201);
    // A page has 256 records.
    for at in 1..=600 {
        assert_eq!(send(&first, ("POST", path, "ann"), JSON, "1").await.0, 204);
        if [254, 255, 256, 257, 600].contains(&at) {
            let (_, want, _) = send(&first, ("HEAD", path, "ann"), &[], "").await;
            let (_, got, _) = send(&app(), ("HEAD", path, "ann"), &[], "").await;
            let end = |headers: &HeaderMap| field(headers, "stream-next-offset").to_owned();
            assert_eq!(end(&got), end(&want), "behind {at}");
        }
    }
}

#[tokio::test]
async fn a_stream_has_its_bounds() {
    let (_, app) = service(chatty());
    let bytes = &[("content-type", "application/octet-stream")];
    let piece = "x".repeat(8 << 20);
    assert_eq!(send(&app, ("PUT", "/v1/streams/full", "ann"), bytes, &piece).await.0, 201);
    let mut statuses = Vec::new();
    for _ in 0..8 {
        statuses.push(send(&app, ("POST", "/v1/streams/full", "ann"), bytes, &piece).await.0);
    }
    assert_eq!(statuses, [204, 204, 204, 204, 204, 204, 204, 413]);
    let over = format!("{piece}x");
    assert_eq!(send(&app, ("POST", "/v1/streams/full", "ann"), bytes, &over).await.0, 413);
    // A scope that fills its room, and no more, leaves that of runs.
    assert_eq!(send(&app, ("PUT", "/v1/streams/second", "ann"), bytes, &piece).await.0, 201);
    let mut statuses = Vec::new();
    for _ in 0..8 {
        statuses.push(send(&app, ("POST", "/v1/streams/second", "ann"), bytes, &piece).await.0);
    }
    assert_eq!(statuses, [204, 204, 204, 204, 204, 204, 507, 507]);
    assert_eq!(send(&app, ("DELETE", "/v1/streams/second", "ann"), &[], "").await.0, 204);
    for number in 1..1_000 {
        let path = format!("/v1/streams/{number}");
        assert_eq!(send(&app, ("PUT", &path, "ann"), JSON, "").await.0, 201, "{number}");
    }
    let (status, _, body) = send(&app, ("PUT", "/v1/streams/more", "ann"), JSON, "").await;
    assert!(status == 429 && body.contains("1000 streams"), "{status} {body}");
    assert_eq!(send(&app, ("PUT", "/v1/streams/more", "eve"), JSON, "").await.0, 201, "others");
    let name = "n".repeat(201);
    assert_eq!(send(&app, ("PUT", &format!("/v1/streams/{name}"), "ann"), JSON, "").await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_a_run_ends_it_by_going_away_where_it_says_so_in_each_form() {
    for path in ["events?", "stream?offset=-1&live=sse", "stream?offset=-1&live=sse&as=ag-ui"] {
        for leaves in ["", "&on_disconnect=cancel"] {
            let (_, app) = service(scripted([ScriptedTurn::new().text("So far.").hang()]));
            let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
            let path = format!("{run}/{path}{leaves}");
            let mut frames = get(&app, &path, "ann").await.into_body().into_data_stream();
            let mut seen = String::new();
            while !seen.contains("So far.") {
                seen.push_str(std::str::from_utf8(&frames.next().await.unwrap().unwrap()).unwrap());
            }
            drop(frames);
            sleep(Duration::from_secs(1)).await;
            let (_, shown) = value(get(&app, &run, "ann").await).await;
            let want = if leaves.is_empty() { "running" } else { "cancelled" };
            assert_eq!(shown["status"], want, "{path}");
        }
    }
    // A connection with events that the service ends after its time leaves the run alone.
    let (_, app) = service(scripted([ScriptedTurn::new().text("So far.").hang()]));
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let path = format!("{run}/stream?offset=-1&live=sse&on_disconnect=cancel");
    text(get(&app, &path, "ann").await).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "running");
    // Where it means nothing, it is refused.
    let put = request(Method::PUT, "/v1/streams/s", "ann").body(Body::empty()).unwrap();
    assert_eq!(app.clone().oneshot(put).await.unwrap().status(), 201);
    for (path, word) in [
        (format!("{run}/stream?offset=-1&on_disconnect=cancel"), "live=sse"),
        (format!("{run}/stream?offset=-1&live=long-poll&on_disconnect=cancel"), "live=sse"),
        (format!("{run}/events?on_disconnect=end"), "cancel"),
        ("/v1/events?on_disconnect=cancel".to_owned(), "one run"),
        ("/v1/streams/s?offset=-1&live=sse&on_disconnect=cancel".to_owned(), "this is a stream"),
    ] {
        let (status, problem) = value(get(&app, &path, "ann").await).await;
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(status == 400 && detail.contains(word), "{path}: {problem}");
    }
}

#[tokio::test]
async fn what_a_stream_cannot_be_is_refused_and_times_and_tags_are_as_the_rfcs_have_them() {
    let (_, app) = service(chatty());
    let json = JSON[0];
    for name in ["stream-forked-from", "Stream-Fork-Offset", "stream-fork-sub-offset"] {
        let asked = ("PUT", "/v1/streams/fork", "ann");
        let (status, _, body) = send(&app, asked, &[json, (name, "/v1/streams/x")], "").await;
        assert!(
            status == 501 && body.contains("forking streams is not supported"),
            "{name}: {status} {body}"
        );
    }
    let long = "9".repeat(900);
    let fork = format!("stream-fork-{long}");
    for (name, want) in [("stream-ttl", 400), ("stream-expires-at", 400), (fork.as_str(), 501)] {
        let asked = ("PUT", "/v1/streams/fork", "ann");
        let (status, _, body) = send(&app, asked, &[json, (name, &long)], "").await;
        assert!(status == want && body.len() < 400, "{name}: {status} {body}");
    }
    assert_eq!(get(&app, "/v1/streams/fork", "ann").await.status(), 404, "nothing was created");
    for (at, time, want) in [
        ("a", "9999-12-31T23:59:59Z", 201),
        ("b", "9999-12-31T23:59:59.999+00:00", 201),
        ("c", "9999-12-31T23:59:59-12:00", 201),
        ("d", "2999-01-01T00:00:00Z", 201),
        ("e", "9999-12-31T23:59:59", 400),
        ("f", "9999-12-31", 400),
        ("g", "9999-12-32T00:00:00Z", 400),
        ("h", "10000-01-01T00:00:00Z", 400),
        ("i", "soon", 400),
    ] {
        let asked = ("PUT", &*format!("/v1/streams/{at}"), "ann");
        let (status, _, body) =
            send(&app, asked, &[json, ("stream-expires-at", time)], "[1]").await;
        assert_eq!(status, want, "{time}: {body}");
        let status = get(&app, asked.1, "ann").await.status();
        assert_eq!(status, if want == 201 { 200 } else { 404 }, "{time}");
    }
    let path = "/v1/streams/a";
    let (_, headers, _) = send(&app, ("GET", path, "ann"), &[], "").await;
    let tag = field(&headers, "etag");
    for (known, want) in [
        (tag.to_owned(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"other\", W/{tag}"), 304),
        ("*".to_owned(), 304),
        ("\"other\"".to_owned(), 200),
        (format!("w/{tag}"), 200),
        (tag.trim_matches('"').to_owned(), 200),
    ] {
        let (status, _, _) =
            send(&app, ("GET", path, "ann"), &[("if-none-match", &known)], "").await;
        assert_eq!(status, want, "{known}");
    }
}
