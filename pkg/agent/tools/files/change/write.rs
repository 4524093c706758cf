//! The tool `files.write`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    diff,
    file_change::FileChange,
    folder_entry::{self, EntryKind, FolderEntry},
    shown_state,
};
use crate::tools::{
    ToolError,
    files::{root::FolderRoot, text_form::FormedText},
};
use forgeline_types::Preview;

#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteArguments {
    /// The file, relative to the root. Folders on the way are created.
    path: String,
    /// The complete text of the file.
    content: String,
}

/// The bytes that a file will have, and how they come about.
struct FileContent {
    /// The text before; `None` if there is no file, or its text is not shown.
    before: Option<String>,
    after: String,
    bytes: Vec<u8>,
    /// The kept form of the file, for the model.
    kept: String,
}

impl WriteArguments {
    /// Returns the content in the form that the existing file has.
    fn content(&self, root: &FolderRoot, is_file: bool) -> Result<FileContent, ToolError> {
        let given = &self.content;
        let formed = is_file.then(|| folder_entry::text(root, &self.path)).transpose();
        let Some(FormedText { text, form }) = formed.unwrap_or_default() else {
            let (after, bytes) = (given.clone(), given.clone().into_bytes());
            return Ok(FileContent { before: None, after, bytes, kept: String::new() });
        };
        let after = form.with_ends(given);
        let bytes = form.bytes(&self.path, &after)?;
        let mixed = " (the line ends of the file were mixed, and are now as given)";
        let kept = if form.is_mixed() { mixed.to_owned() } else { form.kept(given) };
        Ok(FileContent { before: Some(text), after, bytes, kept })
    }
}

impl FileChange for WriteArguments {
    const NAME: &'static str = "files.write";
    const ABOUT: &'static str = "Writes a text file, replacing any existing file. To change a part of a file use files.edit.";

    fn paths(&self) -> Vec<&str> {
        vec![&self.path]
    }

    fn lost(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn preview(&self, root: &FolderRoot) -> Result<Preview, ToolError> {
        let path = &self.path;
        let replaced = match folder_entry::found(root, path)? {
            EntryKind::Nothing => None,
            EntryKind::Folder => {
                return Err(ToolError::failed(format!("`{path}` is a folder, not a file")));
            }
            EntryKind::File(metadata) => Some(metadata.len()),
        };
        let FileContent { before, after, bytes, .. } = self.content(root, replaced.is_some())?;
        let is_unread = shown_state::is_unread(root, path)?;
        if let (Some(old), None) = (replaced, &before) {
            let (new, note) =
                (bytes.len(), if is_unread { "; it was not read before" } else { "" });
            return Ok(Preview::text(format!(
                "replaces `{path}`, {old} bytes that are not shown, by {new} bytes{note}"
            )));
        }
        let note = format!("`{path}` is replaced, and was not read before\n");
        let diff = diff::unified(path, before.as_deref(), &after);
        Ok(Preview::diff(if is_unread { note + &diff } else { diff }))
    }

    fn make(&self, root: &FolderRoot, _stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
        let place = FolderEntry::create(root, &self.path)?;
        let is_unread = shown_state::is_unread(root, &self.path)?;
        let content = self.content(root, matches!(place.found()?, EntryKind::File(_)))?;
        let count = place.write(&mut content.bytes.as_slice())?;
        root.known.note(&root.spelled(&self.path)?, &content.bytes);
        let note = if is_unread { ", replacing a file that was not read" } else { "" };
        Ok(format!("wrote {count} bytes to `{}`{note}{}", self.path, content.kept))
    }
}
