#![expect(
    clippy::print_stdout,
    clippy::unused_async,
    reason = "an example: it prints its address, and a database would be awaited"
)]
//! A service for several tenants: the agent of a run is made for its caller, with the prompt, the tool and the key of the tenant.

use std::{collections::BTreeMap, error::Error, net::SocketAddr, sync::Arc};

use axum::http::StatusCode;
use forgeline::{
    llm::{demo::DemoProvider, openai::OpenAi},
    prelude::*,
    server::{Problem, Service, Tokens, router},
};
use serde_json::Value;

#[derive(Clone)]
struct Tenant {
    name: &'static str,
    /// Without one, the demo model answers.
    key: Option<String>,
}

/// The tenants, which an application has in its database.
type Tenants = Arc<BTreeMap<&'static str, Tenant>>;

/// Makes the agent of a run. It is called for each run, so it caches whatever is slow.
async fn agent_of(tenants: Tenants, caller: Caller) -> Result<Agent, Box<dyn Error + Send + Sync>> {
    let tenant = tenants.get(caller.scope.as_deref().unwrap_or_default());
    let no_tenant =
        || Problem::new(StatusCode::FORBIDDEN, "no_tenant", "ask your administrator for access");
    // A problem is the answer to the request; other errors are for the logs.
    let tenant = tenant.ok_or_else(no_tenant)?.clone();
    let provider: Arc<dyn Provider> = match &tenant.key {
        Some(key) => Arc::new(OpenAi::new(key.as_str(), "gpt-5-mini")?),
        None => Arc::new(DemoProvider::new()),
    };
    let name = tenant.name;
    let orders =
        tool_fn("orders", "Lists the orders.", move |_: ToolContext, _: Value| async move {
            format!("{name} has no orders today.")
        });
    let prompt = format!("You help the customers of {name}.");
    Ok(Agent::builder(provider).system(prompt).tool(orders).build()?)
}

fn service(tenants: &Tenants, tokens: Tokens) -> Result<Service, Box<dyn Error>> {
    let tenants = Arc::clone(tenants);
    let builder =
        Service::builder().agent_for("help", move |caller| agent_of(Arc::clone(&tenants), caller));
    Ok(builder.identify(tokens).build()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let key = std::env::var("OPENAI_API_KEY").ok();
    let bakery = Tenant { name: "the bakery", key };
    let florist = Tenant { name: "the florist", key: None };
    let tenants = Arc::new(BTreeMap::from([("bakery", bakery), ("florist", florist)]));
    let tokens = Tokens::new()
        .token(&std::env::var("BAKERY_TOKEN")?, Caller::new("ann").scope("bakery"))
        .token(&std::env::var("FLORIST_TOKEN")?, Caller::new("bob").scope("florist"));
    let app =
        router(service(&tenants, tokens)?).into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn each_tenant_has_its_own_agent() {
        let tenant = |name| Tenant { name, key: None };
        let tenants = [("bakery", tenant("the bakery")), ("florist", tenant("the florist"))].into();
        let tokens = ["bakery", "florist", "stranger"]
            .into_iter()
            .fold(Tokens::new(), |all, it| all.token(it, Caller::new(it).scope(it)));
        let app = router(service(&Arc::new(tenants), tokens).unwrap());
        let ask = async |token: &str| {
            let chat = r#"{"messages":[{"role":"user","content":"Use orders: \"all\""}]}"#;
            let request = Request::post("/api/chat").header("content-type", "application/json");
            let request = request.header("authorization", format!("Bearer {token}"));
            let answer =
                app.clone().oneshot(request.body(Body::from(chat)).unwrap()).await.unwrap();
            let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
            String::from_utf8(body.to_vec()).unwrap()
        };
        for (token, said) in [
            ("bakery", "the bakery has no orders"),
            ("florist", "the florist has no orders"),
            ("stranger", "ask your administrator for access"),
        ] {
            let body = ask(token).await;
            assert!(body.contains(said), "{token}: {body}");
        }
    }
}
