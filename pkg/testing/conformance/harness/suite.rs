//! The setup of a provider with its server, for all checks.

use std::sync::Arc;

use bytes::Bytes;

use super::{Answer, Candidate, RequestRun, ScriptedServer, ServerReply, Setup, Subject};
use crate::conformance::verdict::CheckMiss;
use forgeline_llm::{Request, RetryPolicy, Timeouts};
use forgeline_types::{Capabilities, FinishReason, Text};

/// The key that no output may contain.
pub(in crate::conformance) const KEY: &str = "sk-conformance-5f0c1d9a7b3e";
/// The configured model.
pub(in crate::conformance) const MODEL: &str = "conformance-model";

/// The subject, and the default setup of its provider.
pub(in crate::conformance) struct CheckSuite<'s> {
    pub(in crate::conformance) subject: &'s dyn Subject,
}

/// A provider and its server.
pub(in crate::conformance) struct ProviderTrial {
    pub(in crate::conformance) server: ScriptedServer,
    pub(in crate::conformance) provider: Arc<dyn Candidate>,
    content_type: &'static str,
}

impl CheckSuite<'_> {
    /// Builds a provider without timeouts and retries, modified by `change`.
    pub(in crate::conformance) fn trial(
        &self,
        change: impl FnOnce(&mut Setup),
    ) -> Result<ProviderTrial, CheckMiss> {
        let server = ScriptedServer::default();
        let mut setup = Setup {
            transport: Arc::new(server.clone()),
            key: KEY.to_owned(),
            model: Text::from(MODEL),
            timeouts: Timeouts::NONE,
            retry: RetryPolicy::NONE,
            capabilities: None,
        };
        change(&mut setup);
        let provider = self.subject.provider(&setup);
        let provider = provider.map_err(|error| {
            CheckMiss::Fails(vec![format!("the provider is not built: {error}")])
        })?;
        Ok(ProviderTrial { server, provider, content_type: self.subject.content_type() })
    }

    /// Returns the frames of an answer, or a miss if the protocol cannot express it.
    pub(in crate::conformance) fn frames(
        &self,
        answer: &Answer,
        what: &str,
    ) -> Result<Vec<Bytes>, CheckMiss> {
        let frames = self.subject.answer(answer);
        frames.ok_or_else(|| CheckMiss::Absent(format!("the protocol has no {what}")))
    }

    /// Returns the frames of a plain answer, which every protocol must support.
    pub(in crate::conformance) fn plain(&self, answer: &Answer) -> Result<Vec<Bytes>, CheckMiss> {
        let frames = self.subject.answer(answer);
        frames
            .ok_or_else(|| CheckMiss::Fails(vec!["the subject writes no plain answer".to_owned()]))
    }

    /// Returns the frames of an answer that calls tools, with the finish reason that the protocol has.
    pub(in crate::conformance) fn call_frames(
        &self,
        answer: &Answer,
    ) -> Result<Vec<Bytes>, CheckMiss> {
        let of_calls = self.subject.answer(&answer.clone().finish(FinishReason::ToolCalls));
        of_calls.map_or_else(|| self.frames(answer, "native tool calls"), Ok)
    }

    /// Returns the capabilities that the provider declares.
    pub(in crate::conformance) fn capabilities(&self) -> Result<Capabilities, CheckMiss> {
        Ok(self.trial(|_| ())?.provider.info().capabilities)
    }

    /// Sends a simple prompt to a server that returns this reply.
    pub(in crate::conformance) async fn ask(
        &self,
        reply: ServerReply,
    ) -> Result<RequestRun, CheckMiss> {
        let trial = self.trial(|_| ())?;
        Ok(trial.ask(reply).await)
    }
}

impl ProviderTrial {
    /// Queues `reply` for the next request, with the content type of an answer if it has none.
    pub(in crate::conformance) fn reply(&self, reply: ServerReply) {
        let has_type = match &reply {
            ServerReply::Answer { headers, .. } => {
                headers.iter().any(|(name, _)| name == "content-type")
            }
            ServerReply::Gone | ServerReply::Silent => true,
        };
        let content_type = match &reply {
            ServerReply::Answer { status: 200..300, .. } => self.content_type,
            ServerReply::Answer { .. } | ServerReply::Gone | ServerReply::Silent => {
                "application/json"
            }
        };
        let typed = if has_type { reply } else { reply.header("content-type", content_type) };
        self.server.reply(typed);
    }

    /// Sends `request` and reads the answer.
    pub(in crate::conformance) async fn run(&self, request: Request) -> RequestRun {
        RequestRun::send(&*self.provider, request).await
    }

    /// Sends a simple prompt to a server that returns this reply.
    pub(in crate::conformance) async fn ask(&self, reply: ServerReply) -> RequestRun {
        self.reply(reply);
        self.run(prompt()).await
    }
}

/// Returns a simple prompt.
pub(in crate::conformance) fn prompt() -> Request {
    Request::prompt("What grows here?")
}
