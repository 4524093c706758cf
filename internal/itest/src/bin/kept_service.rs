//! A service that may be killed at any moment: `kept_service FOLDER`. It goes on with what the folder has, and prints its address and what became of its runs. Each execution
//! of a tool is a line of the file `ran`.
#![expect(clippy::print_stdout, reason = "its output is what the test reads")]

use std::{error::Error, net::SocketAddr, path::PathBuf};

use forgeline::{
    agent::Agent,
    server::{Service, router},
    store::{SqliteStore, Stores},
    testing::ScriptedProvider,
};
use forgeline_itest::noting::{Noting, Slow, turn};
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("the folder is missing")?);
    let tool =
        |name, is_idempotent| Noting { name, is_idempotent, file: folder.join("ran").into() };
    let agent = Agent::builder(Slow(ScriptedProvider::from_fn(turn)))
        .tool(tool("once", false))
        .tool(tool("again", true))
        .build()?;
    let store = SqliteStore::open(folder.join("service.db")).await?;
    let service = Service::builder().agent("main", agent).stores(Stores::of(store)).build()?;
    let recovered = service.recover().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{} {recovered:?}", listener.local_addr()?);
    let app = router(service).into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, app).await?;
    Ok(())
}
