//! The tool `files.edit`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    diff,
    file_change::FileChange,
    folder_entry::{self, FolderEntry},
    matching, shown_state,
};
use crate::tools::{
    ToolError,
    files::{root::FolderRoot, text_form::FormedText},
};
use forgeline_types::Preview;

#[derive(Deserialize, JsonSchema)]
pub(super) struct EditArguments {
    /// The file, relative to the root.
    path: String,
    /// The text to replace, exactly as it occurs in the file; line ends may be LF in any file.
    old: String,
    /// The replacement.
    new: String,
    /// The number of times that `old` occurs in the file; all are replaced. Default: 1.
    #[serde(default)]
    count: Option<usize>,
}

impl EditArguments {
    /// Returns the file before the edit, and its text after it.
    fn texts(&self, root: &FolderRoot) -> Result<(FormedText, String), ToolError> {
        if self.old.is_empty() {
            return Err(ToolError::invalid("old", "must not be empty"));
        }
        if self.old != self.new && matching::with_lf(&self.old) == matching::with_lf(&self.new) {
            let problem =
                "differs from `old` in its line ends only, and those of the file are kept";
            return Err(ToolError::invalid("new", problem));
        }
        let before = folder_entry::text(root, &self.path)?;
        let wanted = self.count.unwrap_or(1);
        let (after, count) = matching::replace_all(&before.text, &self.old, &self.new);
        if count == 0 {
            let problem = "does not occur in the file; read it and copy the text, including spaces";
            return Err(ToolError::invalid("old", problem));
        }
        if count != wanted {
            let problem = format!(
                "occurs {count} times in the file, not {wanted}; give more of the text around it, \
                 or `count`: {count}"
            );
            return Err(ToolError::invalid("old", problem));
        }
        // What the encoding of the file does not have is refused before it is shown.
        before.form.bytes(&self.path, &after)?;
        Ok((before, after))
    }
}

impl FileChange for EditArguments {
    const NAME: &'static str = "files.edit";
    const ABOUT: &'static str =
        "Replaces an exact text in a text file. It must occur exactly `count` times.";

    fn paths(&self) -> Vec<&str> {
        vec![&self.path]
    }

    fn preview(&self, root: &FolderRoot) -> Result<Preview, ToolError> {
        let (before, after) = self.texts(root)?;
        Ok(Preview::diff(diff::unified(&self.path, Some(&before.text), &after)))
    }

    fn make(&self, root: &FolderRoot, _stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
        let place = FolderEntry::open(root, &self.path)?;
        let (before, after) = self.texts(root)?;
        let bytes = before.form.bytes(&self.path, &after)?;
        let was_known = shown_state::is_known(root, &self.path)?;
        place.write(&mut bytes.as_slice())?;
        if was_known {
            root.known.note(&root.spelled(&self.path)?, &bytes);
        }
        let kept = before.form.kept(&self.new);
        Ok(format!("replaced {} of `{}`{kept}", times(self.count.unwrap_or(1)), self.path))
    }
}

fn times(count: usize) -> String {
    if count == 1 { "1 place".to_owned() } else { format!("{count} places") }
}
