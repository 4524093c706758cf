//! Files of the program itself, which no tool reaches.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

#[cfg(unix)]
use cap_fs_ext::MetadataExt as _;
use cap_std::fs::Metadata;

/// Maximum number of links followed on one path.
const MAX_LINKS: usize = 64;

/// Files that tools neither show nor change, by whatever name they are reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct WithheldFiles(Arc<[PathBuf]>);

impl WithheldFiles {
    /// Withholds files, which need not exist yet, from the tools of a root.
    ///
    /// # Errors
    ///
    /// Returns an error if a file, or a link on its path, is below the root: there, a tool could replace it.
    pub(crate) fn new(root: &Path, files: Vec<PathBuf>) -> io::Result<Self> {
        let root = root.canonicalize()?;
        for file in &files {
            let places = places(file)?;
            if places.iter().any(|place| *place != root && place.starts_with(&root)) {
                let (file, root) = (file.display(), root.display());
                let problem = format!(
                    "{file} is a file of this program, and is below the root {root} or reached through it; choose \
                     another root, or keep the file elsewhere"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
        }
        Ok(Self(files.into()))
    }

    /// Withholds files from a reader that no tool can lead elsewhere, wherever they are.
    pub(crate) fn anywhere(files: Vec<PathBuf>) -> Self {
        Self(files.into())
    }

    /// Returns `true` if a file that was found is one of them, under a name of its own.
    pub(crate) fn contains(&self, found: &Metadata) -> bool {
        self.0.iter().any(|file| is_same(file, found))
    }
}

/// Returns every place that opening a path passes, the targets of links included.
fn places(path: &Path) -> io::Result<Vec<PathBuf>> {
    let path = std::path::absolute(path)?;
    let (mut current, mut passed, mut links) = (PathBuf::new(), Vec::new(), 0);
    let mut left: VecDeque<OsString> = parts(&path);
    while let Some(part) = left.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                current.pop();
                continue;
            }
            Some(Component::CurDir) => continue,
            _ => current.push(&part),
        }
        passed.push(current.clone());
        let Ok(target) = current.read_link() else { continue };
        links += 1;
        if links > MAX_LINKS {
            let problem = format!("{} has too many links", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        current.pop();
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
    }
    Ok(passed)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components().map(|part| part.as_os_str().to_owned()).collect()
}

/// Returns `true` if the file at a path is the one that was found. A file is not opened for this: closing a file of `SQLite` drops its locks.
#[cfg(unix)]
fn is_same(file: &Path, found: &Metadata) -> bool {
    let own = file.metadata().map(Metadata::from_just_metadata);
    own.is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn is_same(_file: &Path, _found: &Metadata) -> bool {
    false
}
