//! The trait of changes.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::tools::{ToolEffects, ToolError, files::root::FolderRoot};
use forgeline_types::Preview;

/// A change of files.
pub(super) trait FileChange: DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The tool's name.
    const NAME: &'static str;
    /// The description for the model.
    const ABOUT: &'static str;
    /// The effects; text that was overwritten or removed cannot be restored.
    const EFFECTS: ToolEffects = ToolEffects::Irreversible;

    /// Returns the paths whose state the change depends on.
    fn paths(&self) -> Vec<&str>;

    /// Returns the path of the file whose content is lost, or of the folder that is lost with its files.
    fn lost(&self) -> Option<&str> {
        None
    }

    /// Returns what the change will do, without doing it.
    ///
    /// # Errors
    ///
    /// Returns an error when the change is currently not possible.
    fn preview(&self, root: &FolderRoot) -> Result<Preview, ToolError>;

    /// Makes the change.
    ///
    /// # Errors
    ///
    /// Returns an error when the change is not possible, or `stop` returned `true`.
    fn make(&self, root: &FolderRoot, stop: &dyn Fn() -> bool) -> Result<String, ToolError>;
}
