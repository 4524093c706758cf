//! Requests of which the provider refused a part: it is left out from now on, and the request is sent again.

use std::mem;

use super::{ContentRefusal, ModelAnswer, RunEffect, RunRules, RunState, run_state::RunPhase};
use crate::notice::{ContentRefusedNotice, Notice, RefusedKind};
use forgeline_llm::RefusedContent;

impl RunState {
    /// Sends the request again without what was refused, where that may help; otherwise the refusal is the answer.
    pub(super) fn content_refused(
        &mut self,
        rules: &dyn RunRules,
        refusal: ContentRefusal,
        out: &mut Vec<RunEffect>,
    ) {
        let may_help = self.refused.get_or_insert_default().count(&refusal);
        let RunPhase::Asking(kind) = self.phase else { return };
        if !may_help || self.is_cancelled() {
            return self.refused_for_good(rules, out);
        }
        let ContentRefusal { content, places, error, .. } = refusal;
        let content = match content {
            RefusedContent::Context { .. } => RefusedKind::Context,
            RefusedContent::Media => RefusedKind::Media,
            RefusedContent::Proof | _ => RefusedKind::Signatures,
        };
        let notice = Notice::ContentRefused(ContentRefusedNotice {
            turn: self.answer.turn,
            content,
            messages: places.len(),
            reason: error.message,
        });
        out.push(RunEffect::emit(notice));
        out.push(RunEffect::Ask(self.answer, kind));
    }

    /// Takes the last refusal as the answer.
    pub(super) fn refused_for_good(&mut self, rules: &dyn RunRules, out: &mut Vec<RunEffect>) {
        let error = mem::take(&mut self.refused).and_then(|refused| refused.error);
        self.answered(rules, ModelAnswer { error, ..ModelAnswer::default() }, out);
    }
}
