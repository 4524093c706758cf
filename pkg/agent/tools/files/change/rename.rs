//! The tool `files.move`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    copy::taken,
    made::Change,
    place::{Found, Place},
    remove::inside,
    write::found,
};
use crate::agent::tools::{ToolEffects, ToolError, files::root::Root};
use crate::types::Preview;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Move {
    /// The file or folder, relative to the root.
    from: String,
    /// Its new path, relative to the root, where nothing is. Folders on the way are created.
    to: String,
}

impl Move {
    /// Returns a description of the move.
    fn checked(&self, root: &Root) -> Result<String, ToolError> {
        let Self { from, to } = self;
        let words = match Place::open(root, from)?.found()? {
            Found::Nothing => return Err(ToolError::failed(format!("`{from}` is not there"))),
            Found::Folder => {
                format!("moves the folder `{from}` to `{to}`:\n{}", inside(root, from)?)
            }
            Found::File(metadata) => format!("moves `{from}` ({} bytes) to `{to}`", metadata.len()),
        };
        match found(root, to)? {
            Found::Nothing => Ok(words),
            Found::File(_) | Found::Folder => Err(taken(to)),
        }
    }
}

impl Change for Move {
    const NAME: &'static str = "files.move";
    const ABOUT: &'static str = "Moves or renames a file or a folder.";
    // A move can be undone.
    const EFFECTS: ToolEffects = ToolEffects::Writes;

    fn preview(&self, root: &Root) -> Result<Preview, ToolError> {
        self.checked(root).map(Preview::text)
    }

    fn make(&self, root: &Root, _stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
        self.checked(root)?;
        let from = Place::open(root, &self.from)?;
        from.rename(&Place::create(root, &self.to)?)?;
        Ok(format!("moved `{}` to `{}`", self.from, self.to))
    }
}
