//! The setup of an agent as its runs see it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    agent::{
        feedback,
        journal::ToolMark,
        parts::Parts,
        state::{Order, Rules, ToolFacts},
        tools::validate,
    },
    types::ToolCall,
};

impl Parts {
    /// Returns the marks of the tools, on which the runs of a journal depend.
    pub(in crate::agent) fn tool_marks(&self) -> Vec<ToolMark> {
        let marks = self.tools.specs().map(|spec| {
            let facts = self
                .tool(&spec.name)
                .map(|facts| (facts.order, facts.is_idempotent, facts.may_repeat));
            ToolMark::new(spec, &format!("{facts:?}"))
        });
        marks.collect()
    }
}

impl Rules for Parts {
    fn tool(&self, name: &str) -> Option<ToolFacts<'_>> {
        let entry = self.tools.find(name)?;
        let order = if entry.tool.is_loop_breaking() {
            Order::Last
        } else if entry.tool.runs_alone() {
            Order::Alone
        } else {
            Order::Free
        };
        let (is_idempotent, may_repeat) = (entry.tool.is_idempotent(), entry.tool.may_repeat());
        Some(ToolFacts { name: &entry.spec.name, order, is_idempotent, may_repeat })
    }

    fn check(&self, call: &ToolCall) -> Result<(), String> {
        let entry = self.tools.find(&call.name).zip(call.arguments.as_ref());
        let Some((entry, arguments)) = entry else { return Ok(()) };
        let checked = validate(&entry.spec.parameters, &arguments.to_value());
        checked.map_err(|error| error.to_string())
    }

    fn identity(&self, call: &ToolCall) -> Option<String> {
        let (entry, arguments) = self.tools.find(&call.name).zip(call.arguments.as_ref())?;
        // Arguments that do not fit may be more than the tool can bear.
        catch_unwind(AssertUnwindSafe(|| entry.tool.identity(arguments))).ok().flatten()
    }

    fn unknown_tool(&self, name: &str) -> String {
        feedback::unknown_tool(name, &self.tools)
    }

    fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }
}
