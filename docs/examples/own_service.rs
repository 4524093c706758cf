//! An agent of a team as a service: a tool of its own, callers by token, what it keeps in a file, an orderly end.

use std::{error::Error, net::SocketAddr, time::Duration};

use forgeline::{
    llm::demo::DemoProvider,
    prelude::*,
    server::{Service, Tokens, router},
    store::{SqliteStore, Stores},
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Order {
    number: String,
}

async fn shop(file: &str, token: &str) -> Result<Service, Box<dyn Error>> {
    let status = tool_fn("order_status", "Tells where an order is.", async |_, it: Order| {
        format!("The order {} left our house today.", it.number)
    });
    let agent = Agent::builder(DemoProvider::new())
        .system("You help the customers of a shop.")
        .tool(status)
        .build()?;
    let tokens = Tokens::new().token(token, Caller::new("ann").scope("shop"));
    let stores = Stores::of(SqliteStore::open(file).await?);
    Ok(Service::builder().agent("shop", agent).identify(tokens).stores(stores).build()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let service = shop("shop.db", &std::env::var("SHOP_TOKEN")?).await?;
    service.recover().await?;
    let listener = tokio::net::TcpListener::bind("0.0.0.0:8080").await?;
    let app = router(service.clone()).into_make_service_with_connect_info::<SocketAddr>();
    let shutdown = async move {
        drop(tokio::signal::ctrl_c().await);
        service.shutdown(Duration::from_secs(20)).await;
    };
    Ok(axum::serve(listener, app).with_graceful_shutdown(shutdown).await?)
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt as _;

    use super::*;

    /// Starts a run with this token, and returns the status of the answer.
    async fn start(service: &Service, token: &str) -> u16 {
        let request = Request::post("/v1/runs")
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Body::from(r#"{"input":"Where is my order A-17?"}"#));
        let answer = router(service.clone()).oneshot(request.unwrap()).await.unwrap();
        answer.status().as_u16()
    }

    #[tokio::test]
    async fn a_caller_with_the_token_starts_a_run_and_the_service_ends_in_order() {
        let name = format!("forgeline-own-service-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let service = shop(folder.join("shop.db").to_str().unwrap(), "s3cret").await.unwrap();
        service.recover().await.unwrap();
        assert_eq!(start(&service, "s3cret").await, 202);
        assert_eq!(start(&service, "guessed").await, 401);
        service.shutdown(Duration::from_secs(20)).await;
        std::fs::remove_dir_all(folder).unwrap();
    }
}
