//! The tools for files and commands, as flags.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use forgeline::agent::tools::{CommandTool, FileTools, Tool};

use crate::exit::{UsageResult as _, usage};

/// The files that tools may read, as flags.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct FileArgs {
    /// The folder that the file tools may read [default: the current folder; with `serve`, there are no file tools
    /// unless a flag asks for them]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Let the file tools read hidden files and keys
    #[arg(long)]
    hidden: bool,
    /// Let the model change files below the folder; each change needs approval
    #[arg(long)]
    write: bool,
    /// Let the model run this command below the folder, such as "cargo test", without a shell; each run needs
    /// approval; may be given several times
    #[arg(long, value_name = "COMMAND")]
    allow_command: Vec<String>,
    /// Pass this environment variable to the commands, besides `PATH`, `HOME` and those that say where toolchains are; may be
    /// given several times
    #[arg(long, value_name = "NAME", requires = "allow_command", value_parser = variable)]
    pass_env: Vec<String>,
}

/// Reads the name of an environment variable.
fn variable(name: &str) -> Result<String, String> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    let expected = "expected the name of a variable, without its value";
    is_name.then(|| name.to_owned()).ok_or_else(|| expected.to_owned())
}

impl FileArgs {
    /// Returns the folder that the file tools would work in, and around which the project is.
    pub(crate) fn folder(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new("."))
    }

    /// Returns the tools that work below the folder; in a service, which has files of its own, they reach none of these.
    ///
    /// # Errors
    ///
    /// A usage error for a folder that cannot be read, or that has one of the service's files in it, and for a command that can
    /// never run.
    pub(crate) fn tools(
        &self,
        own_files: Option<&[PathBuf]>,
    ) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
        let asks = self.root.is_some() || self.write || !self.allow_command.is_empty();
        if own_files.is_some() && !asks {
            if self.hidden {
                return Err(usage("--hidden has no effect without file tools; add --root DIR"));
            }
            return Ok(Vec::new());
        }
        let folder = self.folder();
        let own_files = own_files.unwrap_or_default();
        let files =
            FileTools::new(folder).usage_context(|| "--root".to_owned())?.show_hidden(self.hidden);
        let files = files.withhold(own_files.to_vec()).usage_context(|| "--root".to_owned())?;
        let mut tools = if self.write { files.into_changing_tools() } else { files.into_tools() };
        if !self.allow_command.is_empty() {
            let commands = CommandTool::new(folder, &self.allow_command)
                .and_then(|tool| tool.withhold(own_files.to_vec()))
                .usage_context(|| "--allow-command".to_owned())?;
            let passed = self.pass_env.iter();
            let commands = passed.fold(commands, CommandTool::pass_variable);
            tools.push(Arc::new(commands.show_hidden(self.hidden)));
        }
        Ok(tools)
    }
}
