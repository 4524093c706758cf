//! Reading of prompts and resources through the protocol.

use std::time::Duration;

use rmcp::{
    ServiceError,
    model::{
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult,
        InputResponses, JsonObject, PaginatedRequestParams, Prompt, ReadResourceRequestParams,
        ReadResourceResponse, Resource, ResourceContents, ResourceTemplate, ServerCapabilities,
    },
};

use tokio::time::sleep;

use super::{
    call::{MAX_ROUNDS, PAUSE},
    mcp_error::McpError,
    server_session::ServerSession,
};
use forgeline_agent::tools::ToolError;

/// Maximum wait for a prompt or a resource.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of prompts, of resources and of templates of one server.
const MAX_FOUND: usize = 1_000;

/// Requests all pages of a list, at most [`MAX_FOUND`] items.
macro_rules! pages {
    ($session:ident, $list:ident, $items:ident, $what:literal) => {
        async {
            let (mut found, mut cursor) = (Vec::new(), None);
            loop {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let page = $session.service.peer().$list(Some(page)).await;
                let page = page.map_err(|error| $session.error(&error))?;
                found.extend(page.$items);
                if found.len() > MAX_FOUND {
                    let server = $session.server.clone();
                    return Err(McpError::TooMany { server, what: $what, limit: MAX_FOUND });
                }
                match page.next_cursor {
                    Some(next) => cursor = Some(next),
                    None => return Ok(found),
                }
            }
        }
    };
}

impl ServerSession {
    /// Lists the prompts of the server, from all pages; empty if the server does not offer prompts.
    pub(crate) async fn prompts(&self) -> Result<Vec<Prompt>, McpError> {
        if !self.offers_other(|offered| offered.prompts.is_some()) {
            return Ok(Vec::new());
        }
        let pages = pages!(self, list_prompts, prompts, "prompts");
        self.within("prompts/list", self.list_timeout(), pages).await?
    }

    /// Lists the resources and templates of the server, from all pages; empty if the server does not offer them.
    pub(crate) async fn resources(
        &self,
    ) -> Result<(Vec<Resource>, Vec<ResourceTemplate>), McpError> {
        if !self.offers_other(|offered| offered.resources.is_some()) {
            return Ok((Vec::new(), Vec::new()));
        }
        let pages = pages!(self, list_resources, resources, "resources");
        let resources = self.within("resources/list", self.list_timeout(), pages).await??;
        let pages = pages!(self, list_resource_templates, resource_templates, "templates");
        let templates = self.within("resources/templates/list", self.list_timeout(), pages).await?;
        match templates {
            Ok(templates) => Ok((resources, templates)),
            // Some servers with resources do not support templates.
            Err(McpError::Failed { .. }) => Ok((resources, Vec::new())),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
    ) -> Result<GetPromptResult, McpError> {
        let mut params = GetPromptRequestParams::new(name).with_arguments(arguments);
        for _ in 0..MAX_ROUNDS {
            // Boxed, since the future is large.
            let asked = Box::pin(self.service.peer().get_prompt_once(params.clone()));
            match self.answer("prompts/get", asked).await? {
                GetPromptResponse::Complete(prompt) => return Ok(prompt),
                GetPromptResponse::InputRequired(required) => {
                    params.request_state.clone_from(&required.request_state);
                    params.input_responses = self.input(required).await?;
                }
                _ => break,
            }
        }
        Err(self.error(&ServiceError::UnexpectedResponse))
    }

    pub(crate) async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, McpError> {
        let mut params = ReadResourceRequestParams::new(uri);
        for _ in 0..MAX_ROUNDS {
            let asked = Box::pin(self.service.peer().read_resource_once(params.clone()));
            match self.answer("resources/read", asked).await? {
                ReadResourceResponse::Complete(read) => return Ok(read.contents),
                ReadResourceResponse::InputRequired(required) => {
                    params.request_state.clone_from(&required.request_state);
                    params.input_responses = self.input(required).await?;
                }
                _ => break,
            }
        }
        Err(self.error(&ServiceError::UnexpectedResponse))
    }

    /// Answers a server's request for input outside of a run, which only the program can.
    async fn input(
        &self,
        required: InputRequiredResult,
    ) -> Result<Option<InputResponses>, McpError> {
        let Some(requests) = required.input_requests else {
            sleep(PAUSE).await;
            return Ok(None);
        };
        let responses = self.client.inputs(requests, None).await;
        let failed = |error: ToolError| McpError::Failed {
            server: self.server.clone(),
            message: error.to_string(),
        };
        responses.map(Some).map_err(failed)
    }

    /// Waits for an answer, which may be too long or never arrive.
    async fn answer<T>(
        &self,
        request: &'static str,
        answer: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, McpError> {
        let trouble = self.next_trouble();
        let answered = async {
            tokio::select! {
                biased;
                answer = answer => answer.map_err(|error| self.error(&error)),
                trouble = trouble => Err(self.trouble(&trouble)),
            }
        };
        self.within(request, READ_TIMEOUT, answered).await?
    }

    fn offers_other(&self, has: impl FnOnce(&ServerCapabilities) -> bool) -> bool {
        self.service.peer().peer_info().is_some_and(|info| has(&info.capabilities))
    }
}
