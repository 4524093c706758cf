//! The tool `files.write`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    diff,
    made::Change,
    place::{self, Found, Place},
};
use crate::agent::tools::{ToolError, files::root::Root};
use crate::types::Preview;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Write {
    /// The file, relative to the root. Folders on the way are created.
    path: String,
    /// The whole text of the file.
    content: String,
}

impl Change for Write {
    const NAME: &'static str = "files.write";
    const ABOUT: &'static str =
        "Writes a text file, in place of what is there. To change a part of a file use files.edit.";

    fn preview(&self, root: &Root) -> Result<Preview, ToolError> {
        let path = &self.path;
        let before = match found(root, path)? {
            Found::Nothing => None,
            Found::Folder => {
                return Err(ToolError::failed(format!("`{path}` is a folder, not a file")));
            }
            Found::File(metadata) => {
                let Ok(text) = place::text(root, path) else {
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

    fn make(&self, root: &Root, _stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
        let place = Place::create(root, &self.path)?;
        let bytes = place.write(&mut self.content.as_bytes())?;
        Ok(format!("wrote {bytes} bytes to `{}`", self.path))
    }
}

/// Returns what exists at `path`; below a missing folder, nothing exists.
pub(super) fn found(root: &Root, path: &str) -> Result<Found, ToolError> {
    Place::find(root, path)?.map_or(Ok(Found::Nothing), |place| place.found())
}
