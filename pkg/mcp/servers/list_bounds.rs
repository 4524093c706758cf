//! Limits of tool descriptions from servers, which are part of each request to the model.

use super::mcp_tool::McpTool;
use forgeline_agent::tools::{RegistryError, Tool as _};
use forgeline_types::Text;

/// Maximum length of a tool's description, in bytes; a longer one is truncated.
const MAX_DESCRIPTION_BYTES: usize = 8 << 10;

/// Maximum length of a tool's schema, in bytes, as JSON.
const MAX_SCHEMA_BYTES: usize = 64 << 10;

/// Maximum length of the descriptions and schemas of all tools of a server together, in bytes.
const MAX_ALL_BYTES: usize = 1 << 20;

/// Maximum number of characters of a name in an error.
const MAX_NAME: usize = 100;

/// The space taken by the tools of one server.
#[derive(Debug, Default)]
pub(crate) struct ListBounds {
    bytes: usize,
}

impl ListBounds {
    /// Returns the tool, with its description truncated if it is too long.
    ///
    /// # Errors
    ///
    /// Returns an error when the tool's schema is too long, or the server has no space left.
    pub(crate) fn fit(&mut self, mut tool: McpTool) -> Result<McpTool, RegistryError> {
        let name = || Text::from(tool.name().chars().take(MAX_NAME).collect::<String>());
        let too_long =
            |what, bytes, limit| Err(RegistryError::too_long(name(), what, bytes, limit));
        let schema = tool.schema().to_string().len();
        if schema > MAX_SCHEMA_BYTES {
            return too_long("schema", schema, MAX_SCHEMA_BYTES);
        }
        let bytes = self.bytes + schema + tool.description().len().min(MAX_DESCRIPTION_BYTES);
        if bytes > MAX_ALL_BYTES {
            return too_long("server's whole list up to it", bytes, MAX_ALL_BYTES);
        }
        self.bytes = bytes;
        if let Some(shorter) = cut(tool.description()) {
            tool.describe(shorter);
        }
        Ok(tool)
    }
}

/// Returns an overlong description as shown: truncated, with a note that says so.
fn cut(description: &str) -> Option<String> {
    if description.len() <= MAX_DESCRIPTION_BYTES {
        return None;
    }
    let end = description.floor_char_boundary(MAX_DESCRIPTION_BYTES);
    let (kept, rest) = description.split_at_checked(end)?;
    Some(format!("{kept}… ({} bytes more of the description are left out)", rest.len()))
}
