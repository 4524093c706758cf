//! File tools, confined to a folder.

mod change;
mod known_files;
mod list;
mod read;
pub(crate) mod root;
mod search;
#[cfg(test)]
mod tests;
mod text_form;
mod withheld;
#[cfg(test)]
mod withheld_tests;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use self::root::FolderRoot;
pub(crate) use self::withheld::WithheldFiles;
use super::{Tool, ToolContext, ToolEffects, ToolError, tool_fn};
use forgeline_types::TextOrigin;

/// The file tools of a folder: `files.list`, `files.read` and `files.search`, and those that [change files](Self::into_changing_tools).
///
/// They see only regular files below the folder: a path with `..`, links, pipes and devices are refused, even if they replace a file while it is opened.
/// Hidden files and files that contain keys, such as `.env`, `.git`, `id_rsa` and `*.pem`, are refused unless they are [shown](Self::show_hidden). Files
/// over 8 MiB are not read, and files over 2 MiB are not searched; folders are walked 32 levels deep, up to 20,000 files, and a result says what was left
/// out.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, tools::FileTools}, llm::demo::DemoProvider};
///
/// let files = FileTools::new(std::env::temp_dir())?;
/// let agent = Agent::builder(DemoProvider::new()).tools(files.into_tools()).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FileTools {
    root: FolderRoot,
    /// The path of the root.
    path: PathBuf,
}

/// The work of a file tool on its arguments; its last argument returns `true` when the work should stop.
type FileWork<A> = fn(&FolderRoot, &A, &dyn Fn() -> bool) -> Result<String, ToolError>;

impl FileTools {
    /// Returns tools for the files below `root`.
    ///
    /// # Errors
    ///
    /// Returns an error if `root` is not a readable folder.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        let path = root.as_ref().to_owned();
        let root = FolderRoot::new(&path).map_err(|error| {
            let path = path.display();
            let problem = format!(
                "the folder `{path}` cannot be opened: {error}; give one that exists and may be read"
            );
            io::Error::new(error.kind(), problem)
        })?;
        Ok(Self { root, path })
    }

    /// Withholds files of the program itself, such as its configuration or its database: they are neither shown nor changed, not even through a hard
    /// link below the root. They need not exist yet.
    ///
    /// # Errors
    ///
    /// Returns an error if one of them, or a link on its path, is below the root.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::agent::tools::FileTools;
    ///
    /// let root = std::env::temp_dir();
    /// let below = root.join("tokens.txt");
    /// let error = FileTools::new(&root)?.withhold([below]).unwrap_err();
    /// assert!(error.to_string().contains("is a file of this program"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn withhold(mut self, files: impl IntoIterator<Item = PathBuf>) -> io::Result<Self> {
        self.root.withheld = WithheldFiles::new(&self.path, files.into_iter().collect())?;
        Ok(self)
    }

    /// Sets whether hidden files and files that contain keys are shown. Default: `false`.
    #[must_use]
    pub fn show_hidden(mut self, shows_hidden: bool) -> Self {
        self.root.shows_hidden = shows_hidden;
        self
    }

    /// Sets the origin of the text of the files: [`TextOrigin::Outside`] for a folder that others fill, such as a download folder. Default:
    /// [`TextOrigin::Project`].
    #[must_use]
    pub fn origin(mut self, origin: TextOrigin) -> Self {
        self.root.origin = origin;
        self
    }

    /// Returns the tools, for [`AgentBuilder::tools`](crate::AgentBuilder::tools).
    #[must_use]
    pub fn into_tools(self) -> Vec<Arc<dyn Tool>> {
        let about_list = "Lists the files below a folder with their sizes, sorted by name.";
        let about_read = "Reads lines of a text file. The first line of the result says which, and \
            of how many.";
        let about_search = "Finds the lines that contain a text. The first line of the result says how many there are.";
        vec![
            self.tool("files.list", about_list, list::list),
            self.tool("files.read", about_read, read::read_file),
            self.tool("files.search", about_search, search::search),
        ]
    }

    fn tool<A: DeserializeOwned + JsonSchema + Send + 'static>(
        &self,
        name: &'static str,
        description: &'static str,
        work: FileWork<A>,
    ) -> Arc<dyn Tool> {
        let root = self.root.clone();
        let tool = tool_fn(name, description, move |context, arguments: A| {
            let root = root.of_call(&context);
            blocking(context, move |stop| work(&root, &arguments, stop))
        });
        // These tools only read.
        Arc::new(tool.idempotent().effects(ToolEffects::Reads).origin(self.root.origin))
    }
}

/// Runs file operations on a thread for blocking work; `stop` returns `true` once the result is not awaited any more.
///
/// # Errors
///
/// Returns the error of `work`, or one if the thread failed.
pub async fn blocking<T: Send + 'static>(
    context: ToolContext,
    work: impl FnOnce(&dyn Fn() -> bool) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let token = context.cancelled().clone();
    // If the future is dropped, the thread runs until it next checks this guard's token.
    let dropped = token.child_token();
    let _stops_when_dropped = dropped.clone().drop_guard();
    let done = tokio::task::spawn_blocking(move || work(&|| dropped.is_cancelled())).await;
    done.unwrap_or_else(|error| Err(ToolError::Panicked { message: error.to_string() }))
}
