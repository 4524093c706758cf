#![expect(clippy::print_stdout, reason = "an example: it prints its address")]
//! The service inside an application that has a login: who a request is from is what the application's own session says.

use std::{collections::HashMap, error::Error, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::get,
};
use forgeline::{
    llm::anthropic::Anthropic,
    prelude::*,
    server::{Problem, Service, router},
};
use tokio::sync::RwLock;

/// The user of a session.
#[derive(Clone)]
struct User(String);

/// The user of each session; a real program keeps them in a database.
#[derive(Clone)]
struct Sessions(Arc<RwLock<HashMap<String, User>>>);

impl Sessions {
    /// Finds the user of a request, by the cookie that the login has set.
    async fn user_of(&self, headers: &HeaderMap) -> Option<User> {
        let mut cookies = headers.get(header::COOKIE)?.to_str().ok()?.split("; ");
        let session = cookies.find_map(|cookie| cookie.strip_prefix("session="))?;
        self.0.read().await.get(session).cloned()
    }
}

/// Finds the user of each request, before the routes; it may wait.
async fn find_user(State(sessions): State<Sessions>, mut request: Request, next: Next) -> Response {
    if let Some(user) = sessions.user_of(request.headers()).await {
        request.extensions_mut().insert(user);
    }
    next.run(request).await
}

/// Returns the caller of a request: the user who was found; it must not wait.
fn caller(head: &Parts) -> Result<Caller, Problem> {
    let user = head.extensions.get::<User>().ok_or_else(|| {
        Problem::new(StatusCode::UNAUTHORIZED, "no_session", "log in at /login first")
    })?;
    // Runs and conversations belong to the scope: here each user has one.
    Ok(Caller::new(user.0.as_str()).scope(user.0.as_str()))
}

/// Returns the application, with the routes of the service beside its own.
fn app(provider: impl Provider + 'static, sessions: Sessions) -> Result<Router, Box<dyn Error>> {
    let agent = Agent::builder(provider).tool(Calculator).build()?;
    let service = Service::builder().agent("help", agent).identify(caller).build()?;
    let app = Router::new().route("/about", get(async || "Ours.")).merge(router(service));
    Ok(app.layer(from_fn_with_state(sessions, find_user)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let sessions = HashMap::from([("s3cret".to_owned(), User("ann".to_owned()))]);
    let sessions = Sessions(Arc::new(RwLock::new(sessions)));
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
    use axum::body::Body;
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
        let session = |id: &str, user: &str| (id.to_owned(), User(user.to_owned()));
        let sessions = HashMap::from([session("a1", "ann"), session("b2", "bob")]);
        let sessions = Sessions(Arc::new(RwLock::new(sessions)));
        let app = app(DemoProvider::new(), sessions).unwrap();

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
