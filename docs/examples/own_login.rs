#![expect(clippy::print_stdout, reason = "an example: it prints its address")]
//! The service inside an application that has a login: who a request is from is what the application's own session says.

use std::{collections::HashMap, error::Error, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    http::{StatusCode, header, request::Parts},
    routing::get,
};
use forgeline::{
    llm::anthropic::Anthropic,
    prelude::*,
    server::{Problem, Service, router},
};

/// The user of each session; a real program keeps them in a store.
type Sessions = Arc<HashMap<String, String>>;

/// Returns the caller of a request, by the cookie that the login has set.
fn caller(sessions: &Sessions, parts: &Parts) -> Result<Caller, Problem> {
    let cookies = parts.headers.get(header::COOKIE).and_then(|cookies| cookies.to_str().ok());
    let mut cookies = cookies.unwrap_or_default().split("; ");
    let session = cookies.find_map(|cookie| cookie.strip_prefix("session="));
    let user = session.and_then(|session| sessions.get(session)).ok_or_else(|| {
        Problem::new(StatusCode::UNAUTHORIZED, "no_session", "log in at /login first")
    })?;
    // Runs and conversations belong to the scope: here each user has one.
    Ok(Caller::new(user.as_str()).scope(user.as_str()))
}

/// Returns the application, with the routes of the service beside its own.
fn app(provider: impl Provider + 'static, sessions: Sessions) -> Result<Router, Box<dyn Error>> {
    let agent = Agent::builder(provider).tool(Calculator).build()?;
    let identify = move |parts: &Parts| caller(&sessions, parts);
    let service = Service::builder().agent("help", agent).identify(identify).build()?;
    Ok(Router::new().route("/about", get(async || "Ours.")).merge(router(service)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let sessions = Arc::new(HashMap::from([("s3cret".to_owned(), "ann".to_owned())]));
    let app = app(Anthropic::from_env()?, sessions)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!(
        "curl -N -H 'cookie: session=s3cret' -H 'content-type: application/json' \
        -d '{{\"input\":\"What is 6 * 7?\"}}' http://127.0.0.1:8080/v1/runs"
    );
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use forgeline::llm::demo::DemoProvider;
    use serde_json::{Value, json};
    use tower::ServiceExt as _;

    use super::*;

    /// Sends a request with this cookie, and returns the status and the body of the answer.
    async fn send(app: &Router, path: &str, cookie: &str, body: Option<Value>) -> (u16, String) {
        let request = Request::builder()
            .method(if body.is_some() { "POST" } else { "GET" })
            .uri(path)
            .header(header::COOKIE, cookie)
            .header(header::CONTENT_TYPE, "application/json");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let answer = app.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_user_sees_its_own_runs_and_nobody_elses() {
        let session = |id: &str, user: &str| (id.to_owned(), user.to_owned());
        let sessions = HashMap::from([session("a1", "ann"), session("b2", "bob")]);
        let app = app(DemoProvider::new(), Arc::new(sessions)).unwrap();

        let input = json!({ "input": "What is 6 * 7?" });
        let ann = "theme=dark; session=a1";
        let (status, run) = send(&app, "/v1/runs", ann, Some(input.clone())).await;
        assert_eq!(status, 202, "{run}");
        let run: Value = serde_json::from_str(&run).unwrap();
        let events = format!("/v1/runs/{}/events", run["run_id"].as_str().unwrap());
        let (status, read) = send(&app, &events, ann, None).await;
        assert!(status == 200 && read.contains("event: run_end"), "{read}");
        assert_eq!(send(&app, &events, "session=b2", None).await.0, 404);

        let (status, problem) = send(&app, "/v1/runs", "session=guessed", Some(input)).await;
        assert!(status == 401 && problem.contains("log in at /login first"), "{problem}");
        assert_eq!(send(&app, "/about", "", None).await, (200, "Ours.".to_owned()));
    }
}
