//! Skills: `--skills DIR`, and the folders in which people keep them.

use std::path::{Path, PathBuf};

use clap::Args;
use forgeline::agent::skills::Skills;

use crate::{
    exit::{note, usage},
    render::escape_controls,
};

/// The folders of skills, as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct SkillArgs {
    /// A folder of skills, looked at before .agents/skills in the folder of the file tools and at home; may be given
    /// several times
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
                Err(usage(format!("--skills {folder} is not a folder; name one that is there")))
            }
        }
    }

    /// Finds the skills of the flags and of the project at `root`, and says on stderr which are left out.
    pub(crate) fn find(&self, root: &Path, is_quiet: bool) -> anyhow::Result<Skills> {
        self.check()?;
        let skills = Skills::find(self.skills.iter().cloned().chain(Skills::usual_folders(root)));
        for problem in skills.problems().iter().filter(|_| !is_quiet) {
            note(&escape_controls(&format!("skill left out: {problem}")));
        }
        Ok(skills)
    }
}
