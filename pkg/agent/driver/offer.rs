//! The tools of the agent that a run may use.

use crate::{
    access::permits,
    prompts::feedback,
    run::RunContext,
    setup::AgentSetup,
    state::{CallFailure, FailureKind, RunState, ToolEnd},
    tools::Tool,
};
use forgeline_types::Text;

impl AgentSetup {
    /// Returns the names of the tools that a run may not use, in order.
    pub(crate) fn withheld(&self, run: &RunContext) -> Vec<Text> {
        if !self.is_gated {
            return Vec::new();
        }
        let gated = self.tools.iter().filter(|entry| !self.may_use(&**entry.tool, run));
        gated.map(|entry| entry.spec.name.clone()).collect()
    }

    /// Returns `true` for a tool that a run may use now and could use when it started.
    pub(crate) fn is_open(&self, name: &Text, state: &RunState) -> bool {
        let is_forbidden = || self.forbidden(name, state.context()).is_some();
        !state.prompt().withheld.contains(name) && !is_forbidden()
    }

    /// Returns the refusal of a call that is about to run, when its run may not use the tool.
    pub(crate) fn forbidden(&self, tool_name: &str, run: &RunContext) -> Option<ToolEnd> {
        let entry = self.is_gated.then(|| self.tools.find(tool_name))??;
        if self.may_use(&**entry.tool, run) {
            return None;
        }
        let text = feedback::forbidden(&entry.spec.name, entry.tool.module());
        Some(ToolEnd::refused(CallFailure(FailureKind::Forbidden, text)))
    }

    fn may_use(&self, tool: &dyn Tool, run: &RunContext) -> bool {
        let is_elsewhere = |at| tool.surface().is_some_and(|surface| surface != at);
        if run.surface().is_some_and(is_elsewhere) {
            return false;
        }
        permits(self.permissions.as_deref(), run.caller(), tool)
    }
}
