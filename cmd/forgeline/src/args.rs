//! The command line.

use clap::{Parser, Subcommand};

use crate::{
    chat::ChatArgs, completions::CompletionsArgs, dialects::DialectsArgs, models::ModelsArgs,
    parse::ParseArgs, replay::ReplayArgs, run::RunArgs,
};

/// Streams an agent's work: thinking, tool calls and answers, as they are written.
#[derive(Debug, Parser)]
#[command(name = "forgeline", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask once and stream the answer
    Run(RunArgs),
    /// Talk with the agent
    Chat(ChatArgs),
    /// Decode a recorded provider response through the whole pipeline
    Replay(ReplayArgs),
    /// Read the text a model wrote from stdin: thinking, message, tool calls
    Parse(ParseArgs),
    /// List the dialects in which models write thinking and tool calls as text
    Dialects(DialectsArgs),
    /// List the models of the provider, with window and price where they are known
    Models(ModelsArgs),
    /// Serve the agent over HTTP, to browsers and other programs
    #[cfg(feature = "serve")]
    Serve(Box<crate::serve::ServeArgs>),
    /// Make a token for `serve --tokens`; it is shown once
    #[cfg(feature = "serve")]
    Token(crate::serve::TokenArgs),
    /// Erase what a caller has in a database of `serve`
    #[cfg(feature = "serve")]
    Erase(crate::serve::EraseArgs),
    /// Write completions for a shell: `forgeline completions bash`
    Completions(CompletionsArgs),
}
