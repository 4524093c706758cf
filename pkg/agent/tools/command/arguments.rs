//! The allowed commands, and the paths that their arguments may name.

use std::{fmt, path::Component, path::Path};

use super::error::CommandToolError;
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

/// Checks that no argument names a path outside the root, a link, or a hidden file.
pub(super) fn confined(
    root: &FolderRoot,
    folder: &str,
    arguments: &[String],
) -> Result<(), ToolError> {
    for (at, argument) in arguments.iter().enumerate() {
        let value = argument.split_once('=').filter(|_| argument.starts_with('-'));
        let named = value.map_or(argument.as_str(), |(_, value)| value);
        let refused = |problem: &str| {
            Err(ToolError::invalid(format!("command[{}]", at + 1), problem.to_owned()))
        };
        let parts = || Path::new(named).components();
        let leads_up = |part| matches!(part, Component::ParentDir);
        let is_rooted = |part| matches!(part, Component::RootDir | Component::Prefix(_));
        if parts().any(leads_up) || parts().any(is_rooted) {
            return refused("must not be outside of the root; use a path below the folder");
        }
        if named.starts_with('-') {
            continue;
        }
        match root.is_shown(&format!("{folder}/{named}")) {
            Ok(true) => {}
            Ok(false) => return refused("is a link; links are not followed"),
            Err(_) => return refused("refers to a hidden file or one that may contain keys"),
        }
    }
    Ok(())
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
