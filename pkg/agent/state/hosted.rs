//! Calls that the provider runs itself, once a person has decided on them.

use super::{
    CallFailure, FailureKind, RunEffect, ToolEnd,
    answer_calls::{CallPolicy, RunCall},
};
use crate::{approval::ApprovalVerdict, prompts::feedback};
use forgeline_types::{Text, ToolCall};

impl RunCall {
    /// Lets the provider run the call.
    pub(super) fn allow(&mut self, out: &mut Vec<RunEffect>) {
        self.end(ToolEnd::at_once(Ok(feedback::ALLOWED.to_owned())), out);
    }

    /// Returns the refusal when a person replaced the model's arguments: the provider runs the original ones.
    pub(super) fn unchangeable(&self, verdict: &ApprovalVerdict) -> Option<CallFailure> {
        let ApprovalVerdict::Granted { arguments: Some(new), .. } = verdict else { return None };
        let is_other = self.made.hosted && self.made.arguments.as_ref() != Some(new);
        is_other.then(|| {
            CallFailure(FailureKind::Denied, feedback::unchangeable(&self.made.name, new.as_str()))
        })
    }
}

impl CallPolicy<'_> {
    /// Checks a call of a tool known only to the provider.
    pub(super) fn check_hosted(&self, call: &ToolCall, digest: u64) -> Result<Text, CallFailure> {
        if let Some(refusal) = self.guard.would_fail(digest, &call.name) {
            return Err(CallFailure(FailureKind::Repeated, refusal));
        }
        Ok(call.name.clone())
    }
}
