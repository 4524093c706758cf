#![expect(clippy::print_stdout, reason = "an example: it prints its address")]
//! A page with `useChat` of the AI SDK, and the service that answers it. The page is `use_chat_page/page.html`; calls are approved there.

use std::{error::Error, net::SocketAddr};

use axum::{Router, response::Html, routing::get};
use forgeline::{
    llm::anthropic::Anthropic,
    prelude::*,
    server::{Service, router},
};

/// Returns the application: the page, and the routes of the service, of which the page uses `/api/chat`.
fn app(provider: impl Provider + 'static) -> Result<Router, Box<dyn Error>> {
    let agent =
        Agent::builder(provider).tool(Calculator).approval(ApprovalPolicy::Always).build()?;
    let service = Service::builder().agent("chat", agent).build()?;
    let page = async || Html(include_str!("use_chat_page/page.html"));
    Ok(Router::new().route("/chat", get(page)).merge(router(service)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let app = app(Anthropic::from_env()?)?.into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!("http://{}/chat", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::{
        body::{Body, to_bytes},
        extract::ConnectInfo,
        http::Request,
    };
    use forgeline::llm::demo::DemoProvider;
    use serde_json::{Value, json};
    use tower::ServiceExt as _;

    use super::*;

    async fn text(app: &Router, request: Request<Body>) -> String {
        let answer = app.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }

    /// Sends the messages of the page, and returns the parts of the answer.
    async fn parts(app: &Router, messages: &[Value]) -> Vec<Value> {
        let body = json!({ "id": "chat-1", "trigger": "submit-message", "messages": messages });
        // Without a login, the service answers this machine only.
        let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
        let request = Request::post("/api/chat")
            .extension(ConnectInfo(peer))
            .header("host", "127.0.0.1:8080")
            .header("content-type", "application/json");
        let answer = text(app, request.body(Body::from(body.to_string())).unwrap()).await;
        let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
        events.filter_map(|event| serde_json::from_str(event).ok()).collect()
    }

    #[tokio::test]
    async fn the_page_is_asked_for_approval_and_shows_the_answer() {
        let app = app(DemoProvider::new()).unwrap();
        let page = text(&app, Request::get("/chat").body(Body::empty()).unwrap()).await;
        assert!(page.contains("\"/api/chat\""));

        let question = json!({ "type": "text", "text": "What is 6 * 7?" });
        let user = json!({ "id": "m1", "role": "user", "parts": [question] });
        let asked = parts(&app, std::slice::from_ref(&user)).await;
        let of = |kind: &str| asked.iter().find(|part| part["type"] == kind).unwrap().clone();
        let (start, call, approval) =
            (of("start"), of("tool-input-available"), of("tool-approval-request"));

        let answered = json!({
            "type": "tool-calculator",
            "toolCallId": call["toolCallId"],
            "state": "approval-responded",
            "input": call["input"],
            "approval": { "id": approval["approvalId"], "approved": true },
        });
        let assistant =
            json!({ "id": start["messageId"], "role": "assistant", "parts": [answered] });
        let answer = parts(&app, &[user, assistant]).await;
        let said: String = answer.iter().filter_map(|part| part["delta"].as_str()).collect();
        assert!(said.ends_with("6 * 7 = 42"), "{said}");
    }
}
