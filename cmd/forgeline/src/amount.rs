//! The amount of text that `run` and `chat` write beside the answer.

use clap::Args;

/// `-q`, `-v` and `--trace`
#[derive(Debug, Clone, Copy, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line, one field each")]
pub struct AmountArgs {
    /// Print only the answer, warnings and errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Show calls and results in full, and every request
    #[arg(short, long)]
    verbose: bool,
    /// Trace internal steps on stderr, with times
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
