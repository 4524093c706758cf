//! The pending calls of a server, and the requests and notifications that it sends while it works on them.
#![expect(deprecated, reason = "sampling is deprecated, and still asked for")]

use rmcp::{
    Peer, ServiceError,
    model::{
        ClientRequest, CreateMessageRequestParams, ElicitRequestParams, ElicitResult,
        ProgressNotificationParam, ProgressToken, RequestId,
    },
    service::{InboundStreamOrigin, PeerRequestOptions, RoleClient},
};
use tokio::sync::{Mutex, mpsc, oneshot, watch};

use super::pending_answer::PendingAnswer;
use crate::requests::sampling::SamplingResult;
use forgeline_types::Text;

/// Maximum number of a server's questions that wait behind the open one.
const MAX_WAITING: usize = 8;

/// The calls pending at a server.
#[derive(Default)]
pub(crate) struct OpenCalls(Mutex<Vec<OpenCall>>);

struct OpenCall {
    id: RequestId,
    token: ProgressToken,
    run_id: Text,
    wants: mpsc::Sender<InboundRequest>,
    progress: watch::Sender<Option<ProgressReport>>,
}

/// The channels through which a call receives messages from its server before its answer.
pub(crate) struct CallInbox {
    pub(crate) wants: mpsc::Receiver<InboundRequest>,
    pub(crate) progress: watch::Receiver<Option<ProgressReport>>,
}

/// A request of a server to the call that it works on, with the sender of the answer.
pub(crate) enum InboundRequest {
    Input(Box<ElicitRequestParams>, oneshot::Sender<ElicitResult>),
    Sample(Box<CreateMessageRequestParams>, oneshot::Sender<SamplingResult>),
}

/// The progress reported by a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProgressReport {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

impl OpenCalls {
    /// Sends a call. Messages of the server about the call wait until this function returns.
    pub(crate) async fn send(
        &self,
        peer: &Peer<RoleClient>,
        request: ClientRequest,
        run_id: &str,
    ) -> Result<(PendingAnswer, CallInbox), ServiceError> {
        let mut calls = self.0.lock().await;
        let options = PeerRequestOptions::no_options();
        let handle = peer.send_cancellable_request(request, options).await?;
        calls.retain(OpenCall::is_open);
        let (wants, wants_here) = mpsc::channel(MAX_WAITING);
        let (progress, progress_here) = watch::channel(None);
        let (id, token) = (handle.id.clone(), handle.progress_token.clone());
        calls.push(OpenCall { id, token, run_id: run_id.into(), wants, progress });
        Ok((PendingAnswer::new(handle), CallInbox { wants: wants_here, progress: progress_here }))
    }

    /// Passes a server's progress on to its call; progress that does not increase, or belongs to no call, is dropped.
    pub(crate) async fn tell(&self, heard: ProgressNotificationParam) {
        let calls = self.0.lock().await;
        let Some(call) = calls.iter().find(|call| call.token == heard.progress_token) else {
            return;
        };
        call.progress.send_if_modified(|last| {
            let goes_on = last.as_ref().is_none_or(|last| heard.progress > last.done);
            if goes_on {
                let (done, total) = (heard.progress, heard.total);
                *last = Some(ProgressReport { done, total, message: heard.message });
            }
            goes_on
        });
    }

    /// Passes a server's request on to its call; returns the request when the call cannot be determined with
    /// certainty. Without a mark of the transport, calls of two runs could belong to two users.
    pub(crate) async fn want(
        &self,
        origin: Option<&InboundStreamOrigin>,
        wanted: InboundRequest,
    ) -> Result<(), InboundRequest> {
        let calls = self.0.lock().await;
        let mut open = calls.iter().rev().filter(|call| call.is_open());
        let call = if let Some(InboundStreamOrigin::OutboundRequest(id)) = origin {
            open.find(|call| call.id == *id)
        } else {
            let last = open.next();
            last.filter(|last| open.all(|call| call.run_id == last.run_id))
        };
        let Some(call) = call else { return Err(wanted) };
        call.wants.try_send(wanted).map_err(|error| match error {
            mpsc::error::TrySendError::Full(wanted) | mpsc::error::TrySendError::Closed(wanted) => {
                wanted
            }
        })
    }
}

impl OpenCall {
    fn is_open(&self) -> bool {
        !self.wants.is_closed()
    }
}
