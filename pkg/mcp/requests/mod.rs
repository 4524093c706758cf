//! Requests of servers for answers of people and of models.

pub(crate) mod elicitation;
pub(crate) mod mcp_options;
pub(crate) mod respondent;
pub(crate) mod sampling;
