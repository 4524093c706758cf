//! The service with models that play scenes: what the user says first chooses one. The browser of the tests of the console
//! talks to it, and so can you: it prints its address.

#![expect(clippy::print_stdout, reason = "it says where it is")]

mod paced;
mod scenes;
mod tools;

use std::{env, error::Error, net::SocketAddr, time::Duration};

use forgeline::{
    agent::{Agent, Caller},
    server::{Service, Tokens, router},
};
use tokio::{net::TcpListener, signal};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let address: SocketAddr = arguments.next().unwrap_or_else(|| "127.0.0.1:0".into()).parse()?;
    let mut service = Service::builder()
        .dev(true)
        .agent("scenes", scenes::agent()?)
        .agent("second", Agent::builder(scenes::model()).build()?)
        .agent("written", scenes::written()?);
    if let Some(token) = arguments.next() {
        service = service.identify(Tokens::new().token(&token, Caller::new("ann").scope("team-a")));
    }
    let service = service.build()?;
    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    let app = router(service.clone()).into_make_service_with_connect_info::<SocketAddr>();
    tokio::select! {
        served = axum::serve(listener, app) => served?,
        stopped = signal::ctrl_c() => stopped?,
    }
    service.shutdown(Duration::ZERO).await;
    Ok(())
}
