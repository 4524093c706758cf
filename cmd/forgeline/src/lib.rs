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

use crate::args::{Cli, Command};

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Chat(args) => chat::chat(args),
        Command::Replay(args) => replay::replay(args),
        Command::Parse(args) => parse::parse(args),
        Command::Dialects(args) => dialects::list(args),
        Command::Models(args) => models::list(args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::serve(args),
        #[cfg(feature = "serve")]
        Command::Token(args) => serve::new_token(args),
        #[cfg(feature = "serve")]
        Command::Erase(args) => serve::erase(args),
        Command::Completions(args) => completions::write(args),
    };
    trace::finish();
    let (exit, message) = exit::conclude(result);
    if let Some(message) = message {
        exit::complain(&message);
    }
    exit.into()
}
