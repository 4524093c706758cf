//! The session with a server: requests, calls, and what the server asks meanwhile.

pub(crate) mod call;
pub(crate) mod client_handler;
pub(crate) mod context_requests;
pub(crate) mod mcp_error;
pub(crate) mod open_calls;
pub(crate) mod over_http;
pub(crate) mod pending_answer;
pub(crate) mod remote_errors;
pub(crate) mod server_process;
pub(crate) mod server_session;
pub(crate) mod session_client;
pub(crate) mod tool_page;
