//! The client end of the protocol: the requests and notifications that servers may send.
#![expect(deprecated, reason = "roots and sampling are deprecated, and still asked for")]

use std::{
    collections::BTreeMap,
    convert::Infallible,
    future::pending,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use rmcp::{
    ErrorData,
    model::{
        CreateMessageRequestMethod, CreateMessageRequestParams, ElicitRequestParams, ElicitResult,
        InputRequest, InputRequests, InputResponses, ListRootsResult, Root,
    },
};
use serde_json::Value;
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

use super::open_calls::{CallInbox, InboundRequest, OpenCalls, ProgressReport};
use crate::requests::{
    elicitation::{cancelled, question, result},
    mcp_options::McpOptions,
    respondent::McpQuestion,
    sampling::{SamplingResult, sample},
};
use forgeline_agent::{
    private::complete_form,
    tools::{Question, ToolContext, ToolError},
};
use forgeline_types::{Text, ToolAnswer};

/// Maximum number of progress events of one call.
const MAX_PROGRESS: u32 = 1_000;

/// Maximum number of characters of a server's progress message or log message.
pub(crate) const MAX_SAID: usize = 500;

/// Maximum number of a server's requests in one result that asks for input.
const MAX_INPUTS: usize = 16;

/// Maximum wait for the program's answer to a question that belongs to no call.
const WITHOUT_CALL_TIMEOUT: Duration = Duration::from_mins(5);

/// This end of a session; clones refer to the same end.
#[derive(Clone)]
pub(crate) struct SessionClient(pub(crate) Arc<SessionClientInner>);

pub(crate) struct SessionClientInner {
    pub(crate) server: Text,
    pub(crate) options: McpOptions,
    pub(crate) calls: OpenCalls,
    /// The number of times that the server has reported a change of its tool list.
    pub(crate) changes: AtomicU64,
    /// The value of `changes` when the current list was requested.
    listed: AtomicU64,
    /// The permits for questions that belong to no call, which the program answers.
    pub(crate) without_call: Semaphore,
}

impl SessionClient {
    pub(crate) fn new(server: Text, options: McpOptions) -> Self {
        let (calls, changes, listed) = Default::default();
        let without_call = Semaphore::new(MAX_INPUTS);
        Self(Arc::new(SessionClientInner { server, options, calls, changes, listed, without_call }))
    }

    pub(crate) fn calls(&self) -> &OpenCalls {
        &self.0.calls
    }

    pub(crate) fn options(&self) -> &McpOptions {
        &self.0.options
    }

    /// Returns `true` when the tool list has changed since the current list was requested.
    pub(crate) fn has_changed(&self) -> bool {
        self.changes() > self.0.listed.load(Ordering::Acquire)
    }

    /// Returns the number of changes of the tool list so far.
    pub(crate) fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::Acquire)
    }

    /// Records that a list has arrived which was requested after this number of changes.
    pub(crate) fn has_list(&self, changes: u64) {
        self.0.listed.fetch_max(changes, Ordering::AcqRel);
    }

    /// Passes on what a server reports and asks while it works on a call.
    pub(crate) async fn serve(&self, inbox: &mut CallInbox, context: &ToolContext) -> Infallible {
        let mut told = 0;
        loop {
            tokio::select! {
                biased;
                Ok(()) = inbox.progress.changed() => {
                    context.progressed();
                    if told == MAX_PROGRESS {
                        inbox.progress.borrow_and_update();
                        continue;
                    }
                    told += 1;
                    let progress = inbox.progress.borrow_and_update().as_ref().map(line);
                    context.output(&progress.unwrap_or_default()).await;
                }
                Some(wanted) = inbox.wants.recv() => self.give(wanted, context).await,
                else => return pending().await,
            }
        }
    }

    /// Answers a server, unless it withdraws its question.
    async fn give(&self, wanted: InboundRequest, context: &ToolContext) {
        match wanted {
            InboundRequest::Input(params, reply) => {
                hand(reply, self.input(*params, Some(context))).await;
            }
            InboundRequest::Sample(params, reply) => {
                hand(reply, self.sample(*params, context)).await;
            }
        }
    }

    /// Asks the model that servers may use, if there is one and a person allows it.
    async fn sample(
        &self,
        params: CreateMessageRequestParams,
        context: &ToolContext,
    ) -> SamplingResult {
        match &self.0.options.sampling {
            Some(sampling) => sample(sampling, &self.0.server, params, context).await,
            None => Err(ErrorData::method_not_found::<CreateMessageRequestMethod>()),
        }
    }

    /// Answers the requests in a result that asks for input.
    pub(crate) async fn inputs(
        &self,
        requests: InputRequests,
        context: Option<&ToolContext>,
    ) -> Result<InputResponses, ToolError> {
        if requests.len() > MAX_INPUTS {
            return Err(self.failed(&format!("asks for more than {MAX_INPUTS} inputs at once")));
        }
        let mut responses = BTreeMap::new();
        for (key, request) in requests {
            let may_sample = self.0.options.sampling.is_some();
            let is_for_roots = matches!(request, InputRequest::ListRoots(_));
            let response = if let InputRequest::Elicitation(request) = request {
                serde_json::to_value(self.input(request.params, context).await)
            } else if let InputRequest::CreateMessage(request) = request
                && let Some(context) = context.filter(|_| may_sample)
            {
                let sampled = self.sample(request.params, context).await;
                serde_json::to_value(sampled.map_err(|error| self.failed(&error.message))?)
            } else if is_for_roots && !self.0.options.roots.is_empty() {
                serde_json::to_value(self.roots())
            } else {
                return Err(self.failed("requests something that it was not offered"));
            };
            responses.insert(key, response.unwrap_or(Value::Null));
        }
        Ok(responses)
    }

    fn failed(&self, problem: &str) -> ToolError {
        ToolError::failed(format!("the MCP server `{}` {problem}", self.0.server))
    }

    /// Asks the program or, failing that, the user of the run.
    pub(crate) async fn input(
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

    /// Asks only the program, about a question that belongs to no call; questions beyond the limit are not asked.
    pub(crate) async fn input_without_call(&self, params: ElicitRequestParams) -> ElicitResult {
        let Ok(_place) = self.0.without_call.try_acquire() else { return cancelled() };
        let answer = timeout(WITHOUT_CALL_TIMEOUT, self.input(params, None)).await;
        answer.unwrap_or_else(|_late| cancelled())
    }

    /// Asks the program; returns `None` when the program leaves the answer to the user.
    async fn respond(
        &self,
        question: &Question,
        context: Option<&ToolContext>,
    ) -> Option<ToolAnswer> {
        let SessionClientInner { server, options, .. } = &*self.0;
        let respondent = options.respondent.as_ref()?;
        let run = context.map(|context| context.run().clone());
        let asked = McpQuestion::new(server.clone(), question, run);
        let answer = AssertUnwindSafe(async { respondent.respond(asked).await }).catch_unwind();
        let answer = match context {
            Some(context) => context.wait_for_person(answer).await,
            None => Some(answer.await),
        };
        let Some(Ok(answer)) = answer else { return Some(ToolAnswer::Cancel) };
        let answer = complete_form(question.schema.as_ref(), answer?);
        Some(answer.unwrap_or_else(|problem| {
            tracing::warn!(%server, %problem, "an answer does not match the form, and is not sent");
            ToolAnswer::Cancel
        }))
    }

    pub(crate) fn roots(&self) -> ListRootsResult {
        ListRootsResult::new(self.0.options.roots.iter().map(Root::new).collect())
    }
}

/// Sends an answer, unless the server withdraws its question.
async fn hand<T>(mut reply: oneshot::Sender<T>, answer: impl Future<Output = T>) {
    tokio::select! {
        biased;
        () = reply.closed() => {}
        answer = answer => {
            // The server may have ended in the meantime.
            let _gone = reply.send(answer);
        }
    }
}

/// Returns progress as one line.
fn line(progress: &ProgressReport) -> String {
    let ProgressReport { done, total, message } = progress;
    let message = message.iter().flat_map(|message| message.chars()).take(MAX_SAID);
    let mut line: String = message.map(|it| if it == '\n' { ' ' } else { it }).collect();
    let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
    line =
        if line.is_empty() { format!("{done}{total}") } else { format!("{line} ({done}{total})") };
    line + "\n"
}
