//! The part of the system prompt about the project.

use std::{path::PathBuf, sync::Arc};

use futures_core::future::BoxFuture;

use super::{
    PromptContext, SystemPrompt,
    file_text::{FileText, blocking, open_folder, read},
};
use crate::{
    agent::tools::files_root::Root,
    llm::parser::{Neutral, ThinkingDialect, ToolDialect},
    types::{AgentError, ErrorCode, Text},
};

/// The file with the instructions of a folder.
const INSTRUCTIONS: &str = "AGENTS.md";

/// Most bytes of the instructions of a project.
const MAX_INSTRUCTION_BYTES: usize = 32 << 10;

/// The part of the system prompt about the project: its name, its description, and the instructions in the
/// `AGENTS.md` files from its root down to the working folder.
///
/// The nearest file comes last, each below the path that it was taken from. All together have at most 32 KiB:
/// the nearest are taken first, and the text says what is left out. A file that cannot be used, such as one
/// that is not in UTF-8 or is a link, is left out, and the text says so. The files may be others' work: markers with
/// which models write calls, roles and reasoning are broken in them.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{DefaultAgent, prompts::ProjectPrompt}, llm::demo::DemoProvider};
///
/// let project = ProjectPrompt::new(".").name("shop").working_folder("server/orders");
/// let agent = DefaultAgent::builder(DemoProvider::new()).system(project).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ProjectPrompt {
    root: PathBuf,
    working_folder: String,
    name: Option<Text>,
    description: Option<String>,
    /// Breaks the markers of models in what the project's files say.
    neutral: Arc<Neutral>,
}

impl ProjectPrompt {
    /// Returns the part about the project at a root.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let (root, working_folder) = (root.into(), String::new());
        let neutral = Arc::new(Neutral::new(&ToolDialect::AUTO, &ThinkingDialect::AUTO));
        Self { root, working_folder, name: None, description: None, neutral }
    }

    /// Sets the folder that is worked in, as a path below the root. Default: the root.
    #[must_use]
    pub fn working_folder(mut self, path: impl Into<String>) -> Self {
        self.working_folder = path.into();
        self
    }

    /// Sets the name of the project. Default: none.
    #[must_use]
    pub fn name(mut self, name: impl Into<Text>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the description of the project. Default: none.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    fn text(&self) -> Result<String, AgentError> {
        let root = open_folder(&self.root)?;
        let instructions = self.instructions(&root)?;
        let name = self.name.as_ref().map(|name| format!("## Project: {name}"));
        let sections = name.into_iter().chain(self.description.clone()).chain(instructions);
        Ok(sections.collect::<Vec<_>>().join("\n\n"))
    }

    /// Returns the instructions, those of the root first.
    fn instructions(&self, root: &Root) -> Result<Vec<String>, AgentError> {
        let folders = root.parts(&self.working_folder).map_err(|_| {
            let folder = &self.working_folder;
            let message = format!(
                "the working folder `{folder}` is not below the project's root; name it relative to the root"
            );
            AgentError::new(ErrorCode::InvalidInput, message)
        })?;
        let mut names = vec![INSTRUCTIONS.to_owned()];
        let mut path = String::new();
        for folder in folders {
            path.push_str(folder);
            path.push('/');
            names.push(format!("{path}{INSTRUCTIONS}"));
        }
        let mut left = MAX_INSTRUCTION_BYTES;
        let told = names.iter().rev().filter_map(|name| section(root, name, &mut left));
        let mut sections: Vec<_> = told.map(|text| self.neutral.text(&text).into_owned()).collect();
        sections.reverse();
        Ok(sections)
    }
}

/// Returns the instructions in one file, of at most `left` bytes.
fn section(root: &Root, name: &str, left: &mut usize) -> Option<String> {
    let text = match read(root, name, *left) {
        Ok(None) => return None,
        Ok(Some(FileText { text, is_cut: false })) if text.is_empty() => return None,
        Ok(Some(FileText { text, is_cut })) => {
            *left = if is_cut { 0 } else { left.saturating_sub(text.len()) };
            let rest = "[The rest is left out: the instructions of a project have at most 32 KiB.]";
            if is_cut { format!("{text}\n\n{rest}").trim_start().to_owned() } else { text }
        }
        Err(problem) => {
            tracing::warn!(%problem, "instructions of the project are left out");
            format!("[Left out: {problem}.]")
        }
    };
    Some(format!("### Instructions from `{name}`\n\n{text}"))
}

impl SystemPrompt for ProjectPrompt {
    fn build(&self, _context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        let project = self.clone();
        Box::pin(blocking(move || project.text()))
    }
}
