//! Read-only file tools, confined to one folder.

mod list;
mod read;
mod root;
mod search;
#[cfg(test)]
mod tests;

use std::{io, path::Path, sync::Arc};

pub use list::FilesList;
pub use read::FilesRead;
pub use search::FilesSearch;

use self::root::Root;
use super::{Tool, ToolContext, ToolError};

/// The three file tools of one folder: `files.list`, `files.read` and `files.search`.
///
/// They see regular files below the folder and nothing else: a path that leaves it, by `..` or
/// through a symbolic link, is refused.
#[derive(Debug, Clone)]
pub struct FileTools {
    root: Arc<Root>,
}

impl FileTools {
    /// Tools for the files below `root`.
    ///
    /// # Errors
    ///
    /// When `root` is no folder that can be read.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self { root: Arc::new(Root::new(root.as_ref())?) })
    }

    /// The tools, for [`AgentBuilder::tools`](crate::agent::AgentBuilder::tools).
    #[must_use]
    pub fn into_tools(self) -> Vec<Arc<dyn Tool>> {
        vec![
            Arc::new(FilesList::new(Arc::clone(&self.root))),
            Arc::new(FilesRead::new(Arc::clone(&self.root))),
            Arc::new(FilesSearch::new(self.root)),
        ]
    }
}

/// Runs file work where it blocks nobody; `stop` tells it that nobody waits any more.
async fn blocking<T: Send + 'static>(
    context: ToolContext,
    work: impl FnOnce(&dyn Fn() -> bool) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let token = context.cancelled().clone();
    // A dropped wait leaves the thread running until it next looks at this guard's token.
    let dropped = token.child_token();
    let _stops_when_dropped = dropped.clone().drop_guard();
    let done = tokio::task::spawn_blocking(move || work(&|| dropped.is_cancelled())).await;
    done.unwrap_or_else(|error| Err(ToolError::Panicked { message: error.to_string() }))
}
