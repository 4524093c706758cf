//! The `forgeline` command as a library, so that tests can take the same path in process.

pub mod agent;
pub mod amount;
pub mod approve;
mod args;
pub mod batch;
pub mod bill;
pub mod chat;
mod completions;
mod context;
pub mod dialects;
mod environment;
pub mod exit;
mod files;
pub mod forms;
mod helpers;
pub mod hint;
mod image;
pub mod input;
pub mod interrupt;
pub mod kept;
mod mcp;
pub mod models;
pub mod output;
pub mod parse;
pub mod pipeline;
pub mod probe;
mod project;
mod prompt;
pub mod provider_choice;
pub mod question;
pub mod record;
pub mod render;
pub mod replay;
pub mod replay_recording;
pub mod run;
pub mod run_facts;
#[cfg(feature = "serve")]
mod serve;
mod setup;
pub mod show;
mod shown;
mod skills;
pub mod spinner;
pub mod terminal;
pub mod tools_file;
mod trace;
pub mod turn;
pub mod vendors;
pub mod writer;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, CliCommand};

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        CliCommand::Run(args) => run::run(args),
        CliCommand::Chat(args) => chat::chat(args),
        CliCommand::Replay(args) => replay::replay(args),
        CliCommand::Parse(args) => parse::parse(args),
        CliCommand::Dialects(args) => dialects::list(args),
        CliCommand::Models(args) => models::list(args),
        #[cfg(feature = "serve")]
        CliCommand::Serve(args) => serve::serve(args),
        #[cfg(feature = "serve")]
        CliCommand::Token(args) => serve::new_token(args),
        #[cfg(feature = "serve")]
        CliCommand::Erase(args) => serve::erase(args),
        CliCommand::Completions(args) => completions::write(args),
    };
    trace::finish();
    let (exit, message) = exit::conclude(result);
    if let Some(message) = message {
        exit::complain(&message);
    }
    exit.into()
}
