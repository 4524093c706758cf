//! The streams of hosts on two nodes.

use axum::http::HeaderMap;

use super::{
    super::streams::{JSON, field, send},
    *,
};
use forgeline_store::{LogRecord, Stores, private::now_ms};

const PATH: &str = "/v1/streams/notes";
const TEXT: &[(&str, &str)] = &[("content-type", "text/plain")];

/// Two nodes on one store, each with its routes, and the store.
fn two(limits: &Limits) -> (Stores, [(Service, Router); 2]) {
    let stores = SharedStores::new().stores();
    let node = || {
        let service = built(chatty()).stores(stores.clone()).limits(limits.clone()).build();
        let service = service.unwrap();
        (service.clone(), router(service))
    };
    (stores.clone(), [node(), node()])
}

async fn put(app: &Router, headers: &[(&str, &str)], body: &str) -> String {
    let (status, fields, body) = send(app, ("PUT", PATH, "ann"), headers, body).await;
    assert_eq!(status, 201, "{body}");
    end(&fields)
}

async fn append(app: &Router, headers: &[(&str, &str)], body: &str) -> u16 {
    send(app, ("POST", PATH, "ann"), headers, body).await.0
}

async fn delete(app: &Router) {
    assert_eq!(send(app, ("DELETE", PATH, "ann"), &[], "").await.0, 204);
}

async fn head(app: &Router) -> (u16, HeaderMap) {
    let (status, fields, _) = send(app, ("HEAD", PATH, "ann"), &[], "").await;
    (status, fields)
}

async fn read(app: &Router, query: &str) -> (u16, HeaderMap, String) {
    send(app, ("GET", &format!("{PATH}{query}"), "ann"), &[], "").await
}

fn end(fields: &HeaderMap) -> String {
    field(fields, "stream-next-offset").to_owned()
}

/// Waits until the clock is past a time.
async fn past(until_ms: u64) {
    while now_ms() <= until_ms {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_stream_that_another_node_deletes_and_creates_again_is_another() {
    let (_, [(_, one), (_, two)]) = two(&Limits::default());
    let produced = [JSON[0], ("producer-id", "p"), ("producer-epoch", "3"), ("producer-seq", "0")];
    put(&one, JSON, "[1,2]").await;
    assert_eq!(append(&one, &produced, "3").await, 200);
    let (_, fields, body) = read(&two, "").await;
    assert_eq!(body, "[1,2,3]");
    let old = end(&fields);
    for count in [0, 4, 5, 300] {
        delete(&one).await;
        put(&one, TEXT, "").await;
        for _ in 0..count {
            assert_eq!(append(&one, TEXT, "x").await, 204);
        }
        let (status, fields) = head(&two).await;
        assert_eq!((status, field(&fields, "content-type")), (200, "text/plain"), "{count}");
        assert_eq!(end(&fields), end(&head(&one).await.1), "{count}");
        assert_eq!(read(&two, &format!("?offset={old}")).await.0, 410, "{count}");
        assert_eq!(append(&two, JSON, "4").await, 409, "{count}: the type of the old one");
        let again = [TEXT[0], ("producer-id", "p"), ("producer-epoch", "0"), ("producer-seq", "0")];
        assert_eq!(append(&two, &again, "y").await, 200, "{count}: the old one had epoch 3");
        // A page ends before the last of 300.
        let (_, _, body) = read(&one, "").await;
        assert!(format!("{}y", "x".repeat(count)).starts_with(&body), "{count}: {body}");
    }
}

#[tokio::test]
async fn each_stream_of_a_name_has_a_later_number_on_whichever_node_it_is_created() {
    let (_, [(_, one), (_, two)]) = two(&Limits::default());
    let mut last = String::new();
    for app in [&one, &two].into_iter().cycle().take(40) {
        let next = put(app, JSON, "[1]").await;
        assert!(next > last, "{next} after {last}");
        last = next;
        delete(app).await;
    }
}

#[tokio::test]
async fn a_reader_on_one_node_sees_nothing_of_a_stream_that_another_creates_again() {
    let (_, [(_, one), (_, two)]) = two(&Limits::default());
    put(&one, TEXT, "old").await;
    let live = get(&one, &format!("{PATH}?offset=-1&live=sse"), "ann").await;
    let mut live = live.into_body().into_data_stream();
    let first = live.next().await.unwrap().unwrap();
    assert!(std::str::from_utf8(&first).unwrap().contains("old"));
    delete(&two).await;
    put(&two, TEXT, "").await;
    for _ in 0..3 {
        assert_eq!(append(&two, TEXT, "new").await, 204);
    }
    let more = timeout(Duration::from_mins(1), live.next()).await.unwrap();
    assert!(more.is_none(), "{more:?}");
}

// The reader waits on the node where nothing is written.
#[tokio::test]
async fn readers_follow_what_another_node_appends_closes_and_deletes() {
    let (_, [(_, one), (_, two)]) = two(&Limits::default());
    let mut at = put(&one, JSON, "").await;
    let polled = |at: &str| {
        let (app, query) = (two.clone(), format!("?offset={at}&live=long-poll"));
        tokio::spawn(async move { read(&app, &query).await })
    };
    // The reader may begin before the change or after it.
    let begins = async || {
        for _ in 0..now_ms() % 32 {
            tokio::task::yield_now().await;
        }
    };
    for number in 0..3 {
        let polling = polled(&at);
        begins().await;
        assert_eq!(append(&one, JSON, &number.to_string()).await, 204);
        let (status, fields, body) = polling.await.unwrap();
        assert_eq!((status, body), (200, format!("[{number}]")));
        at = end(&fields);
    }
    let polling = polled(&at);
    begins().await;
    assert_eq!(append(&one, &[("stream-closed", "true")], "").await, 204);
    let (status, fields, _) = polling.await.unwrap();
    assert_eq!((status, field(&fields, "stream-closed")), (204, "true"));
    assert_eq!(append(&two, JSON, "4").await, 409, "it is closed");
    delete(&one).await;
    at = put(&one, JSON, "").await;
    let polling = polled(&at);
    begins().await;
    delete(&one).await;
    assert_eq!(polling.await.unwrap().0, 404);
}

#[tokio::test]
async fn producers_and_sequences_go_on_through_another_node() {
    let (_, [(_, one), (_, two)]) = two(&Limits::default());
    put(&one, JSON, "").await;
    let rows = [
        (&one, ("0", "0"), 200),
        (&two, ("0", "0"), 204),
        (&two, ("0", "1"), 200),
        (&one, ("0", "3"), 409),
        (&one, ("0", "1"), 204),
        (&one, ("1", "0"), 200),
        (&two, ("0", "2"), 403),
        (&two, ("1", "1"), 200),
    ];
    for (app, (epoch, seq), want) in rows {
        let fields =
            [JSON[0], ("producer-id", "p"), ("producer-epoch", epoch), ("producer-seq", seq)];
        assert_eq!(append(app, &fields, "1").await, want, "{epoch} {seq}");
    }
    for (app, seq, want) in [(&one, "b", 204), (&two, "a", 409), (&two, "c", 204), (&one, "b", 409)]
    {
        assert_eq!(append(app, &[JSON[0], ("stream-seq", seq)], "2").await, want, "{seq}");
    }
    delete(&two).await;
    put(&one, JSON, "").await;
    let all = (0..16).map(|at| {
        let app = if at % 2 == 0 { &one } else { &two };
        async move { append(app, JSON, &at.to_string()).await }
    });
    let statuses = futures_util::future::join_all(all).await;
    assert_eq!(statuses, [204; 16], "both append at once");
    let mut read: Vec<u64> = serde_json::from_str(&read(&two, "").await.2).unwrap();
    read.sort_unstable();
    assert_eq!(read, (0..16).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_append_beside_a_close_on_another_node_comes_before_it_or_says_so() {
    let (_, [(_, one), (_, two)]) = two(&Limits::default());
    let mut statuses = Vec::new();
    for later in 0..32 {
        put(&one, JSON, "").await;
        let appended = async {
            for _ in 0..later {
                tokio::task::yield_now().await;
            }
            send(&one, ("POST", PATH, "ann"), JSON, "1").await
        };
        let closed = append(&two, &[("stream-closed", "true")], "");
        let ((status, fields, body), closed) = futures_util::future::join(appended, closed).await;
        assert_eq!(closed, 204, "{later}");
        if status != 204 {
            assert!(body.contains("stream_closed"), "{later}: {status} {body}");
            assert_eq!(field(&fields, "stream-closed"), "true", "{later}");
        }
        statuses.push(status);
        delete(&two).await;
    }
    assert!([204, 409].iter().all(|it| statuses.contains(it)), "{statuses:?}");
}

/// Creates a stream that is over a second after its last use, and uses it for longer; returns the time of the last use, or `None` if the machine stalled
/// between two of them.
async fn used([one, two]: [&Router; 2], first: &Service) -> Option<u64> {
    const STALLED: u64 = 700;
    let created = now_ms();
    put(one, &[JSON[0], ("stream-ttl", "1")], "[1]").await;
    let (mut last, mut is_swept) = (created, false);
    for node in std::iter::once(one).chain(std::iter::repeat(two)) {
        let now = now_ms();
        let (status, ..) = read(node, "").await;
        if now_ms() > last + STALLED {
            return None;
        }
        assert_eq!(status, 200);
        last = now;
        if is_swept {
            break;
        }
        if now >= created + 1_500 {
            first.sweep(&Keep::default()).await.unwrap();
            let (status, _) = head(one).await;
            if now_ms() > last + STALLED {
                return None;
            }
            assert_eq!(status, 200, "the other node uses it");
            is_swept = true;
        }
    }
    Some(last)
}

#[tokio::test]
async fn a_stream_is_used_on_whichever_node_it_is_read() {
    let (stores, [(first, one), (_, two)]) = two(&Limits::default());
    let mut attempts = 1..10;
    let left = loop {
        if let Some(left) = used([&one, &two], &first).await {
            break left;
        }
        assert!(attempts.next().is_some(), "the machine stalls all the time");
        drop(send(&one, ("DELETE", PATH, "ann"), &[], "").await);
    };
    // Looking at a stream is not a use.
    while head(&one).await.0 == 200 {
        assert!(now_ms() < left + 30_000, "it is over on the node that did not use it last");
    }
    assert!(now_ms() >= left + 900, "it was used");
    assert_eq!(head(&two).await.0, 404);
    // A stream that nobody uses is removed by whichever node sweeps.
    put(&two, &[JSON[0], ("stream-ttl", "1")], "[1]").await;
    past(now_ms() + 1_200).await;
    first.sweep(&Keep::default()).await.unwrap();
    assert_eq!(stores.log.list("stream/", None, 9).await.unwrap(), []);
}

#[tokio::test]
async fn the_sweep_of_a_node_counts_the_streams_of_others() {
    let limits =
        Limits { scope_stream_bytes: 100 << 10, stream_bytes: 200 << 10, ..Limits::default() };
    let (stores, [(first, one), (_, two)]) = two(&limits);
    assert_eq!(head(&one).await.0, 404);
    let piece = "x".repeat(60 << 10);
    put(&two, TEXT, &piece).await;
    first.sweep(&Keep::default()).await.unwrap();
    let other = ("PUT", "/v1/streams/other", "ann");
    assert_eq!(send(&one, other, TEXT, &piece).await.0, 507, "the other one counts");
    delete(&two).await;
    first.sweep(&Keep::default()).await.unwrap();
    assert_eq!(send(&one, other, TEXT, &piece).await.0, 201, "and no longer");
    // A stream that another node is about to create is left alone.
    let begun = LogKey::new("team-a", "stream/begun");
    stores.log.create(begun.clone()).await.unwrap();
    first.sweep(&Keep::default()).await.unwrap();
    assert!(stores.log.read(&begun, 0, 1).await.is_ok());
}

#[tokio::test]
async fn a_node_closes_what_another_one_died_closing() {
    let (stores, [(_, one), (_, two)]) = two(&Limits::default());
    let key = LogKey::new("team-a", "stream/notes");
    // The second one is known as the first one, which is closed.
    for _ in 0..2 {
        put(&one, JSON, "[1]").await;
        let closed = LogRecord::new("stream_closed", "");
        stores.log.append(&key, 2, vec![closed], None).await.unwrap();
        assert_eq!(field(&head(&two).await.1, "stream-closed"), "true");
        assert!(stores.log.read(&key, 3, 1).await.unwrap().is_end);
        delete(&one).await;
    }
    // It closes one that it knows as open, too.
    put(&one, JSON, "[1]").await;
    assert_eq!(head(&two).await.0, 200);
    stores.log.append(&key, 2, vec![LogRecord::new("stream_closed", "")], None).await.unwrap();
    assert_eq!(field(&head(&two).await.1, "stream-closed"), "true");
    assert!(stores.log.read(&key, 3, 1).await.unwrap().is_end);
}
