//! A skill, and the problem of a skill that is not used.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use forgeline_types::Text;

/// A skill, as described by its frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skill {
    /// The name, which equals the name of the folder.
    pub name: Text,
    /// The description of the skill's purpose, at most 1,024 characters.
    pub description: String,
    /// The licence, if stated.
    pub license: Option<String>,
    /// The requirements of the skill, such as a program.
    pub compatibility: Option<String>,
    /// Additional metadata.
    pub metadata: BTreeMap<String, String>,
    /// The tools that the skill requests. Listing them grants nothing: a file does not decide permissions.
    pub allowed_tools: Vec<String>,
    /// The folder of the skill.
    pub folder: PathBuf,
}

/// A problem for which a skill, or a folder of skills, is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillProblem {
    /// The file or folder.
    pub path: PathBuf,
    /// The line in the file, counted from 1.
    pub line: Option<usize>,
    /// The description of the problem and its remedy.
    pub problem: String,
}

impl fmt::Display for SkillProblem {
    /// Writes path, line and problem, such as `skills/pdf/SKILL.md:3: …`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        write!(formatter, ": {}", self.problem)
    }
}

impl std::error::Error for SkillProblem {}
