//! The instructions of the project: `AGENTS.md` around the folder of the file tools, and `--no-project`.

use std::path::{Path, PathBuf};

use clap::Args;
use forgeline::agent::prompts::ProjectPrompt;

use crate::{
    exit::{UsageResult as _, note},
    render::escape_controls,
};

/// The project, as a flag.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectArgs {
    /// Ignore the project's instructions (AGENTS.md) and skills (.agents/skills), found from its root
    /// (the nearest folder with a .git) down to the folder of the file tools
    #[arg(long)]
    no_project: bool,
}

impl ProjectArgs {
    /// Returns `true` when instructions and skills of the project are taken.
    pub(crate) fn is_taken(&self) -> bool {
        !self.no_project
    }

    /// Returns the part of the system prompt about the project around `folder`, and says on stderr where it is taken
    /// from; `None` when the flag says so or there are no instructions. The files of a service are never instructions.
    ///
    /// # Errors
    ///
    /// A usage error when the folder cannot be read.
    pub(crate) fn find(
        &self,
        folder: &Path,
        own_files: Option<&[PathBuf]>,
        is_quiet: bool,
    ) -> anyhow::Result<Option<ProjectPrompt>> {
        if self.no_project {
            return Ok(None);
        }
        let unreadable =
            || format!("cannot read the folder {}; name another with --root", folder.display());
        let project = ProjectPrompt::around(folder).usage_context(unreadable)?;
        let project = project.withhold(own_files.unwrap_or_default().iter().cloned());
        let files = project.files().usage_context(unreadable)?;
        if files.is_empty() {
            return Ok(None);
        }
        if !is_quiet {
            let names: Vec<_> = files
                .iter()
                .filter(|file| file.problem.is_none())
                .map(|file| {
                    format!("{}{}", file.path, if file.is_cut { " (truncated)" } else { "" })
                })
                .collect();
            if !names.is_empty() {
                let (names, root) = (names.join(", "), project.root().display());
                let said = format!("project: {names} in {root}; --no-project ignores it");
                note(&escape_controls(&said));
            }
            for problem in files.iter().filter_map(|file| file.problem.as_deref()) {
                note(&escape_controls(&format!("project: left out: {problem}")));
            }
        }
        Ok(Some(project))
    }
}
