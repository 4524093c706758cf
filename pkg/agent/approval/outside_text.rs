//! The policy for text that may have been written by anyone.

use serde::{Deserialize, Serialize};

/// The policy for irreversible calls once text from [outside](forgeline_types::TextOrigin::Outside) is in the conversation.
///
/// A page, an email or another server may contain text that is meant for the model. The calls that the model then makes may not be what the user wants,
/// regardless of earlier permissions. So each call of a tool whose effects are [irreversible](crate::tools::ToolEffects::Irreversible) requires approval:
/// neither "always" nor [`AgentBuilder::grant`](crate::AgentBuilder::grant) counts, and if no one can be asked, the calls do not run. The request [says
/// so](forgeline_types::ApprovalReason::OutsideText).
///
/// A tool that names the [source](crate::tools::Tool::outside_source) of its results, as those of an MCP server do, is an exception: what a person allowed for
/// it still counts while all text from outside in the conversation comes from the same source. Texts of a sub-agent count as from another one.
///
/// Text is from outside if its tool [says so](crate::tools::Tool::origin), if the provider ran a tool such as a search, and if an answer cites a page. It
/// remains so after the run was resumed, for later runs of the conversation until it is [cleared](crate::Conversation::clear), and for an agent that is
/// given its messages.
///
/// # Limits
///
/// The rule knows where a result comes from, but not what it says. It does not see what a user pastes, what a tool takes from outside and presents as its
/// own, or what was previously written into a file of the project. It requires approval neither for reversible calls nor for reading, although a call that
/// reads may leak data. With [`ApprovalPolicy::Never`](crate::approval::ApprovalPolicy::Never), it requires no approval at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutsideText {
    /// Irreversible calls require approval, even if they were allowed before.
    #[default]
    AskAgain,
    /// Permissions count as before.
    Ignore,
}
