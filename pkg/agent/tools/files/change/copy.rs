//! The tool `files.copy`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    file_change::FileChange,
    folder_entry::{self, EntryKind, FolderEntry, found},
    shown_state,
};
use crate::tools::{ToolError, files::root::FolderRoot};
use forgeline_types::Preview;

#[derive(Deserialize, JsonSchema)]
pub(super) struct CopyArguments {
    /// The file, relative to the root.
    from: String,
    /// The copy, relative to the root. Folders on the way are created.
    to: String,
    /// Replaces an existing file. Default: false.
    #[serde(default)]
    overwrite: bool,
}

impl CopyArguments {
    /// Returns the bytes to copy, and whether a file will be replaced.
    fn checked(&self, root: &FolderRoot) -> Result<(Vec<u8>, bool), ToolError> {
        let bytes = folder_entry::bytes(root, &self.from)?;
        let replaces = match found(root, &self.to)? {
            EntryKind::Nothing => false,
            EntryKind::File(_) if self.overwrite => true,
            EntryKind::File(_) | EntryKind::Folder => return Err(taken(&self.to)),
        };
        Ok((bytes, replaces))
    }
}

/// Returns the error for a path that already exists.
pub(super) fn taken(path: &str) -> ToolError {
    ToolError::failed(format!("`{path}` already exists; choose another name"))
}

impl FileChange for CopyArguments {
    const NAME: &'static str = "files.copy";
    const ABOUT: &'static str = "Copies a file.";

    fn paths(&self) -> Vec<&str> {
        vec![&self.from, &self.to]
    }

    fn lost(&self) -> Option<&str> {
        self.overwrite.then_some(&self.to)
    }

    fn preview(&self, root: &FolderRoot) -> Result<Preview, ToolError> {
        let (bytes, replaces) = self.checked(root)?;
        let (Self { from, to, .. }, count) = (self, bytes.len());
        let note = match (replaces, shown_state::is_unread(root, to)?) {
            (false, _) => "",
            (true, false) => ", replacing the existing file",
            (true, true) => ", replacing the existing file, which was not read before",
        };
        Ok(Preview::text(format!("copies `{from}` ({count} bytes) to `{to}`{note}")))
    }

    fn make(&self, root: &FolderRoot, _stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
        let (bytes, _) = self.checked(root)?;
        let is_unread = shown_state::is_unread(root, &self.to)?;
        let count = FolderEntry::create(root, &self.to)?.write(&mut bytes.as_slice())?;
        let to = root.spelled(&self.to)?;
        if shown_state::is_known(root, &self.from)? {
            root.known.note(&to, &bytes);
        } else {
            root.known.forget(&to);
        }
        let note = if is_unread { ", replacing a file that was not read" } else { "" };
        Ok(format!("copied {count} bytes to `{}`{note}", self.to))
    }
}
