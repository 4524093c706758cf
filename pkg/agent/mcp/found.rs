//! Prompts and resources that servers list.

use rmcp::model::{Prompt, Resource, ResourceTemplate};

use crate::types::Text;

/// A prompt that a server offers to the user: a text to begin with. See [`McpServers::prompts`](super::McpServers::prompts).
///
/// Names and descriptions are in the words of the server: text from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpPrompt {
    /// The name of the server.
    pub server: Text,
    /// Its name, unique within its server.
    pub name: String,
    /// Its purpose.
    pub description: Option<String>,
    /// The values that it takes.
    pub arguments: Vec<McpPromptArgument>,
}

/// A value that a prompt takes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpPromptArgument {
    /// Its name.
    pub name: String,
    /// Its meaning.
    pub description: Option<String>,
    /// `true` when the prompt cannot be had without it.
    pub is_required: bool,
}

/// Something that a server has to read. See [`McpServers::resources`](super::McpServers::resources).
///
/// All texts are in the words of the server: text from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpResource {
    /// The name of the server.
    pub server: Text,
    /// The address, or a template of addresses as RFC 6570 has them, such as `file:///{path}`.
    pub uri: String,
    /// `true` when the address is a template.
    pub is_template: bool,
    /// Its name.
    pub name: String,
    /// Its content, in words.
    pub description: Option<String>,
    /// Its media type.
    pub media_type: Option<String>,
}

impl McpPrompt {
    pub(super) fn new(server: &Text, listed: Prompt) -> Self {
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
    pub(super) fn new(server: &Text, listed: Resource) -> Self {
        Self {
            server: server.clone(),
            uri: listed.uri,
            is_template: false,
            name: listed.name,
            description: listed.description,
            media_type: listed.mime_type,
        }
    }

    pub(super) fn of_template(server: &Text, listed: ResourceTemplate) -> Self {
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
