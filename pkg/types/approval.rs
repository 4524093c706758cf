//! The request for a person's approval.

use serde::{Deserialize, Serialize};

use super::{Json, Text, spelling::keep_spelling};

/// A call that waits for a person's approval.
///
/// # Examples
///
/// ```
/// use forgeline::types::{ApprovalRequest, Json, Preview};
///
/// let arguments = Json::parse(r#"{"path":"notes.md"}"#)?;
/// let request = ApprovalRequest::new("5f1c", "call_0", "files.remove", arguments)
///     .preview(Preview::text("removes `notes.md` (212 bytes)"));
/// assert_eq!(request.preview.unwrap().text, "removes `notes.md` (212 bytes)");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of this request, made from the run, the call and its arguments: other arguments give another id.
    pub approval_id: Text,
    /// The id of the call.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name.
    pub tool_name: Text,
    /// All arguments.
    pub arguments: Json,
    /// The effect of the call, if the tool can describe it.
    #[serde(default)]
    pub preview: Option<Preview>,
    /// The reason for asking a person.
    #[serde(default, skip_serializing_if = "ApprovalReason::is_policy")]
    pub reason: ApprovalReason,
}

keep_spelling!(ApprovalRequest);

impl ApprovalRequest {
    /// Returns a request without a preview.
    #[must_use]
    pub fn new(
        approval_id: impl Into<Text>,
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
        arguments: Json,
    ) -> Self {
        let (approval_id, call_id, tool_name) =
            (approval_id.into(), call_id.into(), tool_name.into());
        Self {
            approval_id,
            call_id,
            tool_name,
            arguments,
            preview: None,
            reason: ApprovalReason::Policy,
        }
    }

    /// Sets the preview.
    #[must_use]
    pub fn preview(mut self, preview: impl Into<Option<Preview>>) -> Self {
        self.preview = preview.into();
        self
    }

    /// Sets the reason.
    #[must_use]
    pub fn reason(mut self, reason: ApprovalReason) -> Self {
        self.reason = reason;
        self
    }
}

/// The reason for asking a person about a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalReason {
    /// The agent's policy requires approval for such calls.
    #[default]
    Policy,
    /// The conversation contains text from [outside](super::TextOrigin::Outside), which may have led the model to make the call:
    /// earlier permissions do not count.
    OutsideText,
    /// The provider runs the tool [itself](super::ToolCall::hosted) and asks for permission first.
    Provider,
}

impl ApprovalReason {
    /// Returns `true` for the default reason, which is not serialized.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde expects")]
    fn is_policy(&self) -> bool {
        *self == Self::Policy
    }
}

/// The effect that a call would have, for the person who approves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Preview {
    /// The form of the text.
    pub kind: PreviewKind,
    /// The text.
    pub text: String,
    /// The digest of what the preview was made from, such as the content of a file; the call is not run once this has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Text>,
}

/// The form of a [`Preview`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PreviewKind {
    /// Plain text.
    Text,
    /// A unified diff.
    Diff,
    /// A command and its arguments.
    Command,
}

impl Preview {
    fn new(kind: PreviewKind, text: String) -> Self {
        Self { kind, text, digest: None }
    }

    /// Binds the approval to the state of the world with this digest.
    #[must_use]
    pub fn bound_to(mut self, digest: impl Into<Text>) -> Self {
        self.digest = Some(digest.into());
        self
    }

    /// Returns a preview in plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PreviewKind::Text, text.into())
    }

    /// Returns a preview that is a unified diff.
    #[must_use]
    pub fn diff(text: impl Into<String>) -> Self {
        Self::new(PreviewKind::Diff, text.into())
    }

    /// Returns a preview that is a command.
    #[must_use]
    pub fn command(text: impl Into<String>) -> Self {
        Self::new(PreviewKind::Command, text.into())
    }
}
