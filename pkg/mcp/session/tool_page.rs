//! Pages of tool lists, including those of servers that list invalid tools.

use rmcp::{
    ServiceError,
    model::{
        ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, ServerResult,
        Tool as Listed,
    },
    service::{Peer, PeerRequestOptions, RoleClient},
};
use serde_json::Value;

use super::pending_answer::PendingAnswer;

/// A page of a tool list.
pub(crate) struct ToolPage {
    pub(crate) tools: Vec<Listed>,
    /// The cursor of the next page, if there is one.
    pub(crate) next: Option<String>,
}

/// Returns the page at a cursor.
pub(crate) async fn request_page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
) -> Result<ToolPage, ServiceError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    match peer.list_tools(Some(params.clone())).await {
        Ok(page) => Ok(ToolPage { tools: page.tools, next: page.next_cursor }),
        // The protocol parses a page as a whole, so that one invalid tool makes all others invalid.
        // The page is therefore requested once more, and parsed tool by tool.
        Err(ServiceError::UnexpectedResponse) => {
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let options = PeerRequestOptions::no_options();
            let handle = peer.send_cancellable_request(request, options).await?;
            let answer = PendingAnswer::new(handle).answer().await?;
            let ServerResult::CustomResult(CustomResult(answer)) = answer else {
                return Err(ServiceError::UnexpectedResponse);
            };
            parse_page(&answer).ok_or(ServiceError::UnexpectedResponse)
        }
        Err(error) => Err(error),
    }
}

fn parse_page(page: &Value) -> Option<ToolPage> {
    let tools = page.get("tools")?.as_array()?.iter().map(parse_tool).collect();
    let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Some(ToolPage { tools, next })
}

/// Parses a tool. Of an invalid tool the valid parts are used: a tool without a valid schema is
/// left out by name, and other invalid members are treated as absent.
fn parse_tool(value: &Value) -> Listed {
    if let Ok(tool) = serde_json::from_value(value.clone()) {
        return tool;
    }
    let text = |name| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let schema = value.get("inputSchema").and_then(Value::as_object).cloned().unwrap_or_default();
    Listed::new(text("name"), text("description"), schema)
}
