//! What every check works with.

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

/// The key that no output may hold.
pub(super) const KEY: &str = "sk-conformance-5f0c1d9a7b3e";
/// The model that is configured.
pub(super) const MODEL: &str = "conformance-model";

/// Why a check did not pass.
#[derive(Debug)]
pub(super) enum Miss {
    /// It does not hold; each entry says where and how.
    Fails(Vec<String>),
    /// There is nothing to check, and why.
    Absent(String),
}

/// What a check came to.
pub(super) type Verdict = Result<(), Miss>;

/// Fails with `what` unless `holds`.
pub(super) fn hold(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Miss::Fails(vec![what()])) }
}

/// There is nothing to check.
pub(super) fn absent(why: &str) -> Miss {
    Miss::Absent(why.to_owned())
}

/// What several rows of one check came to.
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

/// The subject, and how its provider is set up unless a check says otherwise.
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
    /// A fresh provider that never waits and never retries, but for what `change` sets.
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

    /// The frames of an answer, unless the protocol has no such thing.
    pub(super) fn frames(&self, answer: &Answer, what: &str) -> Result<Vec<Bytes>, Miss> {
        let frames = self.subject.answer(answer);
        frames.ok_or_else(|| Miss::Absent(format!("the protocol has no {what}")))
    }

    /// The frames of a plain answer, which every protocol has.
    pub(super) fn plain(&self, answer: &Answer) -> Result<Vec<Bytes>, Miss> {
        let frames = self.subject.answer(answer);
        frames.ok_or_else(|| Miss::Fails(vec!["the subject writes no plain answer".to_owned()]))
    }

    /// The frames of an answer that calls tools, in whatever way the protocol ends one.
    pub(super) fn call_frames(&self, answer: &Answer) -> Result<Vec<Bytes>, Miss> {
        let of_calls = self.subject.answer(&answer.clone().finish(FinishReason::ToolCalls));
        of_calls.map_or_else(|| self.frames(answer, "native tool calls"), Ok)
    }

    /// What the provider declares by itself.
    pub(super) fn capabilities(&self) -> Result<Capabilities, Miss> {
        Ok(self.trial(|_| ())?.provider.info().capabilities)
    }

    /// What comes of a simple prompt when the server replies so.
    pub(super) async fn ask(&self, reply: Reply) -> Result<Run, Miss> {
        let trial = self.trial(|_| ())?;
        Ok(trial.ask(reply).await)
    }
}

impl Trial {
    /// Plays `reply` to the next request, with the content type of an answer where it has none.
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

    /// What comes of `request`.
    pub(super) async fn run(&self, request: Request) -> Run {
        Run::of(&*self.provider, request).await
    }

    /// What comes of a simple prompt when the server replies so.
    pub(super) async fn ask(&self, reply: Reply) -> Run {
        self.reply(reply);
        self.run(prompt()).await
    }
}

/// A simple prompt.
pub(super) fn prompt() -> Request {
    Request::prompt("What grows here?")
}
