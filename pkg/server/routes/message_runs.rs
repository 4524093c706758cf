//! The run of each message of a page, and the calls that a model wrote in its text.

use serde_json::{Value, json};

use crate::{Problem, conversations::agents::AgentSet};
use forgeline_agent::Caller;
use forgeline_store::{ConversationKey, RunQuery, StoredMessage, StoredRun, Stores};
use forgeline_types::{Message, MessageRole, Text};

/// Maximum number of last runs of a conversation that are searched for those of a page, and number of runs read at a time.
const MAX_RUNS: usize = 1_000;
const STEP: usize = 200;

/// Returns messages as a page shows them: with `run_id` if the run is known, and with `as_read`, the parts with calls and texts separated, if the model
/// wrote calls as text.
pub(super) async fn with_runs(
    (stores, agents): (&Stores, &AgentSet),
    key: &ConversationKey,
    (agent, caller): (&str, &Caller),
    messages: &[StoredMessage],
) -> Result<Vec<Value>, Problem> {
    let Some(first) = messages.iter().map(|message| message.at_ms).min() else {
        return Ok(Vec::new());
    };
    let runs = runs_of(stores, key, first).await?;
    // Made for the first message that it is needed for.
    let mut own = None;
    let runs = runs_by_message(&runs, messages);
    let behind = messages.last().map_or(0, |last| last.number + 1);
    let behind = stores.conversations.messages(key, behind, 1).await?;
    let mut shown = Vec::with_capacity(messages.len());
    for ((at, stored), run) in messages.iter().enumerate().zip(runs) {
        let mut value = json!(stored);
        if let Value::Object(fields) = &mut value {
            if let Some(run) = run {
                fields.insert("run_id".to_owned(), run.as_str().into());
            }
            let next = messages.get(at + 1).or(behind.first()).map(|next| &next.message);
            if has_written_calls(&stored.message, next) {
                if own.is_none() {
                    own = Some(agents.for_caller(agent, caller).await.ok());
                }
                let own = own.as_ref().and_then(Option::as_ref);
                if let Some(read) = own.and_then(|agent| agent.read_again(&stored.message)) {
                    fields.insert("as_read".to_owned(), json!(read));
                }
            }
        }
        shown.push(value);
    }
    Ok(shown)
}

/// Returns `true` for an answer whose calls may be written as text: it has none, and is followed by results.
fn has_written_calls(message: &Message, next: Option<&Message>) -> bool {
    let has_results = next.is_some_and(|next| next.tool_results().next().is_some());
    let has_none = message.tool_calls().next().is_none();
    message.role == MessageRole::Assistant && has_none && has_results
}

/// Returns the last runs of a conversation that had not ended before this time.
async fn runs_of(
    stores: &Stores,
    key: &ConversationKey,
    from_ms: u64,
) -> Result<Vec<StoredRun>, Problem> {
    let mut query = RunQuery::new(key.scope.clone(), STEP).conversation(key.id.clone());
    let mut runs = Vec::new();
    loop {
        let page = stores.runs.list(query.clone()).await?;
        let is_before = |run: &StoredRun| run.ended_ms.is_some_and(|ended_ms| ended_ms < from_ms);
        let is_all = page.runs.last().is_none_or(is_before);
        runs.extend(page.runs);
        if is_all || page.next.is_none() || runs.len() >= MAX_RUNS {
            return Ok(runs);
        }
        query.after = page.next;
    }
}

/// Returns the run of each message. The runs of a conversation work one after another: a message between the start and end of a run belongs to it; if
/// there are several such runs, to the one that ends first.
fn runs_by_message<'r>(runs: &'r [StoredRun], messages: &[StoredMessage]) -> Vec<Option<&'r Text>> {
    let mut runs: Vec<_> = runs.iter().collect();
    runs.sort_by_key(|run| (run.ended_ms.unwrap_or(u64::MAX), run.begun_ms));
    let (mut known, mut last) = (Vec::<Option<&Text>>::new(), None::<&StoredRun>);
    for StoredMessage { at_ms, message, .. } in messages {
        let is_of = |run: &StoredRun| {
            run.begun_ms <= *at_ms && run.ended_ms.is_none_or(|ended_ms| *at_ms <= ended_ms)
        };
        let is_new = |run: &StoredRun| !known.contains(&Some(&run.key.name));
        let first = || runs.iter().copied().find(|run| is_of(run));
        let run = if message.role == MessageRole::User {
            // A message to a run that never worked has the time of the run's start. When one run ends, the next may start.
            let begins = runs.iter().copied().find(|run| run.begun_ms == *at_ms && is_new(run));
            let is_over = |run: &StoredRun| run.ended_ms == Some(*at_ms);
            let next = || runs.iter().copied().find(|run| is_of(run) && is_new(run));
            let goes_on = last.filter(|run| is_of(run) && !is_over(run));
            begins.or(goes_on).or_else(next).or_else(first)
        } else {
            last.filter(|run| is_of(run)).or_else(first)
        };
        known.push(run.map(|run| &run.key.name));
        last = run;
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_store::LogKey;

    /// Returns a run by its name, its beginning and its end.
    fn run((name, begun_ms, ended_ms): (&str, u64, Option<u64>)) -> StoredRun {
        let mut run = StoredRun::new(LogKey::new("s", name), "c", "ann", "main", begun_ms);
        run.ended_ms = ended_ms;
        run
    }

    /// Asserts whose the messages are; a time with `!` is that of something the user said.
    fn check(runs: &[(&str, u64, Option<u64>)], messages: &[(u64, bool, &str)]) {
        let runs: Vec<_> = runs.iter().copied().map(run).collect();
        let stored = messages.iter().zip(0..).map(|((at_ms, is_said, _), number)| {
            let message = if *is_said { Message::user("x") } else { Message::assistant("x") };
            StoredMessage::new(number, *at_ms, message)
        });
        let stored: Vec<_> = stored.collect();
        let found = runs_by_message(&runs, &stored);
        let found: Vec<_> = found.into_iter().map(|run| run.map_or("", Text::as_str)).collect();
        let wanted: Vec<_> = messages.iter().map(|(_, _, run)| *run).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_message_is_of_the_run_that_worked_when_it_came() {
        let runs = [("b", 4, Some(9)), ("a", 1, Some(6))];
        // The second one waits until the first has ended; one at the moment of its end is of the next.
        check(&runs, &[(1, true, "a"), (5, false, "a"), (6, true, "b"), (9, false, "b")]);
        // Words meanwhile are of the run that hears them.
        check(&runs, &[(2, true, "a"), (5, true, "a"), (6, false, "a"), (7, true, "b")]);
        // All of it in one moment.
        let quick = [("a", 1, Some(1)), ("b", 1, Some(1)), ("c", 2, None)];
        check(&quick, &[(1, true, "a"), (1, false, "a"), (1, true, "b"), (1, false, "b")]);
        check(&quick, &[(3, true, "c"), (9, false, "c")]);
        check(&runs, &[(0, true, ""), (10, true, ""), (10, false, "")]);
    }

    #[test]
    fn words_to_a_run_that_never_worked_are_its_own() {
        let runs = [("a", 1, Some(9)), ("b", 3, Some(5))];
        check(&runs, &[(1, true, "a"), (4, false, "a"), (3, true, "b"), (8, false, "a")]);
    }
}
