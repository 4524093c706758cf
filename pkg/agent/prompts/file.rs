//! The part of the system prompt that is read from a file.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use futures_core::future::BoxFuture;

use super::{
    PromptContext, SystemPrompt,
    file_text::{FileText, blocking, open_folder, read_trimmed},
};
use forgeline_types::{AgentError, ErrorCode};

/// Maximum size of the file, in bytes.
const MAX_FILE_BYTES: usize = 256 << 10;

/// The part of the system prompt that is read from a file for each run.
///
/// The file is UTF-8 text of at most 256 KiB. An empty file, one that is too large or not text, one
/// that cannot be opened, and a broken link each fail the run with a message that names the file.
/// So does a missing file, unless a fallback text is set.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, prompts::FilePrompt}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new())
///     .system(FilePrompt::new("prompts/system.md").or("You are a helpful assistant."))
///     .build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FilePrompt {
    path: PathBuf,
    fallback: Option<String>,
}

impl FilePrompt {
    /// Returns the part that reads the file at a path.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), fallback: None }
    }

    /// Sets the text used in place of a missing file. Default: none, the run fails.
    #[must_use]
    pub fn or(mut self, text: impl Into<String>) -> Self {
        self.fallback = Some(text.into());
        self
    }
}

impl SystemPrompt for FilePrompt {
    fn build(&self, _context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        let Self { path, fallback } = self.clone();
        Box::pin(blocking(move || {
            let shown = path.display();
            let failed = |problem: String| {
                let message = format!("the prompt file `{shown}` cannot be used: {problem}");
                AgentError::new(ErrorCode::InvalidInput, message)
            };
            match text(&path).map_err(failed)? {
                Some(FileText { is_cut: true, .. }) => Err(failed(format!(
                    "it is larger than {MAX_FILE_BYTES} bytes; shorten it, or give the rest by a tool"
                ))),
                Some(FileText { text, .. }) if text.is_empty() => Err(failed(
                    "it is empty; write the prompt into it, or remove the part".to_owned(),
                )),
                Some(FileText { text, .. }) => Ok(text),
                None => fallback.ok_or_else(|| {
                    failed("it does not exist; create it, or give a text instead".to_owned())
                }),
            }
        }))
    }
}

/// Returns the text at a path; `None` when there is nothing.
fn text(path: &Path) -> Result<Option<FileText>, String> {
    // Links in the application's path are followed; the file they lead to is opened without following any further link.
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    // A file that cannot be opened exists: a fallback text would hide that.
    let path = path.canonicalize().map_err(|error| {
        format!("it cannot be opened: {}; make it readable, or remove it", error.kind())
    })?;
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(folder), Some(name)) = (path.parent(), name) else {
        return Err("its name is not UTF-8; rename it".to_owned());
    };
    let root = open_folder(folder).map_err(|error| error.to_string())?;
    read_trimmed(&root, name, MAX_FILE_BYTES)
}
