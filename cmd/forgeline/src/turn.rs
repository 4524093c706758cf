//! One run of the agent on the screen.

use std::time::{Duration, Instant};

use forgeline::{
    agent::{Conversation, OutcomeKind, RunOutcome, RunStream, run::Budget, steering::Steering},
    llm::Cost,
    types::{
        AgentError, AgentEvent, ApiCallStartEvent, Completion, CompletionBuilder, ErrorCode,
        Message, Text,
    },
};
use tokio::time;

use crate::{
    approve::RequestHandles,
    bill::RunBill,
    context::WindowUse,
    interrupt::StopHandle,
    render::{left_line, usage_line},
    run_facts::{RunFacts, TurnBuilder},
    show::EventDisplay,
    spinner,
};

/// The outcome of one run.
#[derive(Debug)]
pub struct TurnOutcome {
    /// The run's outcome; of one that failed, what it had come to.
    pub outcome: RunOutcome,
    /// The error, if the run failed or ended without what was asked for.
    pub error: Option<AgentError>,
    /// The completion of its last answer.
    pub completion: Completion,
    /// Its ending and its turns.
    pub facts: RunFacts,
    /// The cost of its calls, where it is known.
    pub cost: Option<Cost>,
    /// Its duration.
    pub took: Duration,
    /// Its budget.
    pub budget: Budget,
    /// The share of the window that its last answer has used; empty where it is not known.
    pub window: String,
}

impl TurnOutcome {
    /// Returns tokens, cost, turns, time and what is left of the budget on one line.
    #[must_use]
    pub fn footer(&self) -> String {
        let usage = self.outcome.usage.as_ref().map(usage_line).unwrap_or_default();
        let turns = match self.outcome.turns {
            1 => "1 turn".to_owned(),
            turns => format!("{turns} turns"),
        };
        let time = format!("{}.{} s", self.took.as_secs(), self.took.subsec_millis() / 100);
        let cost = self.cost.map(|cost| format!("{cost} at list prices")).unwrap_or_default();
        let is_cut = self.outcome.reason == OutcomeKind::Cut;
        let is_empty = self.outcome.reason == OutcomeKind::Empty;
        let end = if is_cut { "truncated at the length limit" } else { "" };
        let end = if is_empty { "no answer" } else { end };
        let left = left_line(&self.budget, &self.outcome.spent);
        let parts = [end.to_owned(), usage, cost, turns, time, self.window.clone(), left];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}

/// Continues the conversation with `input`, in a window of `window` tokens where it is known, and shows its events; `stop` stops the run, and what is open ends properly.
/// `listen` is called ten times a second: it may steer the run and answer its requests, and returns remarks
/// to show.
///
/// # Errors
///
/// When writing fails.
pub async fn take(
    conversation: &Conversation,
    input: Message,
    window: Option<u64>,
    show: &mut EventDisplay,
    stop: &StopHandle,
    mut listen: impl FnMut(&Steering, &RequestHandles) -> Vec<String>,
) -> anyhow::Result<TurnOutcome> {
    let start = Instant::now();
    let mut stream = conversation.run_stream(input);
    stop.include(stream.cancel_token());
    show.begin();
    let (mut builder, mut turns) = (CompletionBuilder::default(), TurnBuilder::default());
    let (mut bill, mut model) = (RunBill::default(), None);
    let mut used = WindowUse::with_window(window);
    let (steering, mut ends) = (stream.steering(), RequestHandles::for_stream(&stream));
    let mut ticks = time::interval(spinner::TURN);
    loop {
        tokio::select! {
            biased;
            // First, as an answer may never pause.
            _ = ticks.tick() => {
                show.tick(stop).await?;
                for remark in listen(&steering, &ends) {
                    show.remark(&remark, stop).await?;
                }
            }
            envelope = stream.next() => {
                let Some(envelope) = envelope else { break };
                show.event(&envelope, stop).await?;
                ends.has_shown(&envelope.event);
                builder.push(&envelope.event);
                turns.push(&envelope);
                bill.event(&envelope.event);
                used.event(&envelope.event);
                if let AgentEvent::ApiCallStart(ApiCallStartEvent { model: name, .. }) = envelope.event {
                    model = Some(name);
                }
            }
        }
    }
    let (outcome, error) = outcome(stream).await;
    let mut completion = complete(builder, &outcome, model, error.as_ref());
    let facts = RunFacts { ending: outcome.reason.ending(), turns: turns.finish() };
    facts.narrow(&mut completion, &outcome.text);
    let cost = bill.total().or(outcome.spent.cost);
    let (took, budget) = (start.elapsed(), conversation.config().budget);
    let window = used.line(conversation.context_tokens());
    let turn = TurnOutcome { outcome, error, completion, facts, cost, took, budget, window };
    show.end(&turn.completion, &turn.facts, &turn.footer(), stop).await?;
    Ok(turn)
}

async fn outcome(stream: RunStream) -> (RunOutcome, Option<AgentError>) {
    match stream.outcome().await {
        Ok(outcome) if outcome.reason == OutcomeKind::Cut => {
            let message =
                "the answer was cut off at its limit of tokens; raise it, or ask for less at once";
            (outcome, Some(AgentError::new(ErrorCode::CutAnswer, message)))
        }
        Ok(outcome) => (outcome, None),
        Err(failed) => (*failed.outcome, Some(failed.error)),
    }
}

/// Returns the completion of a whole run: that of its events, with the sums of its requests.
fn complete(
    builder: CompletionBuilder,
    outcome: &RunOutcome,
    model: Option<Text>,
    error: Option<&AgentError>,
) -> Completion {
    let mut completion = builder.finish();
    completion.usage = outcome.usage;
    completion.finish_reason.clone_from(&outcome.finish_reason);
    completion.model = model.filter(|model| !model.is_empty());
    completion.complete = error.is_none();
    completion.error = error.cloned();
    completion
}
