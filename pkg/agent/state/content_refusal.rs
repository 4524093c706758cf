//! The refusal of a part of a request by the provider.

use serde::{Deserialize, Serialize};

use forgeline_llm::RefusedContent;
use forgeline_types::{AgentError, Text};

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
    pub(super) error: Option<AgentError>,
}

impl ContentRefusals {
    /// Counts a refusal; returns `true` if the request may be sent again without what was refused.
    pub(super) fn count(&mut self, refusal: &ContentRefusal) -> bool {
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
