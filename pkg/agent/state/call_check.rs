//! The checks of a call before it runs.

use serde_json::Value;

use super::{
    CallFailure, FailureKind, RunRules,
    answer_calls::{CallPolicy, RunCall},
    repeats::digest_of,
};
use crate::prompts::feedback;
use forgeline_types::{CallOutcome, Json, Repair, Text, ToolCall};

impl RunCall {
    /// Fits the arguments to the schema of the tool, where nothing is lost. From then on they are checked, shown, approved and
    /// run like this.
    pub(super) fn fit(&mut self, rules: &dyn RunRules) {
        if !self.made.is_complete() || self.made.hosted {
            return;
        }
        let Some(arguments) = rules.fitted(&self.made) else { return };
        self.made.arguments = Some(arguments);
        if !self.made.repairs.contains(&Repair::Coerced) {
            self.made.repairs.push(Repair::Coerced);
        }
    }
}

impl CallPolicy<'_> {
    /// Returns the digest of a call's identity, which two equal calls share.
    fn digest(&self, call: &ToolCall, arguments: Option<&Value>) -> u64 {
        let facts = self.rules.tool(&call.name);
        let name = facts.map_or(call.name.as_str(), |facts| facts.name);
        digest_of(name, call, arguments, facts.and_then(|_| self.rules.identity(call)))
    }

    /// Checks a call before it runs; returns its digest, with the name of its tool.
    ///
    /// Both read the arguments, which are parsed once.
    pub(super) fn check(&self, held: &RunCall) -> (u64, Result<Text, CallFailure>) {
        let arguments = held.made.arguments.as_ref().map(Json::to_value);
        let digest = self.digest(&held.made, arguments.as_ref());
        (digest, self.tool_of(held, digest, arguments.as_ref()))
    }

    /// Returns the name of the tool of a call that may run.
    fn tool_of(
        &self,
        held: &RunCall,
        digest: u64,
        arguments: Option<&Value>,
    ) -> Result<Text, CallFailure> {
        let call = &held.made;
        match &call.outcome {
            CallOutcome::Complete => {}
            CallOutcome::Incomplete => {
                return Err(CallFailure(FailureKind::Cut, feedback::cut(held.body_bytes)));
            }
            CallOutcome::Malformed { reason, offset, .. } => {
                return Err(CallFailure(
                    FailureKind::Malformed,
                    feedback::malformed(reason, *offset),
                ));
            }
            _ => {
                return Err(CallFailure(
                    FailureKind::Malformed,
                    feedback::malformed("it is not complete", 0),
                ));
            }
        }
        if call.hosted && call.arguments.is_some() {
            return self.check_hosted(call, digest);
        }
        let Some(facts) = self.rules.tool(&call.name) else {
            return Err(CallFailure(
                FailureKind::UnknownTool,
                self.rules.unknown_tool(&call.name, self.withheld),
            ));
        };
        if self.withheld.contains(facts.name) {
            return Err(CallFailure(
                FailureKind::Forbidden,
                feedback::forbidden(facts.name, facts.module),
            ));
        }
        let Some(arguments) = arguments else {
            return Err(CallFailure(
                FailureKind::Malformed,
                feedback::malformed("it has no arguments", 0),
            ));
        };
        let name = facts.name;
        if let Some(refusal) = self.guard.would_fail(digest, name) {
            return Err(CallFailure(FailureKind::Repeated, refusal));
        }
        match self.rules.check(call, arguments) {
            Ok(()) => Ok(name.clone()),
            Err(problem) => {
                Err(CallFailure(FailureKind::Arguments, feedback::bad_arguments(&problem)))
            }
        }
    }
}
