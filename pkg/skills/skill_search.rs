//! The search for skills in folders.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
};

use super::{
    frontmatter::{SkillFrontmatter, parse},
    skill::{Skill, SkillProblem},
};
use forgeline_agent::{
    private::{
        FolderRoot,
        file_text::{FileText, open_folder, read_whole},
    },
    tools::ToolError,
};
use forgeline_types::Text;

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";

/// Maximum size of a skill's file, in bytes.
pub(super) const MAX_FILE_BYTES: usize = 128 << 10;

/// Maximum number of skills.
const MAX_SKILLS: usize = 128;

/// Maximum number of entries examined in one folder of skills.
const MAX_ENTRIES: usize = 1_024;

/// A skill and the location of its files.
#[derive(Debug, Clone)]
pub(super) struct SkillEntry {
    pub(super) skill: Skill,
    pub(super) place: SkillPlace,
}

/// The location of a skill's files.
#[derive(Debug, Clone)]
pub(super) enum SkillPlace {
    /// A folder with the skill's name in this open folder of skills. It is opened again for each call.
    Below(FolderRoot),
    /// The open folder that a link led to when the skill was found.
    Linked(FolderRoot),
}

impl SkillEntry {
    /// Withholds files of the program itself from the folder, or from the folder of skills around it.
    pub(super) fn withhold(&mut self, files: &[PathBuf]) -> std::io::Result<()> {
        let (SkillPlace::Below(root) | SkillPlace::Linked(root)) = &mut self.place;
        root.withhold(files)
    }

    /// Opens the folder of the skill.
    pub(super) fn folder(&self) -> Result<FolderRoot, ToolError> {
        match &self.place {
            SkillPlace::Below(root) => root.below(&self.skill.name),
            SkillPlace::Linked(root) => Ok(root.clone()),
        }
    }
}

/// The skills found so far, by name, and the problems of those left out.
#[derive(Debug, Default)]
struct SkillSearch {
    found: BTreeMap<Text, SkillEntry>,
    problems: Vec<SkillProblem>,
}

/// Returns the skills in `folders`, sorted by name, and the problems of those left out.
pub(super) fn find<P: AsRef<Path>>(
    folders: impl IntoIterator<Item = P>,
) -> (Vec<SkillEntry>, Vec<SkillProblem>) {
    let (mut search, mut seen) = (SkillSearch::default(), HashSet::new());
    for folder in folders {
        let folder = folder.as_ref();
        if seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.to_owned())) {
            search.folder(folder);
        }
    }
    (search.found.into_values().collect(), search.problems)
}

impl SkillSearch {
    fn problem(&mut self, path: PathBuf, line: Option<usize>, problem: impl Into<String>) {
        self.problems.push(SkillProblem { path, line, problem: problem.into() });
    }

    /// Adds the skills in one folder.
    fn folder(&mut self, path: &Path) {
        let mut root = match open_folder(path) {
            Ok(root) => root,
            Err(error) => return self.problem(path.to_owned(), None, error.message.to_string()),
        };
        root.shows_hidden = false;
        for (name, is_link) in self.names(&root, path) {
            self.entry(&root, path, &name, is_link);
        }
    }

    /// Adds the skill in the folder `name`, or, if it is a group, the skills in the folders below it.
    fn entry(&mut self, root: &FolderRoot, path: &Path, name: &str, is_link: bool) {
        let group = path.join(name);
        let opened = if is_link { followed(&group) } else { below(root, name) };
        let Some((_, folder)) = opened.ok().filter(|(_, folder)| !is_skill(folder)) else {
            return self.skill(root, path, name, is_link);
        };
        let mut inner = self.names(&folder, &group);
        inner.retain(|(name, is_link)| {
            let opened = if *is_link { followed(&group.join(name)) } else { below(&folder, name) };
            opened.is_ok_and(|(_, folder)| is_skill(&folder))
        });
        if inner.is_empty() {
            return self.skill(root, path, name, is_link);
        }
        for (name, is_link) in inner {
            self.skill(&folder, &group, &name, is_link);
        }
    }

    /// Returns the names of the folders, and of the links to folders, in an open folder.
    fn names(&mut self, root: &FolderRoot, path: &Path) -> Vec<(String, bool)> {
        let entries = root.folder().and_then(|folder| folder.entries());
        let mut names = Vec::new();
        let Ok(entries) = entries else {
            self.problem(path.to_owned(), None, "it cannot be listed; check its rights");
            return names;
        };
        for (count, entry) in entries.flatten().enumerate() {
            if count == MAX_ENTRIES {
                let problem = format!("entries past the first {MAX_ENTRIES} are not looked at");
                self.problem(path.to_owned(), None, problem);
                break;
            }
            let name = entry.file_name();
            let kind = entry.file_type().ok();
            let is_link = kind.is_some_and(|kind| kind.is_symlink());
            // Files, and links to files, are skipped.
            let is_file = kind.is_some_and(|kind| kind.is_file())
                || is_link && path.join(&name).metadata().is_ok_and(|it| it.is_file());
            if is_file || name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            match name.into_string() {
                Ok(name) => names.push((name, is_link)),
                Err(name) => {
                    self.problem(path.join(name), None, "its name is not UTF-8; rename it");
                }
            }
        }
        names.sort_unstable();
        names
    }

    /// Adds the skill in the folder `name` below `root`, which is at `path`.
    fn skill(&mut self, root: &FolderRoot, path: &Path, name: &str, is_link: bool) {
        let folder = path.join(name);
        let opened = if is_link { followed(&folder) } else { below(root, name) };
        let frontmatter = match opened.and_then(|(place, root)| Ok((place, skill_file(&root)?))) {
            Ok((place, file)) => parse(name, &file).map(|(frontmatter, _)| (place, frontmatter)),
            Err(problem) => return self.problem(folder, None, problem),
        };
        let (place, frontmatter) = match frontmatter {
            Ok(found) => found,
            Err(fault) => {
                return self.problem(folder.join(FILE), Some(fault.line), fault.problem);
            }
        };
        let SkillFrontmatter { name, description, license, compatibility, metadata, allowed_tools } =
            frontmatter;
        if let Some(first) = self.found.get(&name) {
            let used = first.skill.folder.display();
            let problem = format!("it is not used: `{used}` has the same name and comes first");
            return self.problem(folder, None, problem);
        }
        if self.found.len() == MAX_SKILLS {
            let problem =
                format!("it is not used: there are {MAX_SKILLS} skills already; remove one");
            return self.problem(folder, None, problem);
        }
        let skill = Skill {
            name: name.clone(),
            description,
            license,
            compatibility,
            metadata,
            allowed_tools,
            folder,
        };
        self.found.insert(name, SkillEntry { skill, place });
    }
}

/// Returns `true` for a folder with a skill's file, good or bad.
fn is_skill(folder: &FolderRoot) -> bool {
    folder.folder().is_ok_and(|folder| folder.symlink_metadata(FILE).is_ok())
}

/// Opens the folder of a skill below the folder of skills.
fn below(root: &FolderRoot, name: &str) -> Result<(SkillPlace, FolderRoot), String> {
    let folder = root.below(name).map_err(|error| error.to_string())?;
    Ok((SkillPlace::Below(root.clone()), folder))
}

/// Opens the folder that a link leads to, as intended by the author of the link. Later reads stay
/// below the opened folder, wherever the link leads by then.
fn followed(link: &Path) -> Result<(SkillPlace, FolderRoot), String> {
    let mut folder = open_folder(link).map_err(|_| {
        "it is a link whose target is missing or not a folder; repair or remove it".to_owned()
    })?;
    folder.shows_hidden = false;
    Ok((SkillPlace::Linked(folder.clone()), folder))
}

/// Returns the text of the `SKILL.md` in the folder of a skill.
pub(super) fn skill_file(folder: &FolderRoot) -> Result<String, String> {
    match read_whole(folder, FILE, MAX_FILE_BYTES)? {
        None => Err(format!("it has no `{FILE}`; add one, or move the folder elsewhere")),
        Some(FileText { is_cut: true, .. }) => Err(format!(
            "its `{FILE}` is larger than {MAX_FILE_BYTES} bytes; move parts into files beside it"
        )),
        Some(FileText { text, .. }) => Ok(text),
    }
}
