//! A skill, and a problem with one.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use crate::types::Text;

/// A skill: what its frontmatter says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skill {
    /// The name, which is that of the folder.
    pub name: Text,
    /// The text that says what the skill is for, at most 1,024 characters.
    pub description: String,
    /// The licence, where it is stated.
    pub license: Option<String>,
    /// The text that says what the skill needs, such as a program.
    pub compatibility: Option<String>,
    /// Further facts.
    pub metadata: BTreeMap<String, String>,
    /// The tools that the skill asks for. They are not allowed by that: who may do what is not said by a file.
    pub allowed_tools: Vec<String>,
    /// The folder.
    pub folder: PathBuf,
}

/// A problem because of which a skill, or a folder of skills, is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillProblem {
    /// The file or folder.
    pub path: PathBuf,
    /// The line in the file, counted from 1.
    pub line: Option<usize>,
    /// The text that says what is wrong and what to do.
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
