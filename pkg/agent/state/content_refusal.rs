//! What a provider refused of a request: it is left out from now on, and the request is sent again.

use std::mem;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ModelAnswer, RunEffect, RunRules, RunState, run_state::RunPhase};
use crate::config::CONTENT_REFUSED;
use forgeline_llm::RefusedContent;
use forgeline_types::{AgentError, AgentEvent, Text};

/// Maximum number of requests for one answer after the provider refused the length, or images and documents: first the
/// new ones are left out, then all.
const MAX_SHORTER: u32 = 2;

/// Maximum number of requests for one answer after the provider refused signatures of reasoning.
const MAX_UNPROVED: u32 = 1;

/// A provider's refusal of a part of the conversation, before it sent anything of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContentRefusal {
    pub(crate) content: RefusedContent,
    /// The places of the messages whose images, documents or signatures are left out from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) places: Vec<usize>,
    /// The model, whose window is learnt from the refusal.
    pub(crate) model: Text,
    /// The unscaled estimate for the refused request; 0 where none was made.
    pub(crate) estimated: u64,
    pub(crate) error: AgentError,
}

/// The refusals of the requests for one answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ContentRefusals {
    context: u32,
    media: u32,
    proof: u32,
    /// The last error.
    error: Option<AgentError>,
}

impl ContentRefusals {
    /// Counts a refusal; returns `true` if the request may be sent again without what was refused.
    fn count(&mut self, refusal: &ContentRefusal) -> bool {
        self.error = Some(refusal.error.clone());
        let (count, most) = match refusal.content {
            RefusedContent::Context { .. } => (&mut self.context, MAX_SHORTER),
            RefusedContent::Media => (&mut self.media, MAX_SHORTER),
            RefusedContent::Proof => (&mut self.proof, MAX_UNPROVED),
            _ => return false,
        };
        *count += 1;
        *count <= most
    }
}

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
            RefusedContent::Context { .. } => "context",
            RefusedContent::Media => "media",
            RefusedContent::Proof | _ => "signatures",
        };
        let data = json!({ "turn": self.answer.turn, "content": content, "messages": places.len(), "reason": error.message });
        let event = AgentEvent::Custom { name: CONTENT_REFUSED.into(), data };
        out.push(RunEffect::Emit(Box::new(event)));
        out.push(RunEffect::Ask(self.answer, kind));
    }

    /// Takes the last refusal as the answer.
    pub(super) fn refused_for_good(&mut self, rules: &dyn RunRules, out: &mut Vec<RunEffect>) {
        let error = mem::take(&mut self.refused).and_then(|refused| refused.error);
        self.answered(rules, ModelAnswer { error, ..ModelAnswer::default() }, out);
    }
}
