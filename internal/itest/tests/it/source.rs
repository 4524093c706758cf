//! Reading the sources of this workspace.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// One source file.
pub(crate) struct Source {
    /// Path from the workspace root, with `/`.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

impl Source {
    /// The text before the unit tests at the end of the file; empty in a file of tests.
    pub(crate) fn code(&self) -> &str {
        self.split().0
    }

    /// The text of the tests.
    pub(crate) fn tests(&self) -> &str {
        self.split().1
    }

    fn split(&self) -> (&str, &str) {
        if self.path.contains("/tests/") || self.path.ends_with("/tests.rs") {
            return ("", &self.text);
        }
        let at = self.text.find("#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        self.text.split_at(at)
    }
}

/// The workspace root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text of one file, named from the workspace root.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust file under `folders`, in order of path.
pub(crate) fn rust_files(folders: &[&str]) -> Vec<Source> {
    let root = root();
    let mut paths = Vec::new();
    for folder in folders {
        walk(&root.join(folder), &mut paths);
    }
    paths.sort();
    let files: Vec<_> = paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| Source {
            text: fs::read_to_string(&path).unwrap(),
            path: path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/"),
        })
        .collect();
    assert!(!files.is_empty(), "no Rust files under {folders:?}");
    files
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// `text` without line comments, which are the only comments of this house.
pub(crate) fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    lines.collect::<Vec<_>>().join("\n")
}
