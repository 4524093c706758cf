//! A name in a folder below the root, which need not exist yet.

use std::{
    io::{self, Read as _, Write as _},
    sync::atomic::{AtomicU64, Ordering},
};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, FileType, Metadata, OpenOptions, Permissions};

use super::super::{
    root::{FolderRoot, OpenedPath},
    text_form::FormedText,
};
use crate::tools::ToolError;

/// Maximum size of a file that is written, copied or shown before it changes, in bytes.
pub(super) const MAX_BYTES: u64 = 8 << 20;

/// A name in an open folder. Operations act on this folder, whatever takes its place in the
/// meantime, and follow no link.
pub(super) struct FolderEntry<'n> {
    pub(super) root: FolderRoot,
    pub(super) folder: Dir,
    pub(super) last: &'n str,
    /// The complete path, for messages.
    pub(super) path: &'n str,
}

/// A file, a folder or nothing, at a place.
pub(super) enum EntryKind {
    Nothing,
    File(Metadata),
    Folder,
}

/// The counter for names of the files that are written beside those that they replace.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl<'n> FolderEntry<'n> {
    /// Opens the folders on the path `path`.
    pub(super) fn open(root: &FolderRoot, path: &'n str) -> Result<Self, ToolError> {
        let missing = || failed(path, "opened", &io::ErrorKind::NotFound.into());
        Self::find(root, path)?.ok_or_else(missing)
    }

    /// Opens the folders on the path `path`; returns `None` when one of them does not exist.
    pub(super) fn find(root: &FolderRoot, path: &'n str) -> Result<Option<Self>, ToolError> {
        match Self::on_the_way(root, path, false) {
            Err((_, error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err((what, error)) => Err(failed(path, what, &error)),
            Ok(place) => place.map(Some),
        }
    }

    /// Opens the folders on the path `path`, creating missing ones.
    pub(super) fn create(root: &FolderRoot, path: &'n str) -> Result<Self, ToolError> {
        Self::on_the_way(root, path, true).map_err(|(what, error)| failed(path, what, &error))?
    }

    fn on_the_way(
        root: &FolderRoot,
        path: &'n str,
        creates: bool,
    ) -> Result<Result<Self, ToolError>, (&'static str, io::Error)> {
        let mut parts = match root.parts(path) {
            Ok(parts) => parts,
            Err(error) => return Ok(Err(error)),
        };
        let Some(last) = parts.pop() else {
            let problem = "the root itself cannot be changed; give a path below it";
            return Ok(Err(ToolError::failed(problem)));
        };
        let mut folder = root.folder().map_err(|error| ("opened", error))?;
        for part in parts {
            let opened = match folder.open_dir_nofollow(part) {
                Err(error) if creates && error.kind() == io::ErrorKind::NotFound => {
                    folder.create_dir(part).map_err(|error| ("created", error))?;
                    folder.open_dir_nofollow(part)
                }
                opened => opened,
            };
            folder = opened.map_err(|error| ("opened", error))?;
        }
        Ok(Ok(Self { root: root.clone(), folder, last, path }))
    }

    /// Returns what exists at the place; a link or a device is an error.
    pub(super) fn found(&self) -> Result<EntryKind, ToolError> {
        let metadata = match self.folder.symlink_metadata(self.last) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(EntryKind::Nothing),
            Err(error) => return Err(failed(self.path, "opened", &error)),
        };
        self.root.check_withheld(self.path, &metadata)?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            return Ok(EntryKind::Folder);
        }
        if kind.is_file() {
            return Ok(EntryKind::File(metadata));
        }
        Err(refused(self.path, kind))
    }

    /// Writes a file with these bytes, replacing any existing file completely or not at all.
    pub(super) fn write(&self, bytes: &mut dyn io::Read) -> Result<u64, ToolError> {
        let permissions = match self.found()? {
            EntryKind::Nothing => None,
            EntryKind::File(metadata) => Some(metadata.permissions()),
            EntryKind::Folder => {
                return Err(ToolError::failed(format!("`{}` is a folder, not a file", self.path)));
            }
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let beside = format!(".forgeline-{}-{number}.tmp", std::process::id());
        let written = self.fill(&beside, bytes, permissions).and_then(|count| {
            // The name is replaced; a link is never followed.
            self.folder.rename(&beside, &self.folder, self.last).map(|()| count)
        });
        written.map_err(|error| {
            // A leftover temporary file does no harm.
            let _removed = self.folder.remove_file(&beside);
            failed(self.path, "written", &error)
        })
    }

    fn fill(
        &self,
        beside: &str,
        bytes: &mut dyn io::Read,
        permissions: Option<Permissions>,
    ) -> io::Result<u64> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        let mut file = self.folder.open_with(beside, &options)?;
        let count = io::copy(&mut bytes.take(MAX_BYTES + 1), &mut file)?;
        if count > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        file.flush()?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        Ok(count)
    }

    /// Moves the file or folder to another place, where nothing exists.
    pub(super) fn rename(&self, to: &FolderEntry<'_>) -> Result<(), ToolError> {
        let moved = self.folder.rename(self.last, &to.folder, to.last);
        moved.map_err(|error| failed(self.path, "moved", &error))
    }

    /// Removes the file at the place.
    pub(super) fn remove_file(&self) -> Result<(), ToolError> {
        let removed = self.folder.remove_file(self.last);
        removed.map_err(|error| failed(self.path, "removed", &error))
    }

    /// Removes the folder at the place with everything in it; links in it are removed, not followed.
    pub(super) fn remove_folder(&self, stop: &dyn Fn() -> bool) -> Result<(), ToolError> {
        empty(&self.folder, self.last, 0, stop)?
            .map_err(|error| failed(self.path, "removed", &error))
    }
}

/// Removes a folder; the outer error means that the work was stopped.
fn empty(
    parent: &Dir,
    name: &str,
    depth: usize,
    stop: &dyn Fn() -> bool,
) -> Result<io::Result<()>, ToolError> {
    if stop() {
        return Err(ToolError::Cancelled { abandoned: false });
    }
    if depth > super::super::root::MAX_DEPTH {
        return Err(ToolError::failed("the folder is too deep; remove what is inside first"));
    }
    let inside = || -> io::Result<Vec<(String, bool)>> {
        let folder = parent.open_dir_nofollow(name)?;
        let entry = |entry: io::Result<cap_std::fs::DirEntry>| {
            let entry = entry?;
            let name = entry.file_name().into_string();
            let name = name.map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))?;
            Ok((name, entry.file_type()?.is_dir()))
        };
        folder.entries()?.map(entry).collect()
    };
    let inside = match inside() {
        Ok(inside) => inside,
        Err(error) => return Ok(Err(error)),
    };
    let folder = match parent.open_dir_nofollow(name) {
        Ok(folder) => folder,
        Err(error) => return Ok(Err(error)),
    };
    for (name, is_folder) in inside {
        let removed = if is_folder {
            empty(&folder, &name, depth + 1, stop)?
        } else {
            folder.remove_file(&name)
        };
        if removed.is_err() {
            return Ok(removed);
        }
    }
    Ok(parent.remove_dir(name))
}

/// Returns what exists at `path`; below a missing folder, nothing exists.
pub(super) fn found(root: &FolderRoot, path: &str) -> Result<EntryKind, ToolError> {
    FolderEntry::find(root, path)?.map_or(Ok(EntryKind::Nothing), |place| place.found())
}

/// Returns the bytes of a regular file.
pub(super) fn bytes(root: &FolderRoot, path: &str) -> Result<Vec<u8>, ToolError> {
    let OpenedPath::File(file) = root.open(path)? else {
        return Err(ToolError::failed(format!("`{path}` is a folder, not a file")));
    };
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(path, "read", &error))?;
    if bytes.len() as u64 > MAX_BYTES {
        let problem = format!("`{path}` is larger than {MAX_BYTES} bytes; it is not changed");
        return Err(ToolError::failed(problem));
    }
    Ok(bytes)
}

/// Returns the text of a regular file, with its form.
pub(super) fn text(root: &FolderRoot, path: &str) -> Result<FormedText, ToolError> {
    let text = FormedText::read(&bytes(root, path)?, false);
    let refused = || ToolError::failed(format!("`{path}` is not text in UTF-8; it is not edited"));
    text.map(|(formed, _)| formed).ok_or_else(refused)
}

fn failed(path: &str, what: &str, error: &io::Error) -> ToolError {
    ToolError::failed(format!("`{path}` cannot be {what}: {}", error.kind()))
}

fn refused(path: &str, kind: FileType) -> ToolError {
    ToolError::failed(if kind.is_symlink() {
        format!("`{path}` is a link; links are not followed")
    } else {
        format!("`{path}` is not a regular file; it is not changed")
    })
}
