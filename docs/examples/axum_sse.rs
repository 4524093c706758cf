#![expect(clippy::print_stdout, reason = "an example: it prints its address")]
//! A chat over Server-Sent Events in an axum application, by hand: one agent for all users, and a conversation for each user and id.

use std::{convert::Infallible, error::Error};

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::sse::{Event, KeepAlive, Sse},
    routing::post,
};
use forgeline::{agent::journal::MemoryJournals, llm::demo::DemoProvider, prelude::*};
use futures_util::{Stream, StreamExt as _};

/// Returns the user, whom the login of the application has put into this header.
fn user(headers: &HeaderMap) -> Result<&str, StatusCode> {
    headers.get("x-user").and_then(|user| user.to_str().ok()).ok_or(StatusCode::UNAUTHORIZED)
}

/// Continues a conversation with a message, and sends the events of the run as they are made. A client that goes away ends the run.
async fn chat(
    State(agent): State<Agent>,
    Path(id): Path<String>,
    headers: HeaderMap,
    message: String,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, StatusCode> {
    // The user is a part of the id: nobody continues the conversation of another one.
    let input = RunInput::from(message).conversation(format!("{}/{id}", user(&headers)?));
    let events = agent.run_stream(input).map(|envelope| {
        let event = Event::default().id(envelope.seq.to_string()).event(envelope.event.kind());
        Ok(event.data(envelope.event.text()))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// Returns the application.
fn app(provider: impl Provider + 'static) -> Result<Router, Box<dyn Error>> {
    let builder = Agent::builder(provider).tool(Calculator);
    let agent = builder.conversations(MemoryJournals::default()).build()?;
    Ok(Router::new().route("/chats/{id}", post(chat)).with_state(agent))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!(
        "curl -N -H 'x-user: ann' -d 'What is 6 * 7?' http://{}/chats/1",
        listener.local_addr()?
    );
    let app = app(DemoProvider::new())?;
    axum::serve(listener, app)
        .with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) })
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use tower::ServiceExt as _;

    use super::*;

    /// Returns the status and the body of the answer to a message.
    async fn say(app: &Router, user: Option<&str>, id: &str, message: &str) -> (u16, String) {
        let request = Request::post(format!("/chats/{id}"));
        let request =
            user.into_iter().fold(request, |request, user| request.header("x-user", user));
        let answer = app.clone().oneshot(request.body(Body::from(message.to_owned())).unwrap());
        let answer = answer.await.unwrap();
        let status = answer.status().as_u16();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    /// Answers with all that the user has said in the conversation.
    fn repeating() -> ScriptedProvider {
        ScriptedProvider::from_fn(|request: &forgeline::llm::Request| {
            let said =
                request.messages.iter().filter(|it| it.role == forgeline::types::MessageRole::User);
            ScriptedTurn::new().text(said.map(|it| it.text()).collect::<Vec<_>>().join("+"))
        })
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn two_users_of_one_agent_never_see_each_other() {
        let app = app(repeating()).unwrap();
        for round in 1..=20 {
            let (ann, bob) =
                tokio::join!(say(&app, Some("ann"), "1", "a"), say(&app, Some("bob"), "1", "b"));
            for ((status, body), word) in [(ann, "a"), (bob, "b")] {
                let want = vec![word; round].join("+");
                assert_eq!(status, 200);
                assert!(body.contains(&format!("data: {want}\n")), "round {round}: {body}");
            }
        }
        let (_, other) = say(&app, Some("ann"), "2", "c").await;
        assert!(other.contains("data: c\n"), "{other}");
        assert_eq!(say(&app, None, "1", "d").await.0, 401);
    }
}
