//! The tool `files.write`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    diff,
    file_change::FileChange,
    folder_entry::{self, EntryKind, FolderEntry},
};
use crate::tools::{ToolError, files::root::FolderRoot};
use forgeline_types::Preview;

#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteArguments {
    /// The file, relative to the root. Folders on the way are created.
    path: String,
    /// The complete text of the file.
    content: String,
}

impl FileChange for WriteArguments {
    const NAME: &'static str = "files.write";
    const ABOUT: &'static str = "Writes a text file, replacing any existing file. To change a part of a file use files.edit.";

    fn preview(&self, root: &FolderRoot) -> Result<Preview, ToolError> {
        let path = &self.path;
        let before = match found(root, path)? {
            EntryKind::Nothing => None,
            EntryKind::Folder => {
                return Err(ToolError::failed(format!("`{path}` is a folder, not a file")));
            }
            EntryKind::File(metadata) => {
                let Ok(text) = folder_entry::text(root, path) else {
                    let (old, new) = (metadata.len(), self.content.len());
                    return Ok(Preview::text(format!(
                        "replaces `{path}`, {old} bytes that are not shown, by {new} bytes"
                    )));
                };
                Some(text)
            }
        };
        Ok(Preview::diff(diff::unified(path, before.as_deref(), &self.content)))
    }

    fn make(&self, root: &FolderRoot, _stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
        let place = FolderEntry::create(root, &self.path)?;
        let bytes = place.write(&mut self.content.as_bytes())?;
        Ok(format!("wrote {bytes} bytes to `{}`", self.path))
    }
}

/// Returns what exists at `path`; below a missing folder, nothing exists.
pub(super) fn found(root: &FolderRoot, path: &str) -> Result<EntryKind, ToolError> {
    FolderEntry::find(root, path)?.map_or(Ok(EntryKind::Nothing), |place| place.found())
}
