//! The tool that reads a skill.

use std::{fmt::Write as _, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    frontmatter::parse,
    skill_search::{MAX_FILE_BYTES, SkillEntry, skill_file},
};
use forgeline_agent::{
    private::{
        blocking,
        file_text::{FileText, read_trimmed},
    },
    tools::{Tool, ToolContext, ToolEffects, ToolError, tool_fn},
};

/// The name of the tool.
pub(super) const LOAD_SKILL: &str = "load_skill";

/// Maximum number of a skill's files listed after its instructions.
const MAX_NAMED_FILES: usize = 60;

/// The arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
struct LoadArguments {
    /// The name of the skill, as it is listed.
    name: String,
    /// A file of the skill, such as `references/forms.md`. Without it, the instructions are read.
    path: Option<String>,
}

/// Returns the tool that reads these skills.
pub(super) fn load_skill(skills: Arc<[SkillEntry]>) -> Arc<dyn Tool> {
    let about = "Reads the instructions of a skill, or a file that belongs to it.";
    let tool = tool_fn(LOAD_SKILL, about, move |context: ToolContext, load: LoadArguments| {
        let skills = skills.clone();
        blocking(context, move |stop| read_skill(&skills, &load, stop))
    });
    Arc::new(tool.idempotent().effects(ToolEffects::Reads))
}

fn read_skill(
    skills: &[SkillEntry],
    load: &LoadArguments,
    stop: &dyn Fn() -> bool,
) -> Result<String, ToolError> {
    let Some(found) = skills.iter().find(|found| *found.skill.name == *load.name) else {
        let names: Vec<_> = skills.iter().map(|found| format!("`{}`", found.skill.name)).collect();
        let problem = format!("is not the name of a skill; the skills are: {}", names.join(", "));
        return Err(ToolError::invalid("name", problem));
    };
    match load.path.as_deref().filter(|path| !path.is_empty()) {
        Some(path) => resource(found, path),
        None => instructions(found, stop),
    }
}

/// Returns the instructions of a skill, and the names of its other files.
fn instructions(found: &SkillEntry, stop: &dyn Fn() -> bool) -> Result<String, ToolError> {
    let name = found.skill.name.as_str();
    let failed = |problem: String| ToolError::failed(format!("the skill `{name}`: {problem}"));
    let root = found.folder().map_err(|error| failed(error.to_string()))?;
    let text = skill_file(&root).map_err(failed)?;
    let (_, body) = parse(name, &text)
        .map_err(|fault| failed(format!("SKILL.md:{}: {}", fault.line, fault.problem)))?;
    let mut out = format!("# Skill: {name}\n\n{body}");
    let folder = root.folder().map_err(|error| failed(error.to_string()))?;
    let walk = root.walk("", folder, stop)?;
    let others: Vec<_> = walk.files.iter().filter(|file| file.name != "SKILL.md").collect();
    if others.is_empty() {
        return Ok(out);
    }
    let _written = write!(out, "\n\nFiles of this skill, for the argument `path`:\n");
    for file in others.iter().take(MAX_NAMED_FILES) {
        let _written = write!(out, "\n- {}", file.name);
    }
    if let Some(more) = others.len().checked_sub(MAX_NAMED_FILES).filter(|more| *more > 0) {
        let _written = write!(out, "\n- and {more} more");
    }
    Ok(out)
}

/// Returns the text of a file of a skill.
fn resource(found: &SkillEntry, path: &str) -> Result<String, ToolError> {
    let root = found.folder()?;
    // An invalid path is reported before the existence of the file.
    let _parts = root.parts(path)?;
    match read_trimmed(&root, path, MAX_FILE_BYTES).map_err(ToolError::failed)? {
        None => {
            let problem = "does not exist; load the skill without `path` to see its files";
            Err(ToolError::invalid("path", problem))
        }
        Some(FileText { text, is_cut: true }) => Ok(format!(
            "{text}\n\n[The rest is left out: a file of a skill is read up to {MAX_FILE_BYTES} bytes.]"
        )),
        Some(FileText { text, .. }) => Ok(text),
    }
}
