//! Prompts and resources listed by servers.

use rmcp::model::{Prompt, Resource, ResourceTemplate};

use forgeline_types::Text;

/// A prompt that a server offers to the user: a text to start with. See [`McpServers::prompts`](crate::McpServers::prompts).
///
/// Names and descriptions come from the server: text from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpPrompt {
    /// The name of the server.
    pub server: Text,
    /// The name, unique within the server.
    pub name: String,
    /// The purpose.
    pub description: Option<String>,
    /// The arguments of the prompt.
    pub arguments: Vec<McpPromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpPromptArgument {
    /// The name.
    pub name: String,
    /// The meaning.
    pub description: Option<String>,
    /// `true` if the prompt requires the argument.
    pub is_required: bool,
}

/// A resource that a server offers for reading. See [`McpServers::resources`](crate::McpServers::resources).
///
/// All texts come from the server: text from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpResource {
    /// The name of the server.
    pub server: Text,
    /// The URI, or an RFC 6570 template of URIs, such as `file:///{path}`.
    pub uri: String,
    /// `true` if the URI is a template.
    pub is_template: bool,
    /// The name.
    pub name: String,
    /// A description of the content.
    pub description: Option<String>,
    /// The media type.
    pub media_type: Option<String>,
}

impl McpPrompt {
    pub(crate) fn new(server: &Text, listed: Prompt) -> Self {
        let arguments = listed.arguments.into_iter().flatten().map(|argument| McpPromptArgument {
            name: argument.name,
            description: argument.description,
            is_required: argument.required == Some(true),
        });
        Self {
            server: server.clone(),
            name: listed.name,
            description: listed.description,
            arguments: arguments.collect(),
        }
    }
}

impl McpResource {
    pub(crate) fn new(server: &Text, listed: Resource) -> Self {
        Self {
            server: server.clone(),
            uri: listed.uri,
            is_template: false,
            name: listed.name,
            description: listed.description,
            media_type: listed.mime_type,
        }
    }

    pub(crate) fn of_template(server: &Text, listed: ResourceTemplate) -> Self {
        Self {
            server: server.clone(),
            uri: listed.uri_template,
            is_template: true,
            name: listed.name,
            description: listed.description,
            media_type: listed.mime_type,
        }
    }
}
