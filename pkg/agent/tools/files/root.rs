//! The folder that file tools are confined to.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::agent::tools::ToolError;

/// The depth to which folders are walked.
const MAX_DEPTH: usize = 32;

/// Most files that a walk visits.
pub(super) const MAX_FILES: usize = 20_000;

/// A folder and what is below it.
#[derive(Debug)]
pub(super) struct Root {
    /// Free of symbolic links.
    path: PathBuf,
}

/// One file found by a walk.
#[derive(Debug)]
pub(super) struct Found {
    /// Relative to the root, with `/` between its parts.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

impl Root {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        if !path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "the root is not a folder"));
        }
        Ok(Self { path })
    }

    /// Returns the real path of `name`, when it lies below the root.
    pub(super) fn resolve(&self, name: &str) -> Result<PathBuf, ToolError> {
        let relative = Path::new(name);
        let leaves = relative.components().any(|part| {
            matches!(part, Component::ParentDir | Component::RootDir | Component::Prefix(_))
        });
        if leaves {
            return Err(ToolError::invalid(
                "path",
                "must be relative to the root and must not contain `..`",
            ));
        }
        let path = self.path.join(relative).canonicalize().map_err(|error| {
            ToolError::failed(format!("`{name}` cannot be opened: {}", error.kind()))
        })?;
        if !path.starts_with(&self.path) {
            return Err(ToolError::failed(format!(
                "`{name}` leads out of the root; it is refused"
            )));
        }
        Ok(path)
    }

    /// Returns every regular file below `folder`, sorted by name. Hidden entries, `target` folders
    /// and
    /// symbolic links are left out. The second value is `true` when there were more than allowed.
    pub(super) fn walk(
        &self,
        folder: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<(Vec<Found>, bool), ToolError> {
        let mut found = Vec::new();
        let mut folders = vec![(folder.to_owned(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            if stop() {
                return Err(ToolError::Cancelled { abandoned: false });
            }
            // A folder that vanished or cannot be read hides its files and nothing else.
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                if found.len() >= MAX_FILES {
                    return Ok((sorted(found), true));
                }
                let name = entry.file_name();
                let (Ok(kind), Some(name)) = (entry.file_type(), name.to_str()) else { continue };
                if name.starts_with('.') {
                    continue;
                }
                if kind.is_dir() && depth < MAX_DEPTH && name != "target" {
                    folders.push((entry.path(), depth + 1));
                } else if kind.is_file() {
                    found.extend(self.found(entry.path(), &entry));
                }
            }
        }
        Ok((sorted(found), false))
    }

    /// Returns the files that a search of `start` looks at: the file itself, or those below the
    /// folder.
    pub(super) fn files(
        &self,
        start: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Found>, ToolError> {
        if start.is_dir() {
            return Ok(self.walk(start, stop)?.0);
        }
        let name = start.strip_prefix(&self.path).ok().and_then(Path::to_str).unwrap_or_default();
        Ok(vec![Found { name: name.to_owned(), path: start.to_owned(), bytes: 0 }])
    }

    fn found(&self, path: PathBuf, entry: &fs::DirEntry) -> Option<Found> {
        let name = path.strip_prefix(&self.path).ok()?.to_str()?.replace('\\', "/");
        Some(Found { name, path, bytes: entry.metadata().ok()?.len() })
    }
}

fn sorted(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Returns the text of a file of at most `max_bytes`; `None` when it is binary or larger.
pub(super) fn text(path: &Path, max_bytes: u64) -> io::Result<Option<String>> {
    if fs::metadata(path)?.len() > max_bytes {
        return Ok(None);
    }
    let bytes = fs::read(path)?;
    if bytes.contains(&0) {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
