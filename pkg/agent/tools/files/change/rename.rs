//! The tool `files.move`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    copy::taken,
    file_change::FileChange,
    folder_entry::{EntryKind, FolderEntry, found},
    remove::inside,
};
use crate::tools::{ToolEffects, ToolError, files::root::FolderRoot};
use forgeline_types::Preview;

#[derive(Deserialize, JsonSchema)]
pub(super) struct MoveArguments {
    /// The file or folder, relative to the root.
    from: String,
    /// Its new path, relative to the root, which must not exist. Folders on the way are created.
    to: String,
}

impl MoveArguments {
    /// Returns a description of the move.
    fn checked(&self, root: &FolderRoot) -> Result<String, ToolError> {
        let Self { from, to } = self;
        let words = match FolderEntry::open(root, from)?.found()? {
            EntryKind::Nothing => {
                return Err(ToolError::failed(format!("`{from}` does not exist")));
            }
            EntryKind::Folder => {
                format!("moves the folder `{from}` to `{to}`:\n{}", inside(root, from)?)
            }
            EntryKind::File(metadata) => {
                format!("moves `{from}` ({} bytes) to `{to}`", metadata.len())
            }
        };
        match found(root, to)? {
            EntryKind::Nothing => Ok(words),
            EntryKind::File(_) | EntryKind::Folder => Err(taken(to)),
        }
    }
}

impl FileChange for MoveArguments {
    const NAME: &'static str = "files.move";
    const ABOUT: &'static str = "Moves or renames a file or a folder.";
    // A move can be undone.
    const EFFECTS: ToolEffects = ToolEffects::Writes;

    fn paths(&self) -> Vec<&str> {
        vec![&self.from, &self.to]
    }

    fn preview(&self, root: &FolderRoot) -> Result<Preview, ToolError> {
        self.checked(root).map(Preview::text)
    }

    fn make(&self, root: &FolderRoot, _stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
        self.checked(root)?;
        let from = FolderEntry::open(root, &self.from)?;
        from.rename(&FolderEntry::create(root, &self.to)?)?;
        root.known.rename(&root.spelled(&self.from)?, &root.spelled(&self.to)?);
        Ok(format!("moved `{}` to `{}`", self.from, self.to))
    }
}
