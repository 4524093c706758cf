//! A tool that runs commands.

mod arguments;
mod environment;
mod error;
mod operands;
mod output;
mod running_command;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub use self::error::CommandToolError;
use self::{
    arguments::{AllowedCommands, CommandPlace},
    environment::CommandEnvironment,
    running_command::RunningCommand,
};
use super::{
    PreviewFuture, Tool, ToolContext, ToolEffects, ToolError, ToolFuture, ToolOutput,
    files::{
        WithheldFiles,
        root::{FolderRoot, OpenedPath},
    },
    typed,
};
use forgeline_llm::private::schema_of;
use forgeline_types::{Json, Preview, TextOrigin, debug_fields};

/// The tool `command.run`: it runs a program with arguments, without a shell, below a folder.
///
/// Only commands of the allow-list run. They see a few environment variables, and have neither input nor a terminal: a program that would ask there
/// fails. Their output is sent in events as they write it, and the
/// result contains its beginning and its end. A command is the leader of a process group: when it times out, is cancelled, or ends, the rest of the group
/// is killed.
///
/// An argument that names a place outside the root, a link or a hidden file is refused, unless [`free_arguments`](Self::free_arguments) is set. An argument
/// is taken as a path if such a file exists, or if the program is one whose operands name files, as those of `cp` do; the pattern of `grep`, the script
/// of `sed` and the message of `git commit` are text. This keeps
/// well-meant calls inside the root; it does not confine the program: allowing `sh`, `python` or `find` allows everything that they can do.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, tools::CommandTool}, llm::demo::DemoProvider};
///
/// let commands = CommandTool::new(std::env::temp_dir(), ["cargo test", "git log"])?;
/// let agent = Agent::builder(DemoProvider::new()).tool(commands).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CommandTool {
    root: FolderRoot,
    /// The path of the root.
    path: PathBuf,
    allowed: AllowedCommands,
    environment: CommandEnvironment,
    timeout: Duration,
    max_output_bytes: usize,
    free_arguments: bool,
}

#[derive(Deserialize, JsonSchema)]
struct CommandArguments {
    /// The program and its arguments, each a separate item; no shell is involved.
    command: Vec<String>,
    /// The folder to run it in, relative to the root. Default: the root.
    #[serde(default)]
    path: Option<String>,
}

impl CommandTool {
    /// Returns a tool that runs commands of this allow-list below `root`. An entry is a program, or a program with the arguments that its command must
    /// begin with, such as `git log`.
    ///
    /// # Errors
    ///
    /// Returns an error if the list is empty, an entry names no program or needs a shell, or `root` is not a folder that can be opened.
    pub fn new(
        root: impl AsRef<Path>,
        allowed: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<Self, CommandToolError> {
        let allowed = AllowedCommands::new(allowed)?;
        let path = root.as_ref();
        let unusable = |source| CommandToolError::Root { path: path.to_owned(), source };
        Ok(Self {
            allowed,
            root: FolderRoot::new(path).map_err(unusable)?,
            path: path.canonicalize().map_err(unusable)?,
            environment: CommandEnvironment::default(),
            timeout: Duration::from_mins(2),
            max_output_bytes: 64 << 10,
            free_arguments: false,
        })
    }

    /// Sets the maximum duration of a command. Default: 2 minutes, which [`AgentConfig::tool_timeout`](crate::config::AgentConfig::tool_timeout) may
    /// shorten.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the origin of the output of commands: [`TextOrigin::Outside`] if the list allows commands that fetch data. Default: [`TextOrigin::Project`].
    #[must_use]
    pub fn origin(mut self, origin: TextOrigin) -> Self {
        self.root.origin = origin;
        self
    }

    /// Sets the maximum size of the output in the result, in bytes: half from its beginning, half from its end. Default: 64 KiB.
    #[must_use]
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.max_output_bytes = bytes;
        self
    }

    /// Passes an environment variable of this process to commands. Default: `PATH`, `HOME`, `LANG`, `LC_ALL`, `TMPDIR`, those that say where toolchains
    /// are, such as `CARGO_HOME` and `JAVA_HOME`, and, on Windows, those without which programs do not start. `GIT_TERMINAL_PROMPT` and `GIT_EDITOR` are
    /// set so that Git asks nothing.
    #[must_use]
    pub fn pass_variable(mut self, name: impl Into<String>) -> Self {
        self.environment.pass(name.into());
        self
    }

    /// Sets an environment variable for commands.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.set(name.into(), value.into());
        self
    }

    /// Sets whether hidden folders and files may be named. Default: `false`.
    #[must_use]
    pub fn show_hidden(mut self, shows_hidden: bool) -> Self {
        self.root.shows_hidden = shows_hidden;
        self
    }

    /// Withholds files of the program itself: no argument may name one, as with [`FileTools::withhold`](crate::tools::FileTools::withhold).
    ///
    /// # Errors
    ///
    /// Returns an error if one of them, or a link on its path, is below the root.
    pub fn withhold(
        mut self,
        files: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Self, CommandToolError> {
        let withheld = WithheldFiles::new(&self.path, files.into_iter().collect());
        let path = self.path.clone();
        self.root.withheld = withheld.map_err(|source| CommandToolError::Root { path, source })?;
        Ok(self)
    }

    /// Sets whether arguments may name any path. Default: `false`.
    #[must_use]
    pub fn free_arguments(mut self, are_free: bool) -> Self {
        self.free_arguments = are_free;
        self
    }

    /// Returns the command line of a call, as it would be written for a shell.
    fn line(&self, arguments: &Json) -> Result<String, ToolError> {
        let arguments: CommandArguments = typed::read_arguments(arguments)?;
        self.prepared(&arguments)?;
        let line = arguments::line(&arguments.command);
        Ok(match &arguments.path {
            Some(path) => format!("cd {} && {line}", arguments::quoted(path)),
            None => line,
        })
    }

    /// Checks a call and opens its folder.
    fn prepared(&self, arguments: &CommandArguments) -> Result<RunningCommand, ToolError> {
        let CommandArguments { command, path } = arguments;
        let (program, rest) = self.allowed.check(command)?;
        let path = path.as_deref().unwrap_or(".");
        let OpenedPath::Folder(folder) = self.root.open(path)? else {
            return Err(ToolError::invalid("path", "must be a folder"));
        };
        if !self.free_arguments {
            let place = CommandPlace { root: &self.root, path: &self.path, folder: path };
            arguments::confined(&place, program, rest)?;
        }
        let program = self.environment.find(program).ok_or_else(|| {
            let all = self.allowed.words();
            ToolError::failed(format!(
                "`{program}` is not installed; the allowed commands are: {all}"
            ))
        })?;
        Ok(RunningCommand {
            program,
            arguments: rest.to_vec(),
            folder,
            path: self.path.join(path),
            variables: self.environment.variables(),
            timeout: self.timeout,
            max_output_bytes: self.max_output_bytes,
        })
    }
}

impl Tool for CommandTool {
    fn name(&self) -> &'static str {
        "command.run"
    }

    fn description(&self) -> &'static str {
        "Runs a program with arguments, without a shell. The first line of the result says how it ended."
    }

    fn schema(&self) -> Value {
        schema_of::<CommandArguments>()
    }

    fn runs_alone(&self) -> bool {
        true
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::Irreversible
    }

    fn origin(&self) -> TextOrigin {
        self.root.origin
    }

    fn preview(&self, _context: ToolContext, arguments: Json) -> PreviewFuture {
        let line = self.line(&arguments).map(|line| Some(Preview::command(line)));
        Box::pin(std::future::ready(line))
    }

    fn grant_pattern(&self, arguments: &Json) -> Option<String> {
        // Permission for one command of a program does not cover all of them.
        let line = self.line(arguments).unwrap_or_default();
        let arguments: CommandArguments = typed::read_arguments(arguments).ok()?;
        Some(self.allowed.subcommand(&arguments.command).unwrap_or(line))
    }

    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture {
        let prepared =
            typed::read_arguments(&arguments).and_then(|arguments| self.prepared(&arguments));
        Box::pin(async move { prepared?.run(context).await.map(ToolOutput::from) })
    }
}

debug_fields! { CommandTool, tool:
    root = tool.root,
    allowed = tool.allowed,
    timeout = tool.timeout,
}
