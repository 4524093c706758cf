//! The path of a call to the client and back.

use std::time::Duration;

use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{event_emitter::EventEmitter, result::read_result};
use crate::{
    access::{ClientCall, authorize},
    prompts::feedback,
    run::RunContext,
    setup::AgentSetup,
    state::{CallFailure, CallId, FailureKind, ReturnedCall, ToolEnd},
    support::elapsed_ms,
    tools::{ToolError, ToolOutput},
};
use forgeline_types::{
    AgentEvent, Capabilities, ClientFailure, ClientReturn, ClientToolRequest, Text, TextOrigin,
    ToolCall,
};

/// A call to be sent, or the reason for which it is not sent.
pub(super) struct OutgoingCall {
    pub(super) id: CallId,
    request: Result<ClientToolRequest, ReturnedCall>,
}

impl OutgoingCall {
    /// Returns the call if it may be sent, depending on whether the run has a reader.
    pub(super) fn new(
        parts: &AgentSetup,
        id: CallId,
        client_call_id: &Text,
        call: &ToolCall,
        run: &RunContext,
        has_reader: bool,
    ) -> Self {
        let request = request(parts, client_call_id, call, run, has_reader);
        let request =
            request.map_err(|refusal| ended(client_call_id.clone(), Err(refusal), 0, false));
        Self { id, request }
    }

    /// Announces the call to the client; returns a future of its outcome.
    pub(super) async fn send<'a>(
        self: Box<Self>,
        parts: &'a AgentSetup,
        emitter: &mut EventEmitter,
        halt: CancellationToken,
    ) -> Result<impl Future<Output = ReturnedCall> + Send + use<'a>, ReturnedCall> {
        let request = self.request?;
        if halt.is_cancelled() {
            let recalled = Err(CallFailure(FailureKind::NotRun, feedback::RECALLED.to_owned()));
            return Err(ended(request.client_call_id, recalled, 0, false));
        }
        let (client_call_id, name) = (request.client_call_id.clone(), request.tool_name.clone());
        let gate = parts.answer_gate(&name);
        let answer =
            emitter.steering().map(|steering| steering.open_request(request.clone(), gate));
        let event = AgentEvent::ClientToolRequest(Box::new(request));
        emitter.emit_while_running(event).await;
        let wait = ClientWait::new(parts, client_call_id, name);
        Ok(async move { wait.returned(answer, &halt).await })
    }
}

/// Builds the request for a call, if it may be sent.
fn request(
    parts: &AgentSetup,
    client_call_id: &Text,
    call: &ToolCall,
    run: &RunContext,
    has_reader: bool,
) -> Result<ClientToolRequest, CallFailure> {
    let name = &call.name;
    if let Some(ToolEnd { result: Err(refusal), .. }) = parts.forbidden(name, run) {
        return Err(refusal);
    }
    let no_client = || CallFailure(FailureKind::Denied, feedback::no_client(name));
    let entry = parts.tools.find(name).zip(call.arguments.clone());
    let (entry, arguments) = entry.ok_or_else(no_client)?;
    let asked = ClientCall::in_run(&entry.spec.name, arguments.as_str(), run);
    authorize(parts.authorizer.as_deref(), &asked).map_err(|reason| {
        CallFailure(FailureKind::Unauthorized, feedback::unauthorized(name, &reason))
    })?;
    if !has_reader {
        return Err(no_client());
    }
    let (id, client_call_id) = (call.id.clone(), client_call_id.clone());
    let mut request = ClientToolRequest::new(client_call_id, id, name.clone(), arguments);
    request.tool_module = entry.tool.module().map(Text::from);
    Ok(request)
}

/// The wait for a call's result, with its limits.
struct ClientWait {
    client_call_id: Text,
    name: Text,
    limit: Duration,
    most: usize,
    origin: TextOrigin,
}

impl ClientWait {
    fn new(parts: &AgentSetup, client_call_id: Text, name: Text) -> Self {
        let entry = parts.tools.find(&name);
        let tool = entry.as_ref().map(|entry| entry.tool);
        let own = tool.and_then(|tool| tool.timeout());
        let limit = own.unwrap_or(parts.config.client_timeout);
        let own = tool.and_then(|tool| tool.max_result_chars());
        let most = own.unwrap_or(parts.config.max_result_chars);
        let origin = tool.map(|tool| tool.origin()).unwrap_or_default();
        Self { client_call_id, name, limit, most, origin }
    }

    async fn returned(
        self,
        answer: Option<oneshot::Receiver<ClientReturn>>,
        halt: &CancellationToken,
    ) -> ReturnedCall {
        let Self { client_call_id, name, limit, most, origin } = self;
        let sent = Instant::now();
        let heard = async {
            match answer {
                Some(answer) => answer.await.ok(),
                None => None,
            }
        };
        // A client returns only text.
        let text = |heard| read_result(&name, output(heard), most, Capabilities::default()).0;
        let result = tokio::select! {
            biased;
            () = halt.cancelled() => None,
            heard = heard => heard.map(text),
            () = sleep(limit) => Some(Err(CallFailure(FailureKind::TimedOut, feedback::client_silent(&name, limit)))),
        };
        let is_late = matches!(&result, Some(Err(CallFailure(FailureKind::TimedOut, _))));
        let result = result.unwrap_or_else(|| {
            Err(CallFailure(FailureKind::NotRun, feedback::RECALLED.to_owned()))
        });
        let mut returned = ended(client_call_id, result, elapsed_ms(sent), is_late);
        returned.end.origin = origin;
        returned
    }
}

fn ended(
    client_call_id: Text,
    result: Result<String, CallFailure>,
    duration_ms: u64,
    is_withdrawn: bool,
) -> ReturnedCall {
    ReturnedCall {
        client_call_id,
        end: ToolEnd { duration_ms, ..ToolEnd::at_once(result) },
        is_withdrawn,
    }
}

/// Returns the client's return value as the result of a tool.
fn output(returned: ClientReturn) -> Result<ToolOutput, ToolError> {
    match returned {
        ClientReturn::Result { content, .. } => Ok(content.into()),
        ClientReturn::Failure { kind, message, .. } => Err(match kind {
            ClientFailure::WatchdogTimeout => {
                ToolError::transient(format!("it took too long at the client: {message}"))
            }
            ClientFailure::UnknownTool => {
                ToolError::failed(format!("the client has no such tool: {message}"))
            }
            ClientFailure::ToolThrew | _ => ToolError::failed(message),
        }),
        _ => Err(ToolError::failed("the client's answer cannot be read")),
    }
}
