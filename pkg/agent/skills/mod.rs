//! Skills: instructions in folders, listed in the prompt and loaded when a task needs them.

mod fault;
mod find;
mod frontmatter;
mod load;
mod prompt;
mod skill;
#[cfg(test)]
mod tests;
mod yaml;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use self::find::{Found, find};
use self::load::load_skill;
pub use self::{
    prompt::SkillsPrompt,
    skill::{Skill, SkillProblem},
};
use super::{AgentBuilder, prompts::project::root_of, tools::Tool};

/// The skills in some folders, each a folder with a `SKILL.md` as the open format has it.
///
/// The file begins with fields in YAML: `name`, which is that of the folder, `description`, and, if wanted,
/// `license`, `compatibility`, `metadata` and `allowed-tools`. Below are the instructions. The model reads
/// names and descriptions in the prompt, and the rest by the tool `load_skill`; it reaches nothing outside the
/// skill's folder. A skill may be a link to its folder. A skill that cannot be used is left out, and [problems](Self::problems) says why.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{DefaultAgent, skills::Skills}, llm::demo::DemoProvider};
///
/// let skills = Skills::find(Skills::usual_folders("."));
/// for problem in skills.problems() {
///     eprintln!("skill left out: {problem}");
/// }
/// let agent = DefaultAgent::builder(DemoProvider::new()).skills(&skills).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Skills {
    /// Sorted by name.
    found: Arc<[Found]>,
    problems: Arc<[SkillProblem]>,
}

impl Skills {
    /// Finds the skills in folders, at most 128. Of two with one name, that of the earlier folder is used; a folder that
    /// is given twice counts once.
    ///
    /// It reads files, and so may wait for a disk.
    #[must_use]
    pub fn find<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> Self {
        let (found, problems) = find(folders);
        Self { found: found.into(), problems: problems.into() }
    }

    /// Returns the folders that people keep skills in, as far as they are there: `.agents/skills` in this folder, in
    /// those above it up to the root of its project, as [`ProjectPrompt::around`] finds that, then in the user's home.
    ///
    /// [`ProjectPrompt::around`]: crate::agent::prompts::ProjectPrompt::around
    #[must_use]
    pub fn usual_folders(folder: impl AsRef<Path>) -> Vec<PathBuf> {
        let folder = folder.as_ref();
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let root = root_of(&whole).unwrap_or(&whole);
        let own = whole.ancestors().take_while(|above| above.starts_with(root));
        let folders = own.map(in_folder).filter(|folder| folder.is_dir());
        folders.chain(Self::home_folder()).collect()
    }

    /// Returns the folder of skills in the user's home; `None` where it is not there.
    #[must_use]
    pub fn home_folder() -> Option<PathBuf> {
        std::env::home_dir().map(|home| in_folder(&home)).filter(|folder| folder.is_dir())
    }

    /// Returns the skills, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.found.iter().map(|found| &found.skill)
    }

    /// Returns `true` when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns what was left out, and why.
    #[must_use]
    pub fn problems(&self) -> &[SkillProblem] {
        &self.problems
    }

    /// Returns the part of the system prompt that lists the skills.
    #[must_use]
    pub fn prompt(&self) -> SkillsPrompt {
        SkillsPrompt::new(self.iter())
    }

    /// Returns the tool `load_skill`, which reads the instructions of a skill, or a file in its folder.
    ///
    /// It reads text of at most 128 KiB, follows no link, and shows neither hidden files nor keys.
    #[must_use]
    pub fn tool(&self) -> Arc<dyn Tool> {
        load_skill(self.found.clone())
    }
}

/// Returns the folder of skills in a folder.
fn in_folder(folder: &Path) -> PathBuf {
    folder.join(".agents").join("skills")
}

impl AgentBuilder {
    /// Adds skills: their list to the system prompt, and the tool `load_skill`. Adds nothing where there are none.
    #[must_use]
    pub fn skills(self, skills: &Skills) -> Self {
        if skills.is_empty() {
            return self;
        }
        self.system(skills.prompt()).tools([skills.tool()])
    }
}
