//! `forgeline serve`: the agent over HTTP, for browsers and other programs.

mod accept;
mod agents;
mod demo;
mod listen;
mod log;

use std::{net::SocketAddr, time::Duration};

use clap::Args;
use forgeline::server::{Service, router};

use self::{accept::Connections, agents::Agents, listen::Listening};
use crate::{
    exit::{Exit, UsageResult as _, note},
    interrupt::Interrupts,
    setup::SetupArgs,
};

/// The time that runs have to come to their end once the service is to end.
const DRAIN: Duration = Duration::from_secs(20);

/// The time that connections have to end once there are no runs any more.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// `forgeline serve`
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where it listens; port 0 takes one that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// The agent that answers
    #[command(flatten)]
    setup: SetupArgs,
    /// Say nothing but warnings
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command, until Ctrl-C or SIGTERM.
///
/// # Errors
///
/// Wrong flags, an agent that cannot be set up, and an address at which it cannot listen.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<Exit> {
    let interrupts = Interrupts::listen()?;
    log::start(args.quiet);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let listening = Listening::at(args.listen, false)?;
    let agents = Agents::of(&args.setup, &runtime, &interrupts, args.quiet)?;
    let mut builder = Service::builder();
    for (name, agent) in agents.built()? {
        builder = builder.agent(name, agent);
    }
    let service = builder.build().usage_context(|| "the service cannot be set up".to_owned())?;
    let stop = interrupts.begin(false);
    runtime.block_on(async {
        let listener = listening.open().await?;
        listen::announce(listener.local_addr()?)?;
        if !args.quiet {
            note("There are no tokens: programs of this machine may ask, and no others.");
        }
        let connections = Connections::default();
        connections.accept(listener, router(service.clone()), stop.stopped()).await;
        if !args.quiet {
            note("ending: runs have 20 s to come to their end; Ctrl-C ends at once");
        }
        service.shutdown(DRAIN).await;
        connections.end(LAST_WORDS).await;
        agents.close().await;
        anyhow::Ok(())
    })?;
    runtime.shutdown_background();
    Ok(Exit::Done)
}
