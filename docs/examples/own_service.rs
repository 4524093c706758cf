//! An agent of a team as a service: a tool of its own, callers by token, what it keeps in a file, an orderly end.

use std::{error::Error, net::SocketAddr, time::Duration};

use forgeline::{
    agent::{Agent, Caller, tools::ToolContext, tools::tool_fn},
    llm::demo::DemoProvider,
    server::{Service, Tokens, router},
    store::{SqliteStore, Stores},
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Order {
    number: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let status = tool_fn(
        "order_status",
        "Tells where an order is.",
        |_: ToolContext, it: Order| async move {
            format!("The order {} left our house today.", it.number)
        },
    );
    let agent = Agent::builder(DemoProvider::new())
        .system(|_| async { Ok("You help the customers of a shop.".to_owned()) })
        .tool(status)
        .build()?;
    let token = std::env::var("SHOP_TOKEN")?;
    let tokens = Tokens::new().token(&token, Caller::new("ann").scope("shop"));
    let stores = Stores::of(SqliteStore::open("shop.db").await?);
    let service =
        Service::builder().agent("shop", agent).identify(tokens).stores(stores).build()?;
    service.recover().await?;
    let listener = tokio::net::TcpListener::bind("0.0.0.0:8080").await?;
    let app = router(service.clone()).into_make_service_with_connect_info::<SocketAddr>();
    let serving = tokio::spawn(axum::serve(listener, app).into_future());
    tokio::signal::ctrl_c().await?;
    service.shutdown(Duration::from_secs(20)).await;
    serving.abort();
    Ok(())
}
