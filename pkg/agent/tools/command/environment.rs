//! The environment variables of a command, and the search for its program.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::tools::process_group::{PASSED, TOOLCHAINS};

/// Variables that keep programs from asking a person, who could not answer.
const SET: [(&str, &str); 2] = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")];

/// The environment of commands: variables with their values, and variables whose values come from this process.
#[derive(Debug, Clone)]
pub(super) struct CommandEnvironment(BTreeMap<String, Option<String>>);

impl Default for CommandEnvironment {
    fn default() -> Self {
        let passed = PASSED.iter().chain(TOOLCHAINS).map(|name| ((*name).to_owned(), None));
        let set = SET.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
        Self(passed.chain(set).collect())
    }
}

impl CommandEnvironment {
    pub(super) fn pass(&mut self, name: String) {
        self.0.insert(name, None);
    }

    pub(super) fn set(&mut self, name: String, value: String) {
        self.0.insert(name, Some(value));
    }

    /// Returns the variables and their values.
    pub(super) fn variables(&self) -> Vec<(String, OsString)> {
        let value = |(name, value): (&String, &Option<String>)| {
            let value = value.as_ref().map(OsString::from).or_else(|| env::var_os(name))?;
            Some((name.clone(), value))
        };
        self.0.iter().filter_map(value).collect()
    }

    /// Returns the file of a program. Relative folders in `PATH` are ignored: a file in the working
    /// folder is not a program.
    pub(super) fn find(&self, program: &str) -> Option<PathBuf> {
        let path = Path::new(program);
        if path.is_absolute() {
            return path.is_file().then(|| path.to_owned());
        }
        let folders = self.variables().into_iter().find(|(name, _)| name == "PATH")?.1;
        let names = [program.to_owned(), format!("{program}{}", env::consts::EXE_SUFFIX)];
        env::split_paths(&folders)
            .filter(|folder| folder.is_absolute())
            .flat_map(|folder| names.clone().map(|name| folder.join(name)))
            .find(|file| is_program(file))
    }
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}
