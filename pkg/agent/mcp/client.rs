//! This end of the protocol: what servers may ask for, and what they say unasked.
#![expect(deprecated, reason = "roots are deprecated, and still asked for")]

use std::{
    collections::BTreeMap,
    convert::Infallible,
    future::pending,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::FutureExt as _;
use rmcp::{
    ClientHandler, ErrorData,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
        FormElicitationCapability, Implementation, InputRequest, InputRequests, InputResponses,
        ListRootsRequestMethod, ListRootsResult, LoggingMessageNotificationParam,
        ProgressNotificationParam, Root, RootsCapabilities, UrlElicitationCapability,
    },
    service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient},
};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    McpOptions, McpQuestion,
    elicitation::{cancelled, question, result},
    open_calls::{Inbox, OpenCalls, Progress, Wanted},
};
use crate::{
    agent::tools::{Question, ToolContext, ToolError, form},
    types::{Text, ToolAnswer},
};

/// Most events of progress of one call.
const MAX_PROGRESS: u32 = 1_000;

/// Most characters of a server's message of progress, or for its log.
const MAX_SAID: usize = 500;

/// Most requests of a server in one result that asks for input.
const MAX_INPUTS: usize = 16;

/// This end of a session; clones are the same end.
#[derive(Clone)]
pub(super) struct Client(Arc<Inner>);

struct Inner {
    server: Text,
    options: McpOptions,
    calls: OpenCalls,
    /// `true` when the server's list of tools has changed since it was read.
    has_changed: AtomicBool,
}

impl Client {
    pub(super) fn new(server: Text, options: McpOptions) -> Self {
        let (calls, has_changed) = (OpenCalls::default(), AtomicBool::new(false));
        Self(Arc::new(Inner { server, options, calls, has_changed }))
    }

    pub(super) fn calls(&self) -> &OpenCalls {
        &self.0.calls
    }

    /// Returns `true` when the list of tools has changed since this was asked last.
    pub(super) fn take_change(&self) -> bool {
        self.0.has_changed.swap(false, Ordering::AcqRel)
    }

    /// Passes on what a server says and asks while it works on a call.
    pub(super) async fn serve(&self, inbox: &mut Inbox, context: &ToolContext) -> Infallible {
        let mut told = 0;
        loop {
            tokio::select! {
                biased;
                Ok(()) = inbox.progress.changed(), if told < MAX_PROGRESS => {
                    told += 1;
                    let progress = inbox.progress.borrow_and_update().as_ref().map(line);
                    context.output(&progress.unwrap_or_default()).await;
                }
                Some(wanted) = inbox.wants.recv() => self.give(wanted, context).await,
                else => return pending().await,
            }
        }
    }

    /// Answers a server, unless it takes its question back.
    async fn give(&self, wanted: Wanted, context: &ToolContext) {
        let Wanted::Input(params, mut reply) = wanted;
        tokio::select! {
            biased;
            () = reply.closed() => {}
            answer = self.input(*params, Some(context)) => {
                // The server may have ended meanwhile.
                let _gone = reply.send(answer);
            }
        }
    }

    /// Answers the requests of a result that asks for input.
    pub(super) async fn inputs(
        &self,
        requests: InputRequests,
        context: &ToolContext,
    ) -> Result<InputResponses, ToolError> {
        if requests.len() > MAX_INPUTS {
            return Err(self.failed(&format!("asks for more than {MAX_INPUTS} inputs at once")));
        }
        let mut responses = BTreeMap::new();
        for (key, request) in requests {
            let response = match request {
                InputRequest::Elicitation(request) => {
                    serde_json::to_value(self.input(request.params, Some(context)).await)
                }
                InputRequest::ListRoots(_) if !self.0.options.roots.is_empty() => {
                    serde_json::to_value(self.roots())
                }
                _ => return Err(self.failed("asks for what it was not offered")),
            };
            responses.insert(key, response.unwrap_or(Value::Null));
        }
        Ok(responses)
    }

    fn failed(&self, problem: &str) -> ToolError {
        ToolError::failed(format!("the MCP server `{}` {problem}", self.0.server))
    }

    /// Asks the program, and else the user of the run.
    async fn input(
        &self,
        params: ElicitRequestParams,
        context: Option<&ToolContext>,
    ) -> ElicitResult {
        let Some(question) = question(params) else { return cancelled() };
        let answer = match self.respond(&question, context).await {
            Some(answer) => answer,
            None => match context {
                Some(context) => context.ask(question.clone()).await,
                None => ToolAnswer::Cancel,
            },
        };
        result(&question, answer)
    }

    /// Asks the program; `None` when it leaves the answer to the user.
    async fn respond(
        &self,
        question: &Question,
        context: Option<&ToolContext>,
    ) -> Option<ToolAnswer> {
        let Inner { server, options, .. } = &*self.0;
        let respondent = options.respondent.as_ref()?;
        let run = context.map(|context| context.run().clone());
        let asked = McpQuestion::new(server.clone(), question, run);
        let answer = AssertUnwindSafe(async { respondent.respond(asked).await }).catch_unwind();
        let answer = match context {
            Some(context) => context.wait_for_person(answer).await,
            None => Some(answer.await),
        };
        let Some(Ok(answer)) = answer else { return Some(ToolAnswer::Cancel) };
        let answer = form::complete(question.schema.as_ref(), answer?);
        Some(answer.unwrap_or_else(|problem| {
            tracing::warn!(%server, %problem, "an answer of the respondent does not fit, and is not sent");
            ToolAnswer::Cancel
        }))
    }

    fn roots(&self) -> ListRootsResult {
        ListRootsResult::new(self.0.options.roots.iter().map(Root::new).collect())
    }
}

/// Returns progress as a line.
fn line(progress: &Progress) -> String {
    let Progress { done, total, message } = progress;
    let message = message.iter().flat_map(|message| message.chars()).take(MAX_SAID);
    let mut line: String = message.map(|it| if it == '\n' { ' ' } else { it }).collect();
    let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
    line =
        if line.is_empty() { format!("{done}{total}") } else { format!("{line} ({done}{total})") };
    line + "\n"
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut offered = ClientCapabilities::default();
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new().with_schema_validation(true))
            .with_url(UrlElicitationCapability::new());
        offered.elicitation = Some(elicitation);
        if !self.0.options.roots.is_empty() {
            offered.roots = Some(RootsCapabilities::default());
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
        let wanted = Wanted::Input(Box::new(params), reply);
        let answered = async {
            match self.0.calls.want(origin, wanted).await {
                Ok(()) => answer.await.unwrap_or_else(|_| cancelled()),
                Err(Wanted::Input(params, _)) => self.input(*params, None).await,
            }
        };
        Ok(tokio::select! {
            biased;
            () = context.ct.cancelled() => cancelled(),
            answer = answered => answer,
        })
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

    /// Keeps the log of a server from the terminal: control characters are escaped, and only who traces sees it.
    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let said: String = message.data.to_string().chars().take(MAX_SAID).collect();
        tracing::debug!(server = %self.0.server, level = ?message.level, ?said, "an MCP server says");
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.has_changed.store(true, Ordering::Release);
    }
}
