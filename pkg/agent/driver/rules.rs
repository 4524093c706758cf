//! The setup of an agent as its runs see it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    approval::{ApprovalPolicy, CallGate, OutsideText, SessionGrant},
    config::AgentConfig,
    journal::ToolMark,
    prompts::feedback,
    run::OutsideSources,
    setup::AgentSetup,
    state::{CallOrder, RunRules, ToolFacts},
    tools::{CALL_FOUND_TOOL, TOOL_SEARCH, ToolEffects, ToolPlace, fitted},
};
use forgeline_types::{Json, Text, ToolCall};
use serde_json::Value;

impl AgentSetup {
    /// Returns `true` for a source whose tools a person trusts.
    fn trusts(&self, source: &str) -> bool {
        self.trusted_sources.iter().any(|trusted| trusted == source)
    }

    /// Returns the marks of the tools, on which the runs of a journal depend.
    pub(crate) fn tool_marks(&self) -> Vec<ToolMark> {
        // The search tool depends on the model's context window, not on the calls of a run.
        let specs = self.tools.specs().filter(|spec| spec.name != TOOL_SEARCH);
        let marks = specs.map(|spec| {
            let facts = self
                .tool(&spec.name)
                .map(|it| (it.order, it.is_idempotent, it.may_repeat, it.is_at_client));
            ToolMark::new(spec, &format!("{facts:?}"))
        });
        marks.collect()
    }
}

impl RunRules for AgentSetup {
    fn tool(&self, tool_name: &str) -> Option<ToolFacts<'_>> {
        let entry = self.tools.find(tool_name)?;
        let order = if entry.tool.is_loop_breaking() {
            CallOrder::Last
        } else if entry.tool.runs_alone() {
            CallOrder::Alone
        } else {
            CallOrder::Free
        };
        let (is_idempotent, may_repeat) = (entry.tool.is_idempotent(), entry.tool.may_repeat());
        let is_at_client = entry.tool.place() == ToolPlace::Client;
        let (name, module) = (&entry.spec.name, entry.tool.module());
        Some(ToolFacts { name, module, order, is_idempotent, may_repeat, is_at_client })
    }

    fn fitted(&self, call: &ToolCall) -> Option<Json> {
        let (entry, arguments) = self.tools.find(&call.name).zip(call.arguments.as_ref())?;
        fitted(&entry.spec.parameters, arguments)
    }

    fn check(&self, call: &ToolCall, arguments: &Value) -> Result<(), String> {
        let Some(entry) = self.tools.find(&call.name) else { return Ok(()) };
        entry.check(arguments).map_err(|error| error.to_string())
    }

    fn identity(&self, call: &ToolCall) -> Option<String> {
        let (entry, arguments) = self.tools.find(&call.name).zip(call.arguments.as_ref())?;
        // A tool may not be able to cope with arguments that do not match its schema.
        catch_unwind(AssertUnwindSafe(|| entry.tool.identity(arguments))).ok().flatten()
    }

    fn gate(&self, call: &ToolCall, grants: &[SessionGrant]) -> CallGate {
        let Some(entry) = self.tools.find(&call.name) else {
            let is_granted = grants.iter().any(|grant| grant.tool == call.name);
            let asks = self.config.approval != ApprovalPolicy::Never && !is_granted;
            return if asks { CallGate::Ask } else { CallGate::Run };
        };
        if !self.config.approval.asks(&entry.spec.name, entry.tool.effects()) {
            return CallGate::Run;
        }
        if entry.tool.outside_source().is_some_and(|source| self.trusts(source)) {
            return CallGate::Run;
        }
        let mut of_tool = grants.iter().filter(|grant| grant.tool == entry.spec.name).peekable();
        let pattern = of_tool.peek().and_then(|_| self.grant_pattern(call));
        let is_granted = of_tool.any(|grant| grant.pattern.is_none() || grant.pattern == pattern);
        if is_granted { CallGate::Run } else { CallGate::Ask }
    }

    fn asks_after_outside_text(&self, call: &ToolCall, outside: &OutsideSources) -> bool {
        if outside.is_none() {
            return false;
        }
        let AgentConfig { outside_text, approval, .. } = &self.config;
        if *outside_text == OutsideText::Ignore || *approval == ApprovalPolicy::Never {
            return false;
        }
        let Some(entry) = self.tools.find(&call.name) else { return true };
        entry.tool.effects() == ToolEffects::Irreversible
            && outside.has_other_than(entry.tool.outside_source())
    }

    fn grant_pattern(&self, call: &ToolCall) -> Option<String> {
        let (entry, arguments) = self.tools.find(&call.name).zip(call.arguments.as_ref())?;
        let pattern = catch_unwind(AssertUnwindSafe(|| entry.tool.grant_pattern(arguments)));
        // When the tool panics here, only calls with the same arguments are allowed.
        pattern.unwrap_or_else(|_| Some(arguments.as_str().to_owned()))
    }

    fn unknown_tool(&self, tool_name: &str, withheld: &[Text]) -> String {
        if tool_name == CALL_FOUND_TOOL && self.index.is_some() {
            return feedback::NO_FOUND_TOOL.to_owned();
        }
        let names = self.offered(false).iter().map(|spec| &spec.name);
        let text = feedback::unknown_tool(tool_name, names.filter(|name| !withheld.contains(name)));
        if self.index.is_some() { text + feedback::OR_FOUND } else { text }
    }

    fn has_tools(&self, withheld: &[Text]) -> bool {
        self.tools.len() > withheld.len()
    }
}
