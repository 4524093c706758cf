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
    assert_eq!(wrong, ServiceError::NoOrigin { origin: "*".to_owned() });
}
