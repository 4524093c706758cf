//! `forgeline serve`: the agent over HTTP, for browsers and other programs.

mod accept;
mod agents;
mod callers;
mod config;
mod database;
mod demo;
mod erase;
mod files;
mod hangup;
mod listen;
mod log;
mod own_files;
mod refused;
mod token_file;
mod tokens;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use forgeline::server::{Service, router};
use tokio_util::sync::CancellationToken;

use self::{
    accept::OpenConnections,
    agents::ServedAgents,
    callers::ServedCallers,
    config::{OverridingFlags, ServeConfig},
    database::{DeltaMode, OpenDatabase, PostgresFlags},
    hangup::HangupSignal,
    listen::ListenAddress,
};
pub(crate) use self::{
    erase::{EraseArgs, erase},
    tokens::{TokenArgs, new_token},
};
use crate::{
    exit::{Exit, UsageResult as _, complain, note, usage},
    interrupt::InterruptHandler,
    setup::SetupArgs,
};

/// The time that runs have to come to their end once the service is to end.
const DRAIN: Duration = Duration::from_secs(20);

/// The time that connections have to end once there are no runs any more.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// `forgeline serve`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct ServeArgs {
    /// The address to listen on; port 0 picks a free port [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Read this TOML file: `listen`, `tokens`, `database`, `postgres`, `no_auth`, `database_megabytes`, `database_durability`, `deltas`, `dev`, `origins`, `[limits]`, `[keep]`, `[oidc]`, and a table `[agents.NAME]` for each agent, whose
    /// keys are the flags of an agent. Variables such as `FORGELINE_LISTEN` override it, and flags override both; the flags of
    /// an agent count where the file defines no agent
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Accept only the callers in this tokens file; `forgeline token` creates a token
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Let every program on this machine call without a token; otherwise, without a tokens file, a token is made at each start and
    /// printed in the console's address
    #[arg(long, conflicts_with = "tokens")]
    no_auth: bool,
    /// Store runs, their events and conversations in this `SQLite` file [default: in memory]
    #[arg(long, value_name = "FILE")]
    database: Option<PathBuf>,
    #[command(flatten)]
    postgres: PostgresFlags,
    /// The commit of pieces of answers in the database of `--postgres` [default: durable]
    #[arg(long, value_name = "MODE")]
    deltas: Option<DeltaMode>,
    /// Show latencies at `/dev/latency`
    #[arg(long)]
    dev: bool,
    /// Check the configuration, report every error, and exit with 0 or 1
    #[arg(long)]
    check: bool,
    /// The agent that answers
    #[command(flatten)]
    setup: SetupArgs,
    /// Print only warnings and errors
    #[arg(short, long)]
    quiet: bool,
}

impl ServeArgs {
    /// Reads the configuration, and what is wrong with it.
    fn config(&self) -> (ServeConfig, Vec<String>) {
        let above = OverridingFlags {
            config: self.config.as_deref(),
            listen: self.listen,
            tokens: self.tokens.as_deref(),
            database: self.database.as_deref(),
            postgres: self.postgres.clone(),
            deltas: self.deltas,
            is_dev: self.dev,
            is_open: self.no_auth,
        };
        ServeConfig::load(&above)
    }
}

/// Runs the command, until Ctrl-C or SIGTERM.
///
/// # Errors
///
/// Wrong flags or a wrong configuration, an agent that cannot be set up, a file that cannot be used, and an address at which it
/// cannot listen.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<Exit> {
    let interrupts = InterruptHandler::listen()?;
    let (config, mistakes) = args.config();
    if !args.quiet && !config.strangers.is_empty() {
        let names = config.strangers.join(", ");
        note(&format!(
            "unknown variables: {names}; docs/guide/service.md lists the variables of `serve`"
        ));
    }
    if args.check {
        return Ok(check(args, &config, mistakes));
    }
    if !mistakes.is_empty() {
        return Err(usage(mistakes.join("\n")));
    }
    log::start(args.quiet);
    files::allow_many();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let hangups = {
        let _context = runtime.enter();
        HangupSignal::listen()?
    };
    let at = agents::surroundings(&runtime, &interrupts, &config.own_files, args.quiet);
    let agents = ServedAgents::prepare(&args.setup, &config.agents, &at)?;
    let stop = interrupts.begin(false);
    let listening =
        ListenAddress::at(config.listen, config.tokens.is_some() || config.oidc.is_some())?;
    runtime.block_on(async {
        let database = OpenDatabase::open(&config.store).await?;
        let mut builder =
            Service::builder().stores(database.stores()).limits(config.limits).dev(config.is_dev);
        builder = builder.keep(config.keep).origins(config.origins);
        for (name, agent) in agents.built()? {
            builder = builder.agent(name, agent);
        }
        builder = database.described(agents.described(builder));
        if let Some(tokens) = config.tokens.clone() {
            tokio::spawn(tokens.follow(hangups));
        }
        let start_token = match (config.tokens, config.oidc) {
            (tokens, Some(oidc)) => {
                let oidc = callers::connect(oidc).await?;
                builder = builder.identify(ServedCallers::new(tokens, oidc));
                None
            }
            (Some(tokens), None) => {
                builder = builder.identify(tokens);
                None
            }
            (None, None) if config.is_open => None,
            (None, None) => {
                let (token, tokens) = tokens::start_token()?;
                builder = builder.identify(tokens);
                Some(token)
            }
        };
        let service = builder.build().usage_context(|| "cannot set up the service".to_owned())?;
        let recovered = service.recover().await;
        let advice = || "cannot recover the runs of the previous process".to_owned();
        tracing::info!(recovered = ?recovered.usage_context(advice)?, "recovery finished");
        let listener = listening.open().await?;
        listen::announce(listener.local_addr()?, start_token.as_deref())?;
        if !args.quiet && config.is_open {
            note("--no-auth: every program on this machine can connect, and all that a proxy passes on.");
        } else if !args.quiet && start_token.is_some() {
            note(
                "no tokens file: the address has a token for this start alone; other programs send it as `Authorization: Bearer TOKEN`",
            );
        }
        let connections = OpenConnections::default();
        let drained = CancellationToken::new();
        let accepting =
            connections.accept(listener, router(service.clone()), drained.cancelled());
        // Whoever watches the service learns from `/ready` that it ends, on connections that are accepted until then.
        let draining = async {
            stop.stopped().await;
            if !args.quiet {
                note("shutting down: runs have 20 s to finish; Ctrl-C stops at once");
            }
            service.shutdown(DRAIN).await;
            drained.cancel();
        };
        tokio::join!(accepting, draining);
        connections.end(LAST_WORDS).await;
        agents.close().await;
        database.close().await;
        anyhow::Ok(())
    })?;
    runtime.shutdown_background();
    Ok(Exit::Done)
}

/// Tells what is wrong with the configuration.
fn check(args: &ServeArgs, config: &ServeConfig, mut mistakes: Vec<String>) -> Exit {
    let told = |error: anyhow::Error| format!("{error:#}");
    if !config.has_agents {
        let of_agent = args.setup.mistakes(&config.own_files, agents::tools_of);
        mistakes.extend(of_agent.into_iter().map(told));
    }
    match look(config) {
        Ok(Some(line)) => note(&line),
        Ok(None) => {}
        Err(error) => mistakes.push(told(error)),
    }
    for mistake in &mistakes {
        complain(mistake);
    }
    if mistakes.is_empty() {
        note("the configuration is valid");
        return Exit::Done;
    }
    Exit::Failed
}

/// Looks at the login server and at the database, of which nothing is changed; returns a line about the database.
fn look(config: &ServeConfig) -> anyhow::Result<Option<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if let Some(oidc) = config.oidc.clone() {
            callers::connect(oidc).await?;
        }
        database::look(&config.store).await
    })
}
