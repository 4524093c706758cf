//! Skills: `--skills DIR`, and the folders in which people keep them.

use std::path::{Path, PathBuf};

use clap::Args;
use forgeline::agent::skills::Skills;

use crate::{
    exit::{UsageResult as _, note, usage},
    render::escape_controls,
};

/// The folders of skills, as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct SkillArgs {
    /// A folder of skills, searched before .agents/skills of the project (from the folder of the file tools up to its
    /// root) and of the home folder; may be given several times
    #[arg(long, value_name = "DIR")]
    skills: Vec<PathBuf>,
}

impl SkillArgs {
    /// Looks whether the folders are there.
    ///
    /// # Errors
    ///
    /// A usage error when one is not.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match self.skills.iter().find(|folder| !folder.is_dir()) {
            None => Ok(()),
            Some(folder) => {
                let folder = folder.display();
                Err(usage(format!("--skills {folder} is not a folder; name an existing one")))
            }
        }
    }

    /// Finds the skills of the flags, of the project around `folder`, if there is one, and at home, and says on stderr
    /// which there are and which are left out.
    ///
    /// # Errors
    ///
    /// A usage error when a folder of the flags does not exist, or when one with skills has files of the service.
    pub(crate) fn find(
        &self,
        folder: Option<&Path>,
        own_files: Option<&[PathBuf]>,
        is_quiet: bool,
    ) -> anyhow::Result<Skills> {
        self.check()?;
        let usual = || Skills::home_folder().into_iter().collect();
        let usual = folder.map_or_else(usual, Skills::usual_folders);
        let skills = Skills::find(self.skills.iter().cloned().chain(usual));
        let skills = skills
            .withhold(own_files.unwrap_or_default().iter().cloned())
            .usage_context(|| "skills".to_owned())?;
        if !is_quiet && !skills.is_empty() {
            let names: Vec<_> = skills.iter().map(|skill| skill.name.as_str()).collect();
            note(&escape_controls(&format!("skills: {}", names.join(", "))));
        }
        for problem in skills.problems().iter().filter(|_| !is_quiet) {
            note(&escape_controls(&format!("skill left out: {problem}")));
        }
        Ok(skills)
    }
}
