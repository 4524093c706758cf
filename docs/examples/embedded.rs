//! Agents in an axum application of your own.

use std::{error::Error, net::SocketAddr};

use axum::{Router, routing::get};
use forgeline::{agent::Agent, llm::demo::DemoProvider, server};

fn app() -> Result<Router, Box<dyn Error>> {
    let agent = Agent::builder(DemoProvider::new()).build()?;
    let service = server::Service::builder().agent("help", agent).build()?;
    Ok(Router::new().route("/about", get(async || "Ours.")).merge(server::router(service)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    let app = app()?.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, app).await?)
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn the_service_is_beside_the_routes_of_the_application() {
        for path in ["/about", "/ready", "/"] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            assert_eq!(app().unwrap().oneshot(request).await.unwrap().status(), 200, "{path}");
        }
    }
}
