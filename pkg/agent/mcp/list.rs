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

use super::waiting::Waiting;

/// A page of a list of tools.
pub(super) struct Page {
    pub(super) tools: Vec<Listed>,
    /// The mark of the next page, if there is one.
    pub(super) next: Option<String>,
}

/// Returns the page behind a mark.
pub(super) async fn page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
) -> Result<Page, ServiceError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    match peer.list_tools(Some(params.clone())).await {
        Ok(page) => Ok(Page { tools: page.tools, next: page.next_cursor }),
        // The protocol is read as a whole: one tool that is none takes the others with it. So it is asked for once more, and
        // read tool by tool.
        Err(ServiceError::UnexpectedResponse) => {
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let options = PeerRequestOptions::no_options();
            let handle = peer.send_cancellable_request(request, options).await?;
            let answer = Waiting::new(handle).answer().await?;
            let ServerResult::CustomResult(CustomResult(answer)) = answer else {
                return Err(ServiceError::UnexpectedResponse);
            };
            read(&answer).ok_or(ServiceError::UnexpectedResponse)
        }
        Err(error) => Err(error),
    }
}

fn read(page: &Value) -> Option<Page> {
    let tools = page.get("tools")?.as_array()?.iter().map(tool).collect();
    let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Some(Page { tools, next })
}

/// Returns a tool. Of one that is wrong it is what is right of it: without a schema it is left out by name, and what else it
/// says wrong counts as not said.
fn tool(value: &Value) -> Listed {
    if let Ok(tool) = serde_json::from_value(value.clone()) {
        return tool;
    }
    let text = |name| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let schema = value.get("inputSchema").and_then(Value::as_object).cloned().unwrap_or_default();
    Listed::new(text("name"), text("description"), schema)
}
