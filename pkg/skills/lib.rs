//! Skills: instructions in folders, listed in the prompt and loaded when a task needs them.

mod frontmatter;
mod line_fault;
mod load_skill;
mod skill;
mod skill_search;
mod skills_prompt;
#[cfg(test)]
mod tests;
mod yaml_fields;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use self::load_skill::load_skill;
use self::skill_search::{SkillEntry, find};
pub use self::{
    skill::{Skill, SkillProblem},
    skills_prompt::SkillsPrompt,
};
use forgeline_agent::{
    private::root_of,
    prompts::{SkillSet, SystemPrompt},
    tools::Tool,
};

/// The skills in some folders, each a folder with a `SKILL.md` in the open format.
///
/// The file starts with YAML fields: `name`, which equals the name of the folder, `description` and, optionally, `license`,
/// `compatibility`, `metadata` and `allowed-tools`. The instructions follow. The model reads names and descriptions in the prompt, and the
/// rest with the tool `load_skill`, which reaches nothing outside the skill's folder. A skill may be a link to its folder. A skill that
/// cannot be used is left out, and [problems](Self::problems) reports why.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, skills::Skills}, llm::demo::DemoProvider};
///
/// let skills = Skills::find(Skills::usual_folders("."));
/// for problem in skills.problems() {
///     eprintln!("skill left out: {problem}");
/// }
/// let agent = Agent::builder(DemoProvider::new()).skills(&skills).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Skills {
    /// The skills, sorted by name.
    found: Arc<[SkillEntry]>,
    problems: Arc<[SkillProblem]>,
}

impl Skills {
    /// Finds the skills in `folders`, at most 128. Of two skills with the same name, the one in the
    /// earlier folder is used; a folder given twice counts once.
    ///
    /// Reads files, and so may block on the disk.
    #[must_use]
    pub fn find<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> Self {
        let (found, problems) = find(folders);
        Self { found: found.into(), problems: problems.into() }
    }

    /// Withholds files of the program itself, such as its configuration or its database: `load_skill` does not show them, not even through a hard link
    /// in the folder of a skill. They need not exist yet.
    ///
    /// # Errors
    ///
    /// Returns an error if one of them, or a link on its path, is below a folder in which skills were found, or below the folder that a linked skill
    /// leads to.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::agent::skills::Skills;
    ///
    /// let skills = Skills::find(["skills"]).withhold(["service.db".into()])?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn withhold(self, files: impl IntoIterator<Item = PathBuf>) -> io::Result<Self> {
        let files: Vec<_> = files.into_iter().collect();
        let mut found = self.found.to_vec();
        for entry in &mut found {
            entry.withhold(&files)?;
        }
        Ok(Self { found: found.into(), problems: self.problems })
    }

    /// Returns the usual folders of skills that exist: `.agents/skills` in `folder` and in its parents up to
    /// the root of its project, as found by [`ProjectPrompt::around`], then the one in the user's home.
    ///
    /// [`ProjectPrompt::around`]: forgeline_agent::prompts::ProjectPrompt::around
    #[must_use]
    pub fn usual_folders(folder: impl AsRef<Path>) -> Vec<PathBuf> {
        let folder = folder.as_ref();
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let root = root_of(&whole).unwrap_or(&whole);
        let own = whole.ancestors().take_while(|above| above.starts_with(root));
        let folders = own.map(in_folder).filter(|folder| folder.is_dir());
        folders.chain(Self::home_folder()).collect()
    }

    /// Returns the folder of skills in the user's home; `None` where it does not exist.
    #[must_use]
    pub fn home_folder() -> Option<PathBuf> {
        std::env::home_dir().map(|home| in_folder(&home)).filter(|folder| folder.is_dir())
    }

    /// Returns the skills, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.found.iter().map(|found| &found.skill)
    }

    /// Returns `true` when the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the problems of the skills and folders that were left out.
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
    /// The tool reads text of at most 128 KiB, follows no link, and shows neither hidden files nor keys.
    #[must_use]
    pub fn tool(&self) -> Arc<dyn Tool> {
        load_skill(self.found.clone())
    }
}

/// Returns the folder of skills in a folder.
fn in_folder(folder: &Path) -> PathBuf {
    folder.join(".agents").join("skills")
}

impl SkillSet for Skills {
    fn list(&self) -> Option<Arc<dyn SystemPrompt>> {
        (!self.is_empty()).then(|| Arc::new(self.prompt()) as Arc<dyn SystemPrompt>)
    }

    fn loaders(&self) -> Vec<Arc<dyn Tool>> {
        vec![self.tool()]
    }
}
