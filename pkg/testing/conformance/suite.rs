//! The parts shared by all checks.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Answer, Candidate, Setup, Subject,
    seen::Run,
    server::{Reply, Server},
};
use crate::{
    llm::{Request, RetryPolicy, Timeouts},
    types::{Capabilities, FinishReason, Text},
};

/// The key that no output may contain.
pub(super) const KEY: &str = "sk-conformance-5f0c1d9a7b3e";
/// The configured model.
pub(super) const MODEL: &str = "conformance-model";

/// The reason why a check did not pass.
#[derive(Debug)]
pub(super) enum Miss {
    /// The provider does not conform; each entry names a place and a difference.
    Fails(Vec<String>),
    /// The check does not apply, for this reason.
    Absent(String),
}

/// The result of a check.
pub(super) type Verdict = Result<(), Miss>;

/// Fails with `what` unless `holds`.
pub(super) fn hold(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Miss::Fails(vec![what()])) }
}

/// Returns the verdict of a check that does not apply.
pub(super) fn absent(why: &str) -> Miss {
    Miss::Absent(why.to_owned())
}

/// The results of the rows of one check.
#[derive(Debug, Default)]
pub(super) struct Rows {
    fails: Vec<String>,
    absent: Option<String>,
    held: usize,
}

impl Rows {
    pub(super) fn add(&mut self, row: &str, verdict: Verdict) {
        match verdict {
            Ok(()) => self.held += 1,
            Err(Miss::Absent(why)) => self.absent = Some(why),
            Err(Miss::Fails(details)) => {
                self.fails.extend(details.into_iter().map(|detail| format!("{row}: {detail}")));
            }
        }
    }

    pub(super) fn verdict(self) -> Verdict {
        match self.absent {
            _ if !self.fails.is_empty() => Err(Miss::Fails(self.fails)),
            Some(why) if self.held == 0 => Err(Miss::Absent(why)),
            _ => Ok(()),
        }
    }
}

/// The subject, and the default setup of its provider.
pub(super) struct Suite<'s> {
    pub(super) subject: &'s dyn Subject,
}

/// A provider and its server.
pub(super) struct Trial {
    pub(super) server: Server,
    pub(super) provider: Arc<dyn Candidate>,
    content_type: &'static str,
}

impl Suite<'_> {
    /// Builds a provider without timeouts and retries, modified by `change`.
    pub(super) fn trial(&self, change: impl FnOnce(&mut Setup)) -> Result<Trial, Miss> {
        let server = Server::default();
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
        let provider = provider
            .map_err(|error| Miss::Fails(vec![format!("the provider is not built: {error}")]))?;
        Ok(Trial { server, provider, content_type: self.subject.content_type() })
    }

    /// Returns the frames of an answer, or a miss if the protocol cannot express it.
    pub(super) fn frames(&self, answer: &Answer, what: &str) -> Result<Vec<Bytes>, Miss> {
        let frames = self.subject.answer(answer);
        frames.ok_or_else(|| Miss::Absent(format!("the protocol has no {what}")))
    }

    /// Returns the frames of a plain answer, which every protocol must support.
    pub(super) fn plain(&self, answer: &Answer) -> Result<Vec<Bytes>, Miss> {
        let frames = self.subject.answer(answer);
        frames.ok_or_else(|| Miss::Fails(vec!["the subject writes no plain answer".to_owned()]))
    }

    /// Returns the frames of an answer that calls tools, with the finish reason that the protocol has.
    pub(super) fn call_frames(&self, answer: &Answer) -> Result<Vec<Bytes>, Miss> {
        let of_calls = self.subject.answer(&answer.clone().finish(FinishReason::ToolCalls));
        of_calls.map_or_else(|| self.frames(answer, "native tool calls"), Ok)
    }

    /// Returns the capabilities that the provider declares.
    pub(super) fn capabilities(&self) -> Result<Capabilities, Miss> {
        Ok(self.trial(|_| ())?.provider.info().capabilities)
    }

    /// Sends a simple prompt to a server that returns this reply.
    pub(super) async fn ask(&self, reply: Reply) -> Result<Run, Miss> {
        let trial = self.trial(|_| ())?;
        Ok(trial.ask(reply).await)
    }
}

impl Trial {
    /// Queues `reply` for the next request, with the content type of an answer if it has none.
    pub(super) fn reply(&self, reply: Reply) {
        let has_type = match &reply {
            Reply::Answer { headers, .. } => headers.iter().any(|(name, _)| name == "content-type"),
            Reply::Gone | Reply::Silent => true,
        };
        let content_type = match &reply {
            Reply::Answer { status: 200..300, .. } => self.content_type,
            Reply::Answer { .. } | Reply::Gone | Reply::Silent => "application/json",
        };
        let typed = if has_type { reply } else { reply.header("content-type", content_type) };
        self.server.reply(typed);
    }

    /// Sends `request` and reads the answer.
    pub(super) async fn run(&self, request: Request) -> Run {
        Run::of(&*self.provider, request).await
    }

    /// Sends a simple prompt to a server that returns this reply.
    pub(super) async fn ask(&self, reply: Reply) -> Run {
        self.reply(reply);
        self.run(prompt()).await
    }
}

/// Returns a simple prompt.
pub(super) fn prompt() -> Request {
    Request::prompt("What grows here?")
}
