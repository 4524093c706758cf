//! Tools that change files below a root, each with a preview of the change.

mod copy;
mod diff;
mod edit;
mod file_change;
mod folder_entry;
mod matching;
mod remove;
mod rename;
mod shown_state;
#[cfg(test)]
mod shown_tests;
#[cfg(test)]
mod tests;
mod write;

use std::{marker::PhantomData, sync::Arc};

use serde_json::Value;

use self::file_change::FileChange;
use super::{FileTools, blocking, root::FolderRoot};
use crate::tools::{PreviewFuture, Tool, ToolContext, ToolEffects, ToolFuture, ToolOutput, typed};
use forgeline_llm::private::schema_of;
use forgeline_types::{Json, TextOrigin};

/// The tool of a change.
struct ChangeTool<C> {
    root: FolderRoot,
    change: PhantomData<fn(C)>,
}

impl<C: FileChange> Tool for ChangeTool<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn description(&self) -> &'static str {
        C::ABOUT
    }

    fn schema(&self) -> Value {
        schema_of::<C>()
    }

    fn runs_alone(&self) -> bool {
        true
    }

    fn effects(&self) -> ToolEffects {
        C::EFFECTS
    }

    fn origin(&self) -> TextOrigin {
        self.root.origin
    }

    fn preview(&self, context: ToolContext, arguments: Json) -> PreviewFuture {
        let root = self.root.of_call(&context);
        Box::pin(async move {
            let change: C = typed::read_arguments(&arguments)?;
            blocking(context, move |_| shown_state::preview(&root, &change)).await.map(Some)
        })
    }

    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture {
        let root = self.root.of_call(&context);
        let shown = context.shown().map(str::to_owned);
        Box::pin(async move {
            let change: C = typed::read_arguments(&arguments)?;
            let work = move |stop: &dyn Fn() -> bool| {
                shown_state::check(&root, &change, shown.as_deref())?;
                change.make(&root, stop)
            };
            blocking(context, work).await.map(ToolOutput::from)
        })
    }
}

impl FileTools {
    /// Returns the tools that [`into_tools`](Self::into_tools) returns, and those that change files:
    /// `files.write`, `files.edit`, `files.copy`, `files.move` and `files.remove`.
    ///
    /// Like the reading tools, they accept no path with `..`, no link, and no hidden file or key unless it is [shown](Self::show_hidden), even if
    /// something is replaced while they work. A file is written under another name and then takes the name of the one that it replaces, so that it is
    /// replaced completely or not at all. Files over 8 MiB are neither written nor copied. Before a call is approved, its
    /// [preview](crate::tools::Tool::preview) shows a unified diff, or what is moved or removed.
    ///
    /// A call does nothing, and its error says so, once a person has changed what it would overwrite, move or remove: since its preview was shown, or,
    /// when no one was asked, since the conversation last read or wrote the file. If a file that it never read is overwritten, the preview and the result
    /// say so. Encoding, byte order mark and line ends of a file are kept.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::agent::tools::FileTools;
    ///
    /// let tools = FileTools::new(std::env::temp_dir())?.into_changing_tools();
    /// assert_eq!(tools.last().map(|tool| tool.name()), Some("files.remove"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn into_changing_tools(self) -> Vec<Arc<dyn Tool>> {
        let root = self.root.clone();
        let mut tools = self.into_tools();
        tools.extend([
            tool::<write::WriteArguments>(&root),
            tool::<edit::EditArguments>(&root),
            tool::<copy::CopyArguments>(&root),
            tool::<rename::MoveArguments>(&root),
            tool::<remove::RemoveArguments>(&root),
        ]);
        tools
    }
}

fn tool<C: FileChange>(root: &FolderRoot) -> Arc<dyn Tool> {
    Arc::new(ChangeTool::<C> { root: root.clone(), change: PhantomData })
}
