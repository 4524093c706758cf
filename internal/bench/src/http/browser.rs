//! The whole way: a model over HTTP, the agent, the log, and a browser over a connection; and a proxy that passes the bytes on.

use axum::{
    Router,
    body::Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::get,
    serve::ListenerExt as _,
};
use forgeline::server::{Service, router};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::{
    clients::{agent, bare_body, bare_client, provider},
    watch::{READ, WHOLE},
};
use crate::{
    Result,
    delivery::{begin, everyone},
};

/// A run of a service whose model and whose browser are at `address`.
pub(super) async fn served(address: &str, base_url: &str, count: usize) -> Result<()> {
    let agent = agent(provider(base_url)?)?;
    let app = router(Service::builder().identify(everyone).agent("bench", agent).build()?);
    let id = begin(&app).await?;
    read(address, app, &format!("v1/runs/{id}/events"), count).await
}

/// The floor: bytes of the model that go to the browser as they are.
pub(super) async fn proxy(address: &str, base_url: &str, count: usize) -> Result<()> {
    let state = (bare_client(base_url)?, base_url.to_owned());
    let app = Router::new().route("/proxied", get(pass_on)).with_state(state);
    read(address, app, "proxied", count).await
}

async fn pass_on(State((client, base_url)): State<(reqwest::Client, String)>) -> Response {
    match bare_body(&client, &base_url).await {
        Ok(body) => Response::new(Body::from_stream(body)),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

/// Serves on a connection to the browser, which says whether all came.
async fn read(address: &str, app: Router, path: &str, count: usize) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });
    let mut control = TcpStream::connect(address).await?;
    let head = format!("GET /{READ}/{count}/{port}/{path} HTTP/1.1\r\n\r\n");
    control.write_all(head.as_bytes()).await?;
    let mut told = String::new();
    control.read_to_string(&mut told).await?;
    serving.abort();
    match told.split_once("\r\n\r\n") {
        Some((_, WHOLE)) => Ok(()),
        told => Err(format!("the browser says: {told:?}").into()),
    }
}
