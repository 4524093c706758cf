//! The origin of a text in a conversation.

use serde::{Deserialize, Serialize};

/// The origin of the text of a [`ToolResult`](super::ToolResult): who may have written it.
///
/// # Examples
///
/// ```
/// use forgeline::types::{TextOrigin, ToolResult};
///
/// let page = ToolResult::new("call_0", "web.fetch", "…").origin(TextOrigin::Outside);
/// assert!(serde_json::to_string(&page)?.contains(r#""origin":"outside""#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TextOrigin {
    /// The program itself: a calculation, or a record of its own.
    #[default]
    Own,
    /// The project that the agent works on: its files, the output of its commands.
    Project,
    /// Anyone: a web page, another server, an email, a file from elsewhere.
    Outside,
}

impl TextOrigin {
    /// Returns `true` for the default origin, which is not serialized.
    #[doc(hidden)]
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }
}
