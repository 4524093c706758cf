//! The amount of text that `run` and `chat` write beside the answer.

use clap::Args;

/// `-q`, `-v` and `--trace`
#[derive(Debug, Clone, Copy, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line, one field each")]
pub struct AmountArgs {
    /// Say nothing beside the answer but warnings and errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Show calls and results whole, and each request
    #[arg(short, long)]
    verbose: bool,
    /// Show on stderr what is done inside, with times
    #[arg(long)]
    trace: bool,
}

impl AmountArgs {
    /// Returns `true` when only the answer is wanted.
    #[must_use]
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Returns `true` when everything is wanted.
    #[must_use]
    pub fn is_verbose(self) -> bool {
        self.verbose
    }

    /// Returns `true` when a trace is wanted.
    #[must_use]
    pub fn is_traced(self) -> bool {
        self.trace
    }
}
