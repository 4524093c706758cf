//! One run of the agent on the screen.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use forgeline::{
    agent::{CALL_MODE_FALLBACK, DefaultAgent, RunOutcome, RunStream},
    llm::Cost,
    types::{AgentError, AgentEvent, Completion, CompletionBuilder, Envelope, Text},
};
use serde_json::Value;
use tokio::{signal, time};

use crate::{
    bill::Bill,
    exit::note,
    output::Output,
    render::{escape_controls, usage_line},
    spinner::{self, Spinner},
};

/// The outcome of one run.
#[derive(Debug)]
pub struct Turn {
    /// The run's outcome; of one that failed, what it had come to.
    pub outcome: RunOutcome,
    /// The error, if the run failed.
    pub error: Option<AgentError>,
    /// The completion of its events.
    pub completion: Completion,
    /// The cost of its calls, where it is known.
    pub cost: Option<Cost>,
    /// `true` when the user stopped it.
    pub interrupted: bool,
    /// Its duration.
    pub took: Duration,
}

impl Turn {
    /// Returns tokens, cost, turns and time on one line.
    #[must_use]
    pub fn footer(&self) -> String {
        let usage = self.outcome.usage.as_ref().map(usage_line).unwrap_or_default();
        let turns = match self.outcome.turns {
            1 => "1 turn".to_owned(),
            turns => format!("{turns} turns"),
        };
        let time = format!("{}.{} s", self.took.as_secs(), self.took.subsec_millis() / 100);
        let cost = self.cost.map(|cost| format!("{cost} at list prices")).unwrap_or_default();
        let parts = [usage, cost, turns, time];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}

/// Runs the agent on `input` and shows its events; Ctrl-C stops the run, and what is open ends
/// properly.
///
/// # Errors
///
/// When writing fails.
pub async fn take(
    agent: &DefaultAgent,
    input: String,
    output: &mut Output<impl Write>,
    watched: bool,
) -> anyhow::Result<Turn> {
    let start = Instant::now();
    let mut stream = agent.run_stream(input);
    let (mut builder, mut bill) = (CompletionBuilder::default(), Bill::default());
    let (mut model, mut interrupted) = (None, false);
    let mut spinner = Spinner::new(watched);
    let mut ticks = time::interval(spinner::TURN);
    loop {
        tokio::select! {
            biased;
            stop = signal::ctrl_c(), if !interrupted => {
                stop.context("cannot listen for Ctrl-C")?;
                interrupted = true;
                stream.cancel();
            }
            envelope = stream.next() => {
                let Some(envelope) = envelope else { break };
                show(&envelope, output, &mut spinner)?;
                builder.push(&envelope.event);
                bill.event(&envelope.event);
                if let AgentEvent::ApiCallStart { model: name, .. } = envelope.event {
                    model = Some(name);
                }
            }
            _ = ticks.tick(), if watched => {
                if output.is_at_line_start() {
                    spinner.turn();
                }
            }
        }
    }
    spinner.clear();
    let (outcome, error) = outcome(stream).await;
    let completion = complete(builder, &outcome, model, error.as_ref());
    let cost = bill.total();
    Ok(Turn { outcome, error, completion, cost, interrupted, took: start.elapsed() })
}

fn show(
    envelope: &Envelope,
    output: &mut Output<impl Write>,
    spinner: &mut Spinner,
) -> anyhow::Result<()> {
    spinner.clear();
    if let AgentEvent::ApiCallStart { .. } = &envelope.event {
        spinner.wait_for("waiting for the model".to_owned());
    } else if let AgentEvent::ToolCall { tool_name, .. } = &envelope.event {
        let name = escape_controls(tool_name).replace('\n', " ");
        spinner.wait_for(format!("{name} is running"));
    } else if let AgentEvent::Custom { name, data } = &envelope.event
        && name == CALL_MODE_FALLBACK
    {
        let reason = data.get("reason").and_then(Value::as_str).unwrap_or_default();
        let reason = escape_controls(reason).replace('\n', " ");
        note(&format!("the provider refuses tools, so calls are written as text now ({reason})"));
    }
    output.envelope(envelope)?;
    Ok(output.flush()?)
}

async fn outcome(stream: RunStream) -> (RunOutcome, Option<AgentError>) {
    match stream.outcome().await {
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
