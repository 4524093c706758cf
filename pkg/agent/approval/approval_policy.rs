//! The approval policy.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::tools::ToolEffects;
use forgeline_types::Text;

/// The calls for which a person's approval is required before they run.
///
/// The agent's [approver](crate::AgentBuilder::approver) and the holders of the run's [`Approvals`](crate::steering::Approvals) are asked. If there are neither,
/// such calls do not run.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{Agent, approval::ApprovalPolicy},
///     llm::demo::DemoProvider,
/// };
///
/// let agent = Agent::builder(DemoProvider::new())
///     .approval(ApprovalPolicy::of(["mail.send"]))
///     .build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalPolicy {
    /// No calls.
    Never,
    /// All calls.
    Always,
    /// Calls of tools whose effects are [irreversible](ToolEffects::Irreversible).
    #[default]
    Irreversible,
    /// Calls of the tools with these names.
    Tools(BTreeSet<Text>),
}

impl ApprovalPolicy {
    /// Returns the policy of asking about calls of these tools.
    #[must_use]
    pub fn of<N: Into<Text>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::Tools(names.into_iter().map(Into::into).collect())
    }

    /// Returns `true` if calls of this tool require approval.
    #[must_use]
    pub fn asks(&self, tool_name: &str, effects: ToolEffects) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Irreversible => effects == ToolEffects::Irreversible,
            Self::Tools(names) => names.iter().any(|name| name == tool_name),
        }
    }
}
