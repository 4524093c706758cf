//! A run reopened from a journal, for a service that keeps the events of runs in a log.

use tokio_util::sync::CancellationToken;

use super::{
    Approvals, ClientCalls, DefaultAgent, Questions, RunContext, RunInput, RunStream, Steering,
    driver::{Setting, Start},
    journal::{Chain, OpenIs, OpenRun},
};
use crate::types::{AgentError, AgentEvent, Text, UsageInfo};

/// The state of a run in a journal.
pub(crate) enum Found {
    /// The run continues, or its end was not reported.
    Open(Box<Reopened>),
    /// Other runs have started since.
    Over,
    /// The run has not started.
    Unknown,
}

/// A run that continues.
pub(crate) struct Reopened {
    agent: DefaultAgent,
    run: OpenRun,
    chain: Chain,
    setting: Option<Setting>,
}

/// The handles of a run.
pub(crate) struct Ways {
    pub(crate) approvals: Approvals,
    pub(crate) client_calls: ClientCalls,
    pub(crate) questions: Questions,
    pub(crate) steering: Steering,
    pub(crate) cancel: CancellationToken,
}

impl Ways {
    /// Returns the handles of a run that continues here.
    pub(crate) fn of(stream: &RunStream) -> Self {
        Self {
            approvals: stream.approvals(),
            client_calls: stream.client_calls(),
            questions: stream.questions(),
            steering: stream.steering(),
            cancel: stream.cancel_token(),
        }
    }

    /// Returns the handles of a run that does not continue: it has no requests, and ignores messages.
    pub(crate) fn none() -> Self {
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

impl DefaultAgent {
    /// Reads the conversation of the journal, and its state of a run. `share` restores, by its id, the values of the run that had not ended.
    pub(crate) async fn reopen(
        &self,
        run_id: &str,
        share: impl FnOnce(&str, &mut RunContext),
    ) -> Result<Found, AgentError> {
        let (open, read) = self.restore_with(OpenIs::ResumedOr(run_id), share).await?;
        let own = open.filter(|(run, ..)| run.state.outcome().run_id == *run_id);
        Ok(match own {
            Some((run, chain, setting)) => {
                Found::Open(Box::new(Reopened { agent: self.clone(), run, chain, setting }))
            }
            None if read.has_begun(run_id) => Found::Over,
            None => Found::Unknown,
        })
    }

    /// Reads the conversation of the journal, and leaves a run that had not ended as it is.
    pub(crate) async fn reread(&self) -> Result<(), AgentError> {
        self.restore_with(OpenIs::Left, |_, _| {}).await.map(drop)
    }

    /// Returns a run with this id as a stream of its events.
    pub(crate) fn run_stream_as(&self, input: RunInput, run_id: Text) -> RunStream {
        RunStream::new(self.0.clone(), Start::Input(Box::new(input)), run_id)
    }
}

impl Reopened {
    /// Returns the number of events before the last line of the journal.
    pub(crate) fn events(&self) -> u64 {
        self.run.events
    }

    /// Returns the token usage of the run's requests before the last line of the journal.
    pub(crate) fn usage(&self) -> Option<UsageInfo> {
        self.run.state.outcome().usage
    }

    /// Returns the ids of the requests that the run waits for, both approval requests and calls at the client.
    pub(crate) fn requests(&self) -> Vec<Text> {
        self.run.state.requests()
    }

    /// Returns the run as a stream of its further events; `told` are those already received from number [`events`](Self::events) on.
    pub(crate) fn into_stream(self, told: Vec<AgentEvent>) -> RunStream {
        let Self { agent, mut run, chain, setting } = self;
        run.told = told;
        let run_id = run.state.outcome().run_id.clone();
        RunStream::new(agent.0, Start::Open(run, chain, setting), run_id)
    }
}
