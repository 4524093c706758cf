//! Calls that the provider runs itself, once a person has decided on them.

use super::{
    Effect, Failure, ToolEnd, Verdict,
    calls::{Around, Call},
};
use crate::{
    agent::feedback,
    types::{Text, ToolCall},
};

impl Call {
    /// Lets the provider run the call.
    pub(super) fn allow(&mut self, out: &mut Vec<Effect>) {
        self.end(ToolEnd::at_once(Ok(feedback::ALLOWED.to_owned())), out);
    }

    /// Returns the refusal when a person replaced the model's arguments: the provider runs the original ones.
    pub(super) fn unchangeable(&self, verdict: &Verdict) -> Option<(Failure, String)> {
        let Verdict::Granted { arguments: Some(new), .. } = verdict else { return None };
        let is_other = self.made.hosted && self.made.arguments.as_ref() != Some(new);
        is_other.then(|| (Failure::Denied, feedback::unchangeable(&self.made.name, new.as_str())))
    }
}

impl Around<'_> {
    /// Checks a call of a tool known only to the provider.
    pub(super) fn check_hosted(
        &self,
        call: &ToolCall,
        digest: u64,
    ) -> Result<Text, (Failure, String)> {
        if self.guard.would_fail(digest) {
            return Err((Failure::Repeated, feedback::repeated(&call.name)));
        }
        Ok(call.name.clone())
    }
}
