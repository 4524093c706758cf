//! The policy for text that anyone may have written.

use serde::{Deserialize, Serialize};

/// The policy for calls that cannot be changed back, once text from
/// [outside](crate::types::TextOrigin::Outside) is in the conversation.
///
/// A page, a mail or another server may hold words that are meant for the model. What it calls then may not be
/// what the user wants, whatever the user has allowed before. So calls of tools whose effects are
/// [irreversible](super::tools::ToolEffects::Irreversible) are asked about, each of them: neither "always" nor
/// [`AgentBuilder::grant`](super::AgentBuilder::grant) counts, and without anyone to ask they do not run. The request
/// [says so](crate::types::ApprovalReason::OutsideText).
///
/// Text is from outside where its tool [says so](super::tools::Tool::origin), where the provider ran a tool such as a
/// search, and where an answer cites a page. It stays so after the run was resumed, for later runs of the
/// conversation until it is [cleared](super::DefaultAgent::clear), and for an agent that is given its messages.
///
/// # Limits
///
/// The rule knows where a result comes from, and not what it says. It does not see what a user pastes, what a tool
/// takes from outside and calls its own, or what was written into a file of the project before. It does not ask
/// about what can be changed back, nor about reading: a call that reads may carry words out. With
/// [`ApprovalPolicy::Never`](super::ApprovalPolicy::Never) it asks about nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutsideText {
    /// Calls that cannot be changed back are asked about, also where they were allowed before.
    #[default]
    AskAgain,
    /// Permissions count as before.
    Ignore,
}
