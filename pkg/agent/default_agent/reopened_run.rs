//! A run reopened from a journal, for a service that keeps the events of runs in a log.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use crate::{
    driver::{RunSetup, RunStart},
    journal::{Chain, OpenIs, OpenRun},
    run::{RunContext, RunInput},
    steering::{Approvals, ClientCalls, Questions, Steering},
    streams::RunStream,
};
use forgeline_types::{AgentError, AgentEvent, Text, UsageInfo, debug_fields};

/// The state of a run in a journal.
#[derive(Debug)]
pub enum RunInJournal {
    /// The run continues, or its end was not reported.
    Open(Box<ReopenedRun>),
    /// Other runs have started since.
    Over,
    /// The run has not started.
    Unknown,
}

/// A run that continues.
pub struct ReopenedRun {
    conversation: Conversation,
    run: OpenRun,
    chain: Chain,
    setting: Option<RunSetup>,
}

debug_fields!(ReopenedRun, reopened: conversation = reopened.conversation);

/// The handles of a run.
pub struct RunHandles {
    #[doc(hidden)]
    pub approvals: Approvals,
    #[doc(hidden)]
    pub client_calls: ClientCalls,
    #[doc(hidden)]
    pub questions: Questions,
    #[doc(hidden)]
    pub steering: Steering,
    #[doc(hidden)]
    pub cancel: CancellationToken,
}

debug_fields!(RunHandles, handles: steering = handles.steering);

impl RunHandles {
    /// Returns the handles of a run that continues here.
    #[doc(hidden)]
    pub fn of_stream(stream: &RunStream) -> Self {
        Self {
            approvals: stream.approvals(),
            client_calls: stream.client_calls(),
            questions: stream.questions(),
            steering: stream.steering(),
            cancel: stream.cancel_token(),
        }
    }

    /// Returns the handles of a run that does not continue: it has no requests, and ignores messages.
    #[doc(hidden)]
    pub fn none() -> Self {
        let cancel = CancellationToken::new();
        let steering = Steering::new(&cancel);
        Self {
            approvals: Approvals::of_run(steering.clone()),
            client_calls: ClientCalls::of_run(steering.clone()),
            questions: Questions::of_run(steering.clone()),
            steering,
            cancel,
        }
    }
}

impl Conversation {
    /// Reads the conversation of the journal, and its state of a run. `share` restores, by its id, the values of the run that had not ended.
    #[doc(hidden)]
    pub async fn reopen(
        &self,
        run_id: &str,
        share: impl FnOnce(&str, &mut RunContext),
    ) -> Result<RunInJournal, AgentError> {
        let (open, read) = self.restore_with(OpenIs::ResumedOr(run_id), share).await?;
        let own = open.filter(|(run, ..)| run.state.outcome().run_id == *run_id);
        Ok(match own {
            Some((run, chain, setting)) => RunInJournal::Open(Box::new(ReopenedRun {
                conversation: Self(Arc::clone(&self.0)),
                run,
                chain,
                setting,
            })),
            None if read.has_begun(run_id) => RunInJournal::Over,
            None => RunInJournal::Unknown,
        })
    }

    /// Reads the conversation of the journal, and leaves a run that had not ended as it is.
    #[doc(hidden)]
    pub async fn reread(&self) -> Result<(), AgentError> {
        self.restore_with(OpenIs::Left, |_, _| {}).await.map(drop)
    }

    /// Reads its messages from the journal unless a run is in progress, which then knows them; returns `true` if they were read.
    #[doc(hidden)]
    pub async fn reread_if_idle(&self) -> Result<bool, AgentError> {
        let Ok(mut turn) = self.0.turn.try_lock() else { return Ok(false) };
        self.0.restore(turn.as_mut(), OpenIs::Left, |_, _| {}).await?;
        Ok(true)
    }

    /// Returns a run with this id as a stream of its events.
    #[doc(hidden)]
    pub fn run_stream_as(&self, input: RunInput, run_id: Text) -> RunStream {
        RunStream::new(self.0.clone(), RunStart::Input(Box::new(input)), run_id)
    }
}

impl ReopenedRun {
    /// Returns the number of events before the last line of the journal.
    #[doc(hidden)]
    pub fn events(&self) -> u64 {
        self.run.events
    }

    /// Returns the token usage of the run's requests before the last line of the journal.
    #[doc(hidden)]
    pub fn usage(&self) -> Option<UsageInfo> {
        self.run.state.outcome().usage
    }

    /// Returns the ids of the requests that the run waits for, both approval requests and calls at the client.
    #[doc(hidden)]
    pub fn requests(&self) -> Vec<Text> {
        self.run.state.requests()
    }

    /// Returns the run as a stream of its further events; `reported` are those already received from number [`events`](Self::events) on.
    #[doc(hidden)]
    pub fn into_stream(self, reported: Vec<AgentEvent>) -> RunStream {
        let Self { conversation, mut run, chain, setting } = self;
        run.told = reported;
        let run_id = run.state.outcome().run_id.clone();
        RunStream::new(conversation.0, RunStart::Open(Box::new(run), chain, setting), run_id)
    }
}
