//! The tool `files.remove`.

use std::fmt::Write as _;

use cap_fs_ext::DirExt as _;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    diff,
    file_change::FileChange,
    folder_entry::{EntryKind, FolderEntry},
};
use crate::tools::{
    ToolError,
    files::root::{FolderRoot, MAX_DEPTH, MAX_FILES, OpenedPath, is_hidden},
};
use forgeline_types::Preview;

/// Maximum number of files named in a preview.
const MAX_NAMED: usize = 500;

#[derive(Deserialize, JsonSchema)]
pub(super) struct RemoveArguments {
    /// The file or folder, relative to the root.
    path: String,
    /// Removes a folder and its contents. Default: false.
    #[serde(default)]
    recursive: bool,
}

impl RemoveArguments {
    /// Returns what is removed, with a description.
    fn checked(&self, root: &FolderRoot) -> Result<(EntryKind, String), ToolError> {
        let path = &self.path;
        let found = FolderEntry::open(root, path)?.found()?;
        let words = match &found {
            EntryKind::Nothing => {
                return Err(ToolError::failed(format!("`{path}` does not exist")));
            }
            EntryKind::File(metadata) => format!("removes `{path}` ({} bytes)", metadata.len()),
            EntryKind::Folder if !self.recursive => {
                let problem = "must be true to remove a folder and its contents";
                return Err(ToolError::invalid("recursive", problem));
            }
            EntryKind::Folder => format!("removes the folder `{path}`:\n{}", inside(root, path)?),
        };
        Ok((found, words))
    }
}

impl FileChange for RemoveArguments {
    const NAME: &'static str = "files.remove";
    const ABOUT: &'static str = "Permanently removes a file, or a folder and its contents.";

    fn paths(&self) -> Vec<&str> {
        vec![&self.path]
    }

    fn lost(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn preview(&self, root: &FolderRoot) -> Result<Preview, ToolError> {
        self.checked(root).map(|(_, words)| Preview::text(words))
    }

    fn make(&self, root: &FolderRoot, stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
        let (found, _) = self.checked(root)?;
        let place = FolderEntry::open(root, &self.path)?;
        match found {
            EntryKind::Folder => place.remove_folder(stop)?,
            EntryKind::File(_) | EntryKind::Nothing => place.remove_file()?,
        }
        root.known.forget(&root.spelled(&self.path)?);
        Ok(format!("removed `{}`", self.path))
    }
}

/// Returns the files in a folder to be moved or removed, one per line.
///
/// # Errors
///
/// Returns an error when some files are not shown, or there are too many to examine.
pub(super) fn inside(root: &FolderRoot, path: &str) -> Result<String, ToolError> {
    let OpenedPath::Folder(folder) = root.open(path)? else {
        return Err(ToolError::failed(format!("`{path}` is not a folder")));
    };
    let (mut names, mut folders) = (Vec::new(), vec![(folder, format!("{path}/"), 0)]);
    while let Some((folder, prefix, depth)) = folders.pop() {
        let entries = folder.entries().map_err(|error| {
            ToolError::failed(format!("`{prefix}` cannot be read: {}", error.kind()))
        })?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            if name.is_empty() || !root.shows_hidden && is_hidden(name) {
                let problem = format!("`{path}` contains hidden files or keys; it is not changed");
                return Err(ToolError::failed(problem));
            }
            if names.len() >= MAX_FILES || depth > MAX_DEPTH {
                let problem = format!(
                    "`{path}` contains too many files, or files too deep; change its parts"
                );
                return Err(ToolError::failed(problem));
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match folder.open_dir_nofollow(name).ok().filter(|_| is_folder) {
                Some(inner) => folders.push((inner, format!("{prefix}{name}/"), depth + 1)),
                None => names
                    .push((format!("{prefix}{name}"), entry.metadata().map_or(0, |it| it.len()))),
            }
        }
    }
    names.sort_unstable();
    let mut out = String::new();
    for (name, bytes) in names.iter().take(MAX_NAMED) {
        // Writing to a string cannot fail.
        let _written = writeln!(out, "{name} ({bytes} bytes)");
    }
    if names.is_empty() {
        out.push_str("no files\n");
    } else if names.len() > MAX_NAMED {
        let _written = writeln!(out, "… and {} more files", names.len() - MAX_NAMED);
    }
    Ok(diff::bounded(out))
}
