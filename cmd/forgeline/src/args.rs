//! The command line.

use clap::{Parser, Subcommand};

use crate::{
    chat::ChatArgs, completions::CompletionsArgs, dialects::DialectsArgs, models::ModelsArgs,
    parse::ParseArgs, replay::ReplayArgs, run::RunArgs,
};

/// The exit statuses, for the help.
pub(crate) const EXIT_STATUS: &str = "Exit status: 0 on success; 1 if the run failed or ended without what was asked for \
    (refused, filtered, malformed, empty, invalid, cut, a limit without an answer); 2 for wrong usage or without a \
    provider; 130 if interrupted.";

/// Streams an agent's thinking, tool calls and answers as they are written.
#[derive(Debug, Parser)]
#[command(name = "forgeline", version, arg_required_else_help = true, after_help = EXIT_STATUS)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Ask once and stream the answer
    #[command(after_help = EXIT_STATUS)]
    Run(RunArgs),
    /// Chat with the agent
    Chat(ChatArgs),
    /// Decode a recorded provider response through the whole pipeline
    Replay(ReplayArgs),
    /// Parse the text a model wrote, from stdin, into thinking, message and tool calls
    Parse(ParseArgs),
    /// List the dialects in which models write thinking and tool calls as text
    Dialects(DialectsArgs),
    /// List the provider's models, with context window and price where known
    Models(ModelsArgs),
    /// Serve the agent over HTTP, to browsers and other programs
    #[cfg(feature = "serve")]
    Serve(Box<crate::serve::ServeArgs>),
    /// Create a token for `serve --tokens`; it is shown only once
    #[cfg(feature = "serve")]
    Token(crate::serve::TokenArgs),
    /// Erase a caller's data from a database of `serve`
    #[cfg(feature = "serve")]
    Erase(crate::serve::EraseArgs),
    /// Generate shell completions: `forgeline completions bash`
    Completions(CompletionsArgs),
}
