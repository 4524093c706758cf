//! Calls of tools that run at the client, and their results.

use serde::{Deserialize, Serialize};

use super::{Json, Text, spelling::keep_spelling};

/// A call for the client to run.
///
/// # Examples
///
/// ```
/// use forgeline::types::{ClientToolRequest, Json};
///
/// let arguments = Json::parse(r##"{"selector":"#total"}"##)?;
/// let request = ClientToolRequest::new("77aa", "call_0", "page.read", arguments);
/// assert_eq!(request.tool_name, "page.read");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct ClientToolRequest {
    /// The id with which the client returns the result. It stays the same when the run is resumed.
    pub client_call_id: Text,
    /// The id of the call.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name, as it was registered.
    pub tool_name: Text,
    /// The module of the application that the tool belongs to.
    pub tool_module: Option<Text>,
    /// All arguments; they fit the tool's schema.
    pub arguments: Json,
}

keep_spelling!(ClientToolRequest);

impl ClientToolRequest {
    /// Returns the request to run a call.
    #[must_use]
    pub fn new(
        client_call_id: impl Into<Text>,
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
        arguments: Json,
    ) -> Self {
        let (client_call_id, call_id) = (client_call_id.into(), call_id.into());
        let (tool_name, tool_module) = (tool_name.into(), None);
        Self { client_call_id, call_id, tool_name, tool_module, arguments }
    }
}

/// The end of a call at the client, as reported by the client.
///
/// # Examples
///
/// ```
/// use forgeline::types::{ClientFailure, ClientReturn};
///
/// let done: ClientReturn = serde_json::from_str(r#"{"result":{"content":"42"}}"#)?;
/// assert_eq!(done, ClientReturn::from("42"));
/// let failed = ClientReturn::failed(ClientFailure::ToolThrew, "no such element");
/// assert_ne!(failed, done);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ClientReturn {
    /// The call was run.
    #[non_exhaustive]
    Result {
        /// The result, for the model.
        content: String,
    },
    /// The call failed.
    #[non_exhaustive]
    Failure {
        /// The kind of the failure.
        kind: ClientFailure,
        /// The message, for the model.
        message: String,
    },
}

/// The kind of a failure at the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClientFailure {
    /// The tool threw an exception.
    ToolThrew,
    /// The tool took longer than the client waits.
    WatchdogTimeout,
    /// The client has no such tool.
    UnknownTool,
}

impl ClientReturn {
    /// Returns a failure.
    #[must_use]
    pub fn failed(kind: ClientFailure, message: impl Into<String>) -> Self {
        Self::Failure { kind, message: message.into() }
    }
}

impl From<String> for ClientReturn {
    fn from(content: String) -> Self {
        Self::Result { content }
    }
}

impl From<&str> for ClientReturn {
    fn from(content: &str) -> Self {
        content.to_owned().into()
    }
}

impl From<Json> for ClientReturn {
    fn from(value: Json) -> Self {
        value.as_str().into()
    }
}
