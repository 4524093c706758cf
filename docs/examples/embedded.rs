//! Agents in an axum application of your own.

use std::{error::Error, net::SocketAddr};

use axum::{Router, routing::get};
use forgeline::{agent::Agent, llm::demo::DemoProvider, server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = Agent::builder(DemoProvider::new()).build()?;
    let service = server::Service::builder().agent("help", agent).build()?;
    let app = Router::new().route("/about", get(async || "Ours.")).merge(server::router(service));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
