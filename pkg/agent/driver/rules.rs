//! The setup of an agent as its runs see it.

use crate::{
    agent::{
        feedback,
        parts::Parts,
        state::{Order, Rules, ToolFacts},
        tools::validate,
    },
    types::ToolCall,
};

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
        Some(ToolFacts { name: &entry.spec.name, order })
    }

    fn check(&self, call: &ToolCall) -> Result<(), String> {
        let entry = self.tools.find(&call.name).zip(call.arguments.as_ref());
        let Some((entry, arguments)) = entry else { return Ok(()) };
        let checked = validate(&entry.spec.parameters, &arguments.to_value());
        checked.map_err(|error| error.to_string())
    }

    fn unknown_tool(&self, name: &str) -> String {
        feedback::unknown_tool(name, &self.tools)
    }

    fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }
}
