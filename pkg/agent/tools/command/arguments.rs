//! The allowed commands, and the paths that their arguments may name.

use std::{fmt, path::Component, path::Path};

use super::{
    error::CommandToolError,
    operands::{self, ArgumentKind},
};
use crate::tools::{ToolError, files::root::FolderRoot};

/// The commands that may run, each by its first words.
#[derive(Clone)]
pub(super) struct AllowedCommands(Vec<Vec<String>>);

impl fmt::Debug for AllowedCommands {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words())
    }
}

impl AllowedCommands {
    pub(super) fn new(
        entries: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<Self, CommandToolError> {
        let mut allowed = Vec::new();
        for entry in entries {
            let entry = entry.as_ref();
            let words: Vec<_> = entry.split_whitespace().map(str::to_owned).collect();
            let is_name = |program: &String| {
                !program.contains(['/', '\\']) || Path::new(program).is_absolute()
            };
            if !words.first().is_some_and(is_name) {
                return Err(CommandToolError::InvalidEntry(entry.into()));
            }
            let is_shells = |(at, word): &(usize, &String)| needs_shell(word, *at == 0);
            if let Some((_, word)) = words.iter().enumerate().find(is_shells) {
                let (entry, word) = (entry.into(), word.as_str().into());
                return Err(CommandToolError::NeedsShell { entry, word });
            }
            allowed.push(words);
        }
        if allowed.is_empty() {
            return Err(CommandToolError::NothingAllowed);
        }
        Ok(Self(allowed))
    }

    /// Returns the program and its arguments if the command is allowed.
    pub(super) fn check<'c>(
        &self,
        command: &'c [String],
    ) -> Result<(&'c str, &'c [String]), ToolError> {
        let Some((program, arguments)) = command.split_first().filter(|it| !it.0.is_empty()) else {
            return Err(ToolError::invalid("command", "must begin with the name of a program"));
        };
        if self.0.iter().any(|words| command.starts_with(words)) {
            return Ok((program, arguments));
        }
        let (line, all) = (line(command), self.words());
        Err(ToolError::failed(format!("`{line}` is not allowed; the allowed commands are: {all}")))
    }

    /// Returns the entry that allows the command, if it specifies more than the program.
    pub(super) fn subcommand(&self, command: &[String]) -> Option<String> {
        let entry = self.0.iter().find(|words| words.len() > 1 && command.starts_with(words));
        entry.map(|words| words.join(" "))
    }

    pub(super) fn words(&self) -> String {
        let entries: Vec<_> = self.0.iter().map(|words| words.join(" ")).collect();
        entries.join(", ")
    }
}

/// Commands of a shell that are not programs.
const BUILT_IN: [&str; 12] = [
    "cd", "export", "source", "alias", "unset", "set", "eval", "exec", "ulimit", "umask", ".", ":",
];

/// Returns `true` for a word that means something to a shell alone: commands run without one, so that it would be an argument.
fn needs_shell(word: &str, is_program: bool) -> bool {
    let is_assignment = || {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    };
    word.contains(['|', ';', '&', '`', '<', '>', '"', '\''])
        || word.contains("$(")
        || is_program && (is_assignment() || BUILT_IN.contains(&word))
}

/// The place where a command runs, from which its arguments are read.
pub(super) struct CommandPlace<'a> {
    pub(super) root: &'a FolderRoot,
    /// The path of the root.
    pub(super) path: &'a Path,
    /// The folder in which the command runs, relative to the root.
    pub(super) folder: &'a str,
}

/// Checks that no argument names a path outside the root, a link, or a hidden file. Any other argument counts as a path if such a file
/// exists.
pub(super) fn confined(
    place: &CommandPlace<'_>,
    program: &str,
    arguments: &[String],
) -> Result<(), ToolError> {
    let kinds = operands::kinds(program, arguments);
    for (at, (argument, kind)) in arguments.iter().zip(kinds).enumerate() {
        if kind == ArgumentKind::Text {
            continue;
        }
        let value = argument.split_once('=').filter(|_| argument.starts_with('-'));
        let named = value.map_or(argument.as_str(), |(_, value)| value);
        let refused = |problem: &str| {
            Err(ToolError::invalid(format!("command[{}]", at + 1), problem.to_owned()))
        };
        let parts = || Path::new(named).components();
        let leads_up = |part| matches!(part, Component::ParentDir);
        let is_rooted = |part| matches!(part, Component::RootDir | Component::Prefix(_));
        if parts().any(leads_up) || parts().any(is_rooted) {
            let exists = || place.path.join(place.folder).join(named).symlink_metadata().is_ok();
            if kind == ArgumentKind::Path || exists() {
                return refused("must not be outside of the root; use a path below the folder");
            }
            continue;
        }
        if named.starts_with('-') || parts().all(is_harmless) {
            continue;
        }
        match place.root.is_shown(&format!("{}/{named}", place.folder)) {
            Ok(true) => {}
            Ok(false) => return refused("is a link; links are not followed"),
            Err(_) => return refused("refers to a hidden file or one that may contain keys"),
        }
    }
    Ok(())
}

/// Hidden files of a project in which no one keeps secrets.
const HARMLESS: [&str; 7] = [
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".gitkeep",
    ".editorconfig",
    ".dockerignore",
    ".github",
];

/// Returns `true` for a part of a path that names such a file.
fn is_harmless(part: Component<'_>) -> bool {
    matches!(part, Component::CurDir)
        || part.as_os_str().to_str().is_some_and(|name| HARMLESS.contains(&name))
}

/// Returns a command as it would be written for a shell.
pub(super) fn line(command: &[String]) -> String {
    let words: Vec<_> = command.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// Returns a word quoted so that a shell reads it unchanged.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "_-./:=@%+,".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
