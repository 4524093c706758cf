//! The part of the system prompt about the project.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_core::future::BoxFuture;

use super::{
    PromptContext, SystemPrompt,
    file_text::{FileText, blocking, cannot_open, open_folder, read_trimmed},
};
use crate::tools::{WithheldFiles, files_root::FolderRoot};
use forgeline_parser::{ThinkingDialect, ToolDialect, private::MarkerEscaper};
use forgeline_types::{AgentError, ErrorCode, Text};

/// The name of the file with a folder's instructions.
const INSTRUCTIONS: &str = "AGENTS.md";

/// Maximum bytes of a project's instructions.
const MAX_INSTRUCTION_BYTES: usize = 32 << 10;

/// The name that marks the root of a project: the folder or file of its version history.
const ROOT_MARK: &str = ".git";

/// An instruction file of a project, as found by [`ProjectPrompt::files`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectFile {
    /// The path relative to the root of the project.
    pub path: Text,
    /// `true` when the prompt takes only the beginning of the file.
    pub is_cut: bool,
    /// The reason why the file is not used; `None` when it is used.
    pub problem: Option<String>,
}

/// The part of the system prompt about the project: its name, its description, and the instructions
/// in the `AGENTS.md` files from its root down to the working folder.
///
/// The nearest file comes last; each file is preceded by its path. All files together are limited to 32 KiB:
/// the nearest are taken first, and the text states what is left out. A file that cannot be used, such as one
/// that is not UTF-8 or is a link out of the project, is left out, and the text says so. Others may have written the files:
/// markers with which models write calls, roles and reasoning are broken in them.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, prompts::ProjectPrompt}, llm::demo::DemoProvider};
///
/// let project = ProjectPrompt::new(".").name("shop").working_folder("server/orders");
/// let agent = Agent::builder(DemoProvider::new()).system(project).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ProjectPrompt {
    root: PathBuf,
    working_folder: String,
    name: Option<Text>,
    description: Option<String>,
    /// The filter that breaks the markers of models in the project's files.
    neutral: Arc<MarkerEscaper>,
    withheld: WithheldFiles,
}

impl ProjectPrompt {
    /// Returns the part about the project with this root.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let (root, working_folder) = (root.into(), String::new());
        let neutral = Arc::new(MarkerEscaper::new(&ToolDialect::AUTO, &ThinkingDialect::AUTO));
        let withheld = WithheldFiles::default();
        Self { root, working_folder, name: None, description: None, neutral, withheld }
    }

    /// Returns the part about the project that a folder belongs to. Its root is the nearest folder, from this
    /// one upwards, that contains a `.git`, or else the folder itself. The folder is also the working folder.
    ///
    /// Parent folders count only as long as they belong to the same user (on Unix), so that another
    /// user cannot put instructions above a folder of yours. The folders are examined immediately.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::InvalidInput`] when the folder cannot be opened.
    pub fn around(folder: impl AsRef<Path>) -> Result<Self, AgentError> {
        let folder = folder.as_ref();
        let whole = folder.canonicalize().map_err(|error| cannot_open(folder, &error))?;
        let Some((root, below)) = root_above(&whole) else { return Ok(Self::new(whole)) };
        Ok(Self::new(root).working_folder(below))
    }

    /// Returns the root of the project.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the instruction files that currently exist, those of the root first. Each run reads them again.
    ///
    /// Reads files: call it where blocking is acceptable.
    ///
    /// # Errors
    ///
    /// The same as in a run: [`ErrorCode::InvalidInput`] when the root cannot be opened, or the
    /// working folder is not below it.
    pub fn files(&self) -> Result<Vec<ProjectFile>, AgentError> {
        let sections = self.sections(&self.open()?)?;
        Ok(sections.into_iter().map(|section| section.file).collect())
    }

    /// Withholds files of the program itself, such as its configuration or its database: an instruction file that is one of them
    /// under another name, as a hard link is, is left out. They need not exist yet.
    #[must_use]
    pub fn withhold(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        self.withheld = WithheldFiles::anywhere(files.into_iter().collect());
        self
    }

    fn open(&self) -> Result<FolderRoot, AgentError> {
        let mut root = open_folder(&self.root)?;
        root.withheld = self.withheld.clone();
        Ok(root)
    }

    forgeline_types::setters! {
        ProjectPrompt:
        /// Sets the working folder, as a path relative to the root. Default: the root.
        working_folder(into String),
        /// Sets the name of the project. Default: none.
        name(some into Text),
        /// Sets the description of the project. Default: none.
        description(some into String),
    }

    fn text(&self) -> Result<String, AgentError> {
        let root = self.open()?;
        let instructions = self.instructions(&root)?;
        let name = self.name.as_ref().map(|name| format!("## Project: {name}"));
        let sections = name.into_iter().chain(self.description.clone()).chain(instructions);
        Ok(sections.collect::<Vec<_>>().join("\n\n"))
    }

    /// Returns the instructions, those of the root first.
    fn instructions(&self, root: &FolderRoot) -> Result<Vec<String>, AgentError> {
        let sections = self.sections(root)?;
        Ok(sections.iter().map(|it| self.neutral.text(&it.text()).into_owned()).collect())
    }

    /// Returns the files and the text taken from each, those of the root first.
    fn sections(&self, root: &FolderRoot) -> Result<Vec<InstructionSection>, AgentError> {
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
        let mut sections: Vec<_> = told.collect();
        sections.reverse();
        Ok(sections)
    }
}

/// An instruction file, and the text taken from it.
struct InstructionSection {
    file: ProjectFile,
    text: String,
}

impl InstructionSection {
    fn text(&self) -> String {
        let (name, text) = (&self.file.path, &self.text);
        let text = match &self.file.problem {
            Some(problem) => format!("[Left out: {problem}.]"),
            None if self.file.is_cut => {
                let rest =
                    "[The rest is left out: the instructions of a project have at most 32 KiB.]";
                format!("{text}\n\n{rest}").trim_start().to_owned()
            }
            None => text.clone(),
        };
        format!("### Instructions from `{name}`\n\n{text}")
    }
}

/// Returns the instructions in one file, at most `left` bytes.
fn section(root: &FolderRoot, name: &str, left: &mut usize) -> Option<InstructionSection> {
    let mut file = ProjectFile { path: name.into(), is_cut: false, problem: None };
    let text = match read_trimmed(root, name, *left) {
        Ok(None) => return None,
        Ok(Some(FileText { text, is_cut: false })) if text.is_empty() => return None,
        Ok(Some(FileText { text, is_cut })) => {
            *left = if is_cut { 0 } else { left.saturating_sub(text.len()) };
            file.is_cut = is_cut;
            text
        }
        Err(problem) => {
            tracing::warn!(%problem, "instructions of the project are left out");
            file.problem = Some(problem);
            String::new()
        }
    };
    Some(InstructionSection { file, text })
}

/// Returns the root of the project that a canonical path belongs to.
pub fn root_of(folder: &Path) -> Option<&Path> {
    let owner = owner(folder)?;
    let mut own = folder.ancestors().take_while(|above| self::owner(above) == Some(owner));
    own.find(|above| above.join(ROOT_MARK).symlink_metadata().is_ok())
}

/// Returns the root of the project, and the path relative to it.
fn root_above(folder: &Path) -> Option<(PathBuf, String)> {
    let root = root_of(folder)?;
    let below = folder.strip_prefix(root).ok()?;
    let names: Option<Vec<_>> = below.iter().map(|name| name.to_str()).collect();
    Some((root.to_owned(), names?.join("/")))
}

/// Returns the owner of a folder; the same value for all folders where the system does not report one.
fn owner(folder: &Path) -> Option<u32> {
    let facts = folder.metadata().ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some(facts.uid())
    }
    #[cfg(not(unix))]
    Some(u32::from(facts.is_dir()))
}

impl SystemPrompt for ProjectPrompt {
    fn build(&self, _context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        let project = self.clone();
        Box::pin(blocking(move || project.text()))
    }
}
