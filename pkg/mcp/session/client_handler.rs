//! The client handler that the protocol implementation calls.
#![expect(deprecated, reason = "roots and sampling are deprecated, and still asked for")]

use std::sync::atomic::Ordering;

use rmcp::{
    ClientHandler, ErrorData,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestMethod, CreateMessageRequestParams,
        CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationCapability,
        FormElicitationCapability, Implementation, ListRootsRequestMethod, ListRootsResult,
        LoggingMessageNotificationParam, ProgressNotificationParam, RootsCapabilities,
        SamplingCapability, UrlElicitationCapability,
    },
    service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient},
};
use tokio::sync::oneshot;

use super::{
    open_calls::InboundRequest,
    session_client::{MAX_SAID, SessionClient},
};
use crate::requests::{elicitation::cancelled, sampling::refused};

impl ClientHandler for SessionClient {
    fn get_info(&self) -> ClientConfig {
        let mut offered = ClientCapabilities::default();
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new().with_schema_validation(true))
            .with_url(UrlElicitationCapability::new());
        offered.elicitation = Some(elicitation);
        if !self.0.options.roots.is_empty() {
            offered.roots = Some(RootsCapabilities::default());
        }
        if self.0.options.sampling.is_some() {
            offered.sampling = Some(SamplingCapability::default());
        }
        ClientConfig::new(offered, Implementation::new("forgeline", env!("CARGO_PKG_VERSION")))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (reply, answer) = oneshot::channel();
        let origin = context.extensions.get::<InboundStreamOrigin>();
        let wanted = InboundRequest::Input(Box::new(params), reply);
        let answered = async {
            match self.0.calls.want(origin, wanted).await {
                Ok(()) => answer.await.unwrap_or_else(|_| cancelled()),
                Err(InboundRequest::Input(params, _)) => self.input_without_call(*params).await,
                Err(InboundRequest::Sample(..)) => cancelled(),
            }
        };
        Ok(tokio::select! {
            biased;
            () = context.ct.cancelled() => cancelled(),
            answer = answered => answer,
        })
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        if self.0.options.sampling.is_none() {
            return Err(ErrorData::method_not_found::<CreateMessageRequestMethod>());
        }
        let (reply, answer) = oneshot::channel();
        let origin = context.extensions.get::<InboundStreamOrigin>();
        let wanted = InboundRequest::Sample(Box::new(params), reply);
        let answered = async {
            let wanted = self.0.calls.want(origin, wanted).await;
            if wanted.is_ok() {
                answer.await.unwrap_or_else(|_| Err(refused()))
            } else {
                Err(refused())
            }
        };
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(refused()),
            answer = answered => answer,
        }
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        if self.0.options.roots.is_empty() {
            return Err(ErrorData::method_not_found::<ListRootsRequestMethod>());
        }
        Ok(self.roots())
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.calls.tell(progress).await;
    }

    /// Logs a server's message at debug level, with control characters escaped to protect the terminal.
    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let said: String = message.data.to_string().chars().take(MAX_SAID).collect();
        tracing::debug!(server = %self.0.server, level = ?message.level, ?said, "an MCP server says");
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.changes.fetch_add(1, Ordering::AcqRel);
    }
}
