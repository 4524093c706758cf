//! The part of the system prompt with a file for each tool.

use std::path::PathBuf;

use futures_core::future::BoxFuture;

use super::{
    PromptContext, SystemPrompt,
    file_text::{blocking, open_folder, read_trimmed},
};
use forgeline_types::{AgentError, ErrorCode, Text};

/// Maximum bytes of all tool files together.
const MAX_TOOL_FILES_BYTES: usize = 64 << 10;

/// The part of the system prompt with the file `tool-<name>.md` of each tool that the model is
/// offered, where the folder contains one.
///
/// The files of tools that a run finds later are added to the result of the search that finds them.
///
/// All files together are limited to 64 KiB, and so are those of one search. Links are not
/// followed. A tool whose name cannot be a file name (it contains a `/` or a `\\`) has no file.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, prompts::ToolFilesPrompt}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new())
///     .system(ToolFilesPrompt::new("prompts"))
///     .build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ToolFilesPrompt {
    folder: PathBuf,
}

impl ToolFilesPrompt {
    /// Returns the part with the files of this folder.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }
}

impl SystemPrompt for ToolFilesPrompt {
    fn build(&self, context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        let names: Vec<_> = context.tool_names().map(Text::from).collect();
        self.sections(names)
    }

    fn on_found(&self, names: &[Text]) -> Option<BoxFuture<'static, Result<String, AgentError>>> {
        Some(self.sections(names.to_vec()))
    }
}

impl ToolFilesPrompt {
    /// Returns the files of these tools, each under the name of its tool.
    fn sections(&self, names: Vec<Text>) -> BoxFuture<'static, Result<String, AgentError>> {
        let folder = self.folder.clone();
        Box::pin(blocking(move || {
            let root = open_folder(&folder)?;
            let failed = |problem: String| {
                let message = format!("in the folder `{}`: {problem}", folder.display());
                AgentError::new(ErrorCode::InvalidInput, message)
            };
            let mut sections = Vec::new();
            let mut left = MAX_TOOL_FILES_BYTES;
            for name in names.iter().filter(|name| !name.contains(['/', '\\', '\0'])) {
                let file = read_trimmed(&root, &format!("tool-{name}.md"), left).map_err(failed)?;
                let Some(file) = file else { continue };
                if file.is_cut {
                    return Err(failed(format!(
                        "with `tool-{name}.md`, the files about tools have more than \
                         {MAX_TOOL_FILES_BYTES} bytes; shorten them"
                    )));
                }
                left = left.saturating_sub(file.text.len());
                if !file.text.is_empty() {
                    sections.push(format!("## Tool: {name}\n\n{}", file.text));
                }
            }
            Ok(sections.join("\n\n"))
        }))
    }
}
