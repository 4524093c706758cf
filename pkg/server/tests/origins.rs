//! Pages of other origins.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;

use super::*;

const OWN: &str = "https://app.example";

/// Asks as a page of an origin on this machine does.
async fn ask(app: &Router, method: Method, origin: &str, more: &[(&str, &str)]) -> Response {
    let mut builder = Request::builder().method(method).uri("/v1/agents");
    for (name, value) in [("host", "localhost:8787"), ("origin", origin)].iter().chain(more) {
        builder = builder.header(*name, *value);
    }
    let mut request = builder.body(Body::empty()).unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 50_000))));
    app.clone().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn a_page_of_an_origin_that_is_named_may_ask_and_no_other() {
    let service = || Service::builder().agent("main", chatty());
    let site = [("sec-fetch-site", "cross-site")];
    let plain = router(service().build().unwrap());
    let response = ask(&plain, Method::GET, OWN, &site).await;
    assert_eq!(response.status(), 403);
    assert!(!response.headers().contains_key("access-control-allow-origin"));

    let app = router(service().origins([OWN, "http://localhost:5173"]).build().unwrap());
    for origin in [OWN, "http://localhost:5173"] {
        let response = ask(&app, Method::GET, origin, &site).await;
        assert_eq!(response.status(), 200, "{origin}");
        assert_eq!(response.headers()["access-control-allow-origin"], origin);
        assert!(!response.headers().contains_key("access-control-allow-credentials"));
        let exposed = response.headers()["access-control-expose-headers"].to_str().unwrap();
        assert!(exposed.contains("stream-next-offset"), "{exposed}");
    }
    for origin in ["https://evil.example", "https://app.example.evil", "null", "http://app.example"]
    {
        let response = ask(&app, Method::GET, origin, &site).await;
        assert_eq!(response.status(), 403, "{origin}");
        assert!(!response.headers().contains_key("access-control-allow-origin"), "{origin}");
    }
    // A browser asks first.
    let wants = [
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type"),
    ];
    let response = ask(&app, Method::OPTIONS, OWN, &wants).await;
    assert!(response.status().is_success());
    let headers = response.headers();
    assert_eq!(headers["access-control-allow-origin"], OWN);
    assert!(headers["access-control-allow-methods"].to_str().unwrap().contains("PATCH"));
    assert!(headers["access-control-allow-headers"].to_str().unwrap().contains("last-event-id"));
    let response = ask(&app, Method::OPTIONS, "https://evil.example", &wants).await;
    assert!(!response.headers().contains_key("access-control-allow-origin"));
    // A name that was bound anew is refused as before.
    let mut request = Request::builder().uri("/v1/agents").header("host", "evil.example");
    request = request.header("origin", OWN);
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 1))));
    assert_eq!(app.clone().oneshot(request).await.unwrap().status(), 403);

    let wrong = service().origins(["*"]).build().unwrap_err();
    assert!(matches!(&wrong, ServiceError::NoOrigin { origin, .. } if origin == "*"), "{wrong}");
}

#[tokio::test]
async fn a_page_may_read_each_header_that_the_answers_have() {
    let app = router(built(chatty()).origins([OWN]).build().unwrap());
    let send = async |(method, path): (&str, &str), more: &[(&str, &str)], body: &str| {
        let mut builder = request(method.parse().unwrap(), path, "ann").header("origin", OWN);
        for (name, value) in more {
            builder = builder.header(*name, *value);
        }
        let request = builder.body(Body::from(body.to_owned())).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        assert!(response.status().as_u16() < 500, "{method} {path}");
        response.headers().clone()
    };
    let bytes = ("content-type", "application/octet-stream");
    let json = ("content-type", "application/json");
    let producer =
        |seq| [bytes, ("producer-id", "p"), ("producer-epoch", "0"), ("producer-seq", seq)];
    let said = r#"{"id":"c","messages":[{"role":"user","content":"Go."}]}"#;
    let until = "2999-01-01T00:00:00Z";
    let stream = "/v1/streams/a";
    let all = [
        send(("PUT", stream), &[bytes, ("host", "h"), ("stream-ttl", "60")], "a").await,
        send(("PUT", "/v1/streams/b"), &[bytes, ("stream-expires-at", until)], "").await,
        send(("POST", stream), &producer("0"), "a").await,
        send(("POST", stream), &producer("7"), "a").await,
        send(("POST", stream), &[bytes, ("stream-closed", "true")], "a").await,
        send(("HEAD", stream), &[], "").await,
        send(("GET", stream), &[], "").await,
        send(("GET", &format!("{stream}?offset=-1&live=long-poll")), &[], "").await,
        send(("GET", &format!("{stream}?offset=-1&live=sse")), &[], "").await,
        send(("POST", "/api/chat"), &[json], said).await,
        send(("GET", "/v1/agents"), &[], "").await,
    ];
    // Those that any page may read, and those that are for its browser.
    let plain = [
        "cache-control",
        "content-encoding",
        "content-length",
        "content-security-policy",
        "content-type",
        "vary",
        "x-accel-buffering",
        "x-content-type-options",
    ];
    for headers in &all {
        let exposed = headers["access-control-expose-headers"].to_str().unwrap();
        let exposed: Vec<_> = exposed.split(',').map(str::trim).collect();
        for name in headers.keys().map(header::HeaderName::as_str) {
            let is_for_browsers =
                name.starts_with("access-control-") || name.starts_with("cross-origin-");
            assert!(is_for_browsers || plain.contains(&name) || exposed.contains(&name), "{name}");
        }
    }
    for name in [
        "location",
        "producer-seq",
        "stream-sse-data-encoding",
        "producer-expected-seq",
        "x-chat-id",
    ] {
        assert!(all.iter().any(|headers| headers.contains_key(name)), "{name} is in an answer");
    }
}
