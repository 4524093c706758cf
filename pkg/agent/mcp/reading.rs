//! Prompts and resources, as the protocol has them.

use std::time::Duration;

use rmcp::{
    ServiceError,
    model::{
        GetPromptRequestParams, GetPromptResult, JsonObject, PaginatedRequestParams, Prompt,
        ReadResourceRequestParams, Resource, ResourceContents, ResourceTemplate,
    },
};

use super::{
    McpError,
    session::{LIST_TIMEOUT, Session},
};

/// Longest wait for a prompt or a resource.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Most prompts, resources and templates of one server, each.
const MAX_FOUND: usize = 1_000;

/// Lists all pages of something, at most [`MAX_FOUND`].
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

impl Session {
    /// Lists the prompts of the server, all pages; none where it has no such thing.
    pub(super) async fn prompts(&self) -> Result<Vec<Prompt>, McpError> {
        if !self.offers_other(|offered| offered.prompts.is_some()) {
            return Ok(Vec::new());
        }
        let pages = pages!(self, list_prompts, prompts, "prompts");
        self.within("prompts/list", LIST_TIMEOUT, pages).await?
    }

    /// Lists the resources of the server and its templates, all pages; none where it has no such thing.
    pub(super) async fn resources(
        &self,
    ) -> Result<(Vec<Resource>, Vec<ResourceTemplate>), McpError> {
        if !self.offers_other(|offered| offered.resources.is_some()) {
            return Ok((Vec::new(), Vec::new()));
        }
        let pages = pages!(self, list_resources, resources, "resources");
        let resources = self.within("resources/list", LIST_TIMEOUT, pages).await??;
        let pages = pages!(self, list_resource_templates, resource_templates, "templates");
        let templates = self.within("resources/templates/list", LIST_TIMEOUT, pages).await?;
        match templates {
            Ok(templates) => Ok((resources, templates)),
            // Some servers with resources know no templates.
            Err(McpError::Failed { .. }) => Ok((resources, Vec::new())),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
    ) -> Result<GetPromptResult, McpError> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        self.answer("prompts/get", self.service.get_prompt(params)).await
    }

    pub(super) async fn read(&self, uri: &str) -> Result<Vec<ResourceContents>, McpError> {
        let params = ReadResourceRequestParams::new(uri);
        let read = self.answer("resources/read", self.service.read_resource(params)).await?;
        Ok(read.contents)
    }

    /// Waits for an answer, which may be too long or never come.
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

    fn offers_other(&self, has: impl FnOnce(&rmcp::model::ServerCapabilities) -> bool) -> bool {
        self.service.peer().peer_info().is_some_and(|info| has(&info.capabilities))
    }
}
