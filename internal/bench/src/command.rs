//! The `forgeline` command, to be measured.

use std::process::ExitCode;

fn main() -> ExitCode {
    forgeline_cli::main()
}
