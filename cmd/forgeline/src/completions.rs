//! `forgeline completions`: what a shell needs to complete the command line.

use std::io::Write as _;

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::{args::Cli, exit::Exit, output::stdout};

/// `forgeline completions`
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to generate completions for
    shell: Shell,
}

/// Runs the command.
///
/// # Errors
///
/// When writing fails.
pub(crate) fn write(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    // Into memory first: the generator cannot fail where a reader has gone away.
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "forgeline", &mut script);
    let mut out = stdout(true);
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Done)
}
