//! The error of creating the command tool.

use std::{io, path::PathBuf};

use forgeline_types::Text;

/// An error in the configuration of a [`CommandTool`](crate::tools::CommandTool).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandToolError {
    /// The allow-list is empty.
    #[error(
        "the allow-list of `command.run` allows nothing; name the commands that may run, such as \
         `cargo test`, or omit the tool"
    )]
    NothingAllowed,
    /// An entry of the allow-list names no program.
    #[error("the entry {0:?} of the allow-list names no program; write it as `cargo` or `git log`")]
    InvalidEntry(Text),
    /// An entry of the allow-list can never run, as it needs a shell.
    #[error(
        "the entry {entry:?} of the allow-list can never run: {word:?} needs a shell, and commands run without one; allow the programs each by \
         itself, or a script that has the whole line"
    )]
    #[non_exhaustive]
    NeedsShell {
        /// The entry.
        entry: Text,
        /// The word that needs a shell.
        word: Text,
    },
    /// The root cannot be opened, or a file to withhold is below it.
    #[error(
        "the root `{}` of `command.run` cannot be used; it must be a folder that exists and may be read, without files to withhold",
        path.display()
    )]
    #[non_exhaustive]
    Root {
        /// The path of the root.
        path: PathBuf,
        /// The error of the system, or the file that is below the root.
        source: io::Error,
    },
}
