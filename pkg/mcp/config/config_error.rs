//! Errors of a configuration.

/// An error in a configuration: the wrong member, and what was expected.
///
/// # Examples
///
/// ```
/// use forgeline::agent::mcp::McpConfig;
///
/// let config = McpConfig::parse(r#"{"mcpServers":{"files":{"comand":"ls"}}}"#)?;
/// assert_eq!(config.warnings[0].member, "mcpServers.files.comand");
/// assert_eq!(config.refused[0].member, "mcpServers.files.command");
/// # Ok::<(), forgeline::agent::mcp::McpConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{member}` {problem}")]
#[non_exhaustive]
pub struct McpConfigError {
    /// The path of the member, such as `mcpServers.files.command`.
    pub member: String,
    /// The problem, and what was expected. It never contains a value of `env`.
    pub problem: String,
}
