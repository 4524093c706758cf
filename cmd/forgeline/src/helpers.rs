//! Helpers: `--helpers`, agents that the model gives parts of its work to.

use std::sync::Arc;

use clap::Args;
use forgeline::agent::{AgentBuilder, BuildError, tools::Tool};

/// The name of the tool.
const HELPER: &str = "helper";

/// The purpose of a helper, for the model.
const PURPOSE: &str = "Delegates a part of the work to a helper, which has the same tools but sees \
                       nothing of this conversation. Give it the complete task; it returns a \
                       report.";

/// Most helpers that are deep below the first.
const LEVELS: usize = 3;

/// The helpers, as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct HelperArgs {
    /// Let the model delegate parts of its work to helpers: agents with the same model and tools, nested at most three deep
    #[arg(long)]
    helpers: bool,
}

impl HelperArgs {
    /// Returns the names of the tools.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        [HELPER, "helper_result"].into_iter().filter(|_| self.helpers)
    }

    /// Returns the tools of an agent that is set up as this one.
    pub(crate) fn tools(&self, builder: &AgentBuilder) -> Result<Vec<Arc<dyn Tool>>, BuildError> {
        let mut tools = Vec::new();
        for _ in 0..if self.helpers { LEVELS } else { 0 } {
            let below = builder.clone().tools(tools).build()?;
            tools = below.into_tool(HELPER, PURPOSE).in_background().into();
        }
        Ok(tools)
    }
}
