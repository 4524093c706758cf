//! Sending of an act to the node that works on a run.

use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::timeout;

use super::{
    act::{RunAct, SentAct},
    outcome::{ActOutcome, CommandAnswer},
};
use crate::{Problem, runs::run::ServiceRun};
use forgeline_agent::Caller;
use forgeline_store::{
    CommandSent, CommandStore, LogKey, RunCommand, StoreError, StoredCommand, private::new_id,
};
use forgeline_types::Text;

/// Maximum wait for the answer: a node takes over the run of one that died within 11.5 s.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// Maximum wait for the end of a run that was cancelled.
const MAX_END: Duration = Duration::from_secs(10);

/// A number that no command has.
const NEVER_SENT: u64 = u64::MAX >> 1;

/// Maximum number of answered commands with the same act that are counted.
const MAX_ATTEMPTS: u32 = 16;

/// Stores an act as a command of a run, and waits for the answer of the run's owner. With a key of the caller, the act is done once; without, a command that
/// waits for its answer is not stored again.
pub(crate) async fn send(
    store: &dyn CommandStore,
    run: &LogKey,
    sent: &SentAct,
    key: Option<&Text>,
) -> Result<ActOutcome, Problem> {
    let body = serde_json::to_string(sent).map_err(|error| Problem::bad(error.to_string()))?;
    let digest = sent.act.digest();
    let base = match key {
        Some(key) => Some(Text::from(format!("key {key}"))),
        None => sent.act.own_key(&digest),
    };
    let mut attempt = 0;
    loop {
        // The answer to a name that no other request has is the answer to this one: the reply to its storing was lost.
        let (name, is_unique) = match &base {
            Some(base) if attempt == 0 => (base.clone(), false),
            Some(base) if attempt < MAX_ATTEMPTS => (format!("{base} {attempt}").into(), false),
            _ => (new_id("sent-"), true),
        };
        attempt += 1;
        let command = RunCommand::new(name, sent.act.kind(), body.as_str());
        let number = match store.send(run, command).await {
            Ok(CommandSent::New(number)) => number,
            Ok(CommandSent::Same(earlier)) => {
                match repeated(&earlier, &digest, is_unique || key.is_some())? {
                    RepeatedCommand::Waits => earlier.number,
                    RepeatedCommand::Answered(answer) => return answer.into_outcome(),
                    RepeatedCommand::Over => continue,
                }
            }
            Ok(_) => return Err(Problem::busy("the request could not be stored", 5)),
            Err(StoreError::Ended { .. }) => return Ok(ActOutcome::Ended),
            Err(error) => return Err(error.into()),
        };
        return wait(store, run, number).await;
    }
}

/// Sends an act of the owner of a run to the node that works on it; a run that this node has is left alone.
pub(crate) async fn send_elsewhere(run: &ServiceRun, act: RunAct) -> Result<ActOutcome, Problem> {
    let Some(node) = run.elsewhere() else { return Ok(ActOutcome::Ended) };
    let caller = Caller::new(run.owner.clone()).scope(run.key.scope.clone());
    let sent = SentAct::new(&caller, act);
    let outcome = send(&*node.commands, &run.key, &sent, None).await?;
    if outcome == ActOutcome::Ended { sent.act.after_end(run.id()) } else { Ok(outcome) }
}

/// Cancels a run that works on another node, and waits until it has ended, for a limited time.
pub(crate) async fn end_elsewhere(run: &ServiceRun) -> Result<(), Problem> {
    let Some(node) = run.elsewhere() else { return Ok(()) };
    if send_elsewhere(run, RunAct::Cancel).await? == ActOutcome::Done {
        // There is no such command; the wait ends with the run.
        let end = node.commands.wait(&run.key, NEVER_SENT);
        if timeout(MAX_END, end).await.is_err() {
            tracing::warn!(run_id = run.id(), "a cancelled run has not ended on its node");
        }
    }
    Ok(())
}

/// The state of a command with the same key.
enum RepeatedCommand {
    /// The command waits for its answer.
    Waits,
    /// The answer counts for the act when it is sent again.
    Answered(CommandAnswer),
    /// The answer is that to another act.
    Over,
}

/// Returns the state of an earlier command with the key of the caller or of the request (`is_given`), or with the own key of its act.
fn repeated(
    earlier: &StoredCommand,
    digest: &str,
    is_given: bool,
) -> Result<RepeatedCommand, Problem> {
    let Some(answer) = &earlier.answer else {
        let sent = serde_json::from_str::<SentAct>(&earlier.command.body);
        let is_other = is_given && sent.is_ok_and(|sent| sent.act.digest() != digest);
        return if is_other { Err(other_request()) } else { Ok(RepeatedCommand::Waits) };
    };
    if !is_given {
        return Ok(RepeatedCommand::Over);
    }
    let answer = CommandAnswer::read(answer)?;
    if answer.is_retryable() {
        return Ok(RepeatedCommand::Over);
    }
    if answer.digest != digest {
        return Err(other_request());
    }
    Ok(RepeatedCommand::Answered(answer))
}

/// Waits for the answer to a command.
async fn wait(store: &dyn CommandStore, run: &LogKey, number: u64) -> Result<ActOutcome, Problem> {
    match timeout(MAX_WAIT, store.wait_for_answer(run, number)).await {
        Ok(Ok(answer)) => CommandAnswer::read(&answer)?.into_outcome(),
        Ok(Err(StoreError::Ended { .. })) => Ok(ActOutcome::Ended),
        Ok(Err(StoreError::Slow { .. } | StoreError::Unavailable { .. })) | Err(_) => {
            Ok(ActOutcome::Stored)
        }
        Ok(Err(error)) => Err(error.into()),
    }
}

/// Returns the refusal of a key that was used for something else.
pub(crate) fn other_request() -> Problem {
    let detail = "the key was already used for another request; use a new one";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "other_request", detail)
}
