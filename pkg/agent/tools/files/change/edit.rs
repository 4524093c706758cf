//! The tool `files.edit`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    diff,
    file_change::FileChange,
    folder_entry::{self, FolderEntry},
};
use crate::tools::{ToolError, files::root::FolderRoot};
use forgeline_types::Preview;

#[derive(Deserialize, JsonSchema)]
pub(super) struct EditArguments {
    /// The file, relative to the root.
    path: String,
    /// The text to replace, exactly as it occurs in the file.
    old: String,
    /// The replacement.
    new: String,
    /// The number of times that `old` occurs in the file; all are replaced. Default: 1.
    #[serde(default)]
    count: Option<usize>,
}

impl EditArguments {
    /// Returns the text of the file before and after the edit.
    fn texts(&self, root: &FolderRoot) -> Result<(String, String), ToolError> {
        if self.old.is_empty() {
            return Err(ToolError::invalid("old", "must not be empty"));
        }
        let before = folder_entry::text(root, &self.path)?;
        let (wanted, count) = (self.count.unwrap_or(1), before.matches(&self.old).count());
        if count == 0 {
            let problem = "does not occur in the file; read it and copy the text, including spaces \
                and line ends";
            return Err(ToolError::invalid("old", problem));
        }
        if count != wanted {
            let problem = format!(
                "occurs {count} times in the file, not {wanted}; give more of the text around it, \
                 or `count`: {count}"
            );
            return Err(ToolError::invalid("old", problem));
        }
        let after = before.replace(&self.old, &self.new);
        Ok((before, after))
    }
}

impl FileChange for EditArguments {
    const NAME: &'static str = "files.edit";
    const ABOUT: &'static str =
        "Replaces an exact text in a text file. It must occur exactly `count` times.";

    fn preview(&self, root: &FolderRoot) -> Result<Preview, ToolError> {
        let (before, after) = self.texts(root)?;
        Ok(Preview::diff(diff::unified(&self.path, Some(&before), &after)))
    }

    fn make(&self, root: &FolderRoot, _stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
        let place = FolderEntry::open(root, &self.path)?;
        let (_, after) = self.texts(root)?;
        place.write(&mut after.as_bytes())?;
        Ok(format!("replaced {} of `{}`", times(self.count.unwrap_or(1)), self.path))
    }
}

fn times(count: usize) -> String {
    if count == 1 { "1 place".to_owned() } else { format!("{count} places") }
}
