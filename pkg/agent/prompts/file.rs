//! The part of the system prompt that is a file.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use futures_core::future::BoxFuture;

use super::{
    PromptContext, SystemPrompt,
    file_text::{FileText, blocking, open_folder, read},
};
use crate::types::{AgentError, ErrorCode};

/// The largest file that is a part of the system prompt, in bytes.
const MAX_FILE_BYTES: usize = 256 << 10;

/// The part of the system prompt that is a file, read for each run.
///
/// The file is text in UTF-8 of at most 256 KiB. One that is empty, too large or no text fails the run with a
/// message that names it, and so does one that cannot be opened, or a link to what is not there. So does one that is not
/// there, unless there is a text for that case.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{DefaultAgent, prompts::FilePrompt}, llm::demo::DemoProvider};
///
/// let agent = DefaultAgent::builder(DemoProvider::new())
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
    /// Returns the part that is the file at a path.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), fallback: None }
    }

    /// Sets the text that stands in for a file that is not there. Default: none, the run fails.
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
                    failed("it is not there; create it, or give a text in its place".to_owned())
                }),
            }
        }))
    }
}

/// Returns the text at a path; `None` when nothing is there.
fn text(path: &Path) -> Result<Option<FileText>, String> {
    // Links that the application names are followed; what they lead to is opened without following any.
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    // What cannot be opened is there: a text in its place would hide that.
    let path = path.canonicalize().map_err(|error| {
        format!("it cannot be opened: {}; make it readable, or remove it", error.kind())
    })?;
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(folder), Some(name)) = (path.parent(), name) else {
        return Err("its name is not UTF-8; rename it".to_owned());
    };
    let root = open_folder(folder).map_err(|error| error.to_string())?;
    read(&root, name, MAX_FILE_BYTES)
}
