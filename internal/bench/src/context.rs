//! What long conversations and many notes cost: a query over notes, and turns in a window.

use std::time::Instant;

use forgeline::agent::{
    Agent, OutcomeKind,
    knowledge::{KnowledgeIndex as _, LexicalIndex, Owner},
};
use forgeline_testing::{ScriptedProvider, ScriptedTurn};

use crate::{Result, gate::Report, measure::median, provider::runtime};

const NOTES: usize = 10_000;
const QUERIES: usize = 51;
/// Turns of the conversations, of which the last stretches are compared.
const TURNS: [usize; 2] = [500, 5_000];
const STRETCH: usize = 200;
const RUNS: usize = 5;

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    query(report)?;
    trimming(report)
}

/// Words that come in few notes each.
fn note(at: usize) -> (String, String) {
    let place = ["harbour", "mill", "bridge", "market"][at % 4];
    let text = format!(
        "Note {at}: the {place} of district {} was looked at on day {}, and part {} of it is worn.",
        at % 97,
        at % 365,
        at * 7 % 1_009
    );
    (format!("note-{at}"), text)
}

/// Reports the time of a query over many notes.
fn query(report: &mut Report) -> Result<()> {
    let index = LexicalIndex::new((0..NOTES).map(note))?;
    let runtime = runtime()?;
    let mut times = Vec::new();
    for at in 0..QUERIES {
        let wanted = at * 191;
        let words =
            format!("worn part {} of the bridge in district {}", wanted * 7 % 1_009, wanted % 97);
        let started = Instant::now();
        let found = runtime.block_on(index.query(Owner::default(), words, 8))?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
        let part = format!("part {} of", wanted * 7 % 1_009);
        if !found.iter().any(|passage| passage.text.contains(&part)) {
            return Err(format!("the query for note {wanted} has not found its part").into());
        }
    }
    let unit = "µs for a query over 10,000 notes";
    report.add("lexical_query", median(times), (2_000.0, 1_000.0), unit);
    Ok(())
}

/// Reports the growth of a turn in a window, from 500 to 5,000 turns.
fn trimming(report: &mut Report) -> Result<()> {
    let mut growths = Vec::new();
    for _ in 0..RUNS {
        let [few, many] = TURNS.map(last_turns);
        growths.push(many? / few?);
    }
    let unit = "× of a turn at 500 to one at 5,000, in a window";
    report.add("window_turns", median(growths), (1.5, 1.1), unit);
    Ok(())
}

/// Microseconds of each of the last turns of a conversation that is longer than its window.
fn last_turns(turns: usize) -> Result<f64> {
    let provider = ScriptedProvider::from_fn(|_| ScriptedTurn::new().text("It is as you say."));
    let agent = Agent::builder(provider).max_context_tokens(4_000).build()?;
    let runtime = runtime()?;
    let mut times = Vec::new();
    for turn in 0..turns {
        let question = format!("Question {turn}: what is there, and how many of it?");
        let started = Instant::now();
        let outcome = runtime.block_on(agent.run(question.as_str()))?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
        if outcome.reason != OutcomeKind::Answer {
            return Err(format!("turn {turn} ended otherwise").into());
        }
    }
    Ok(median(times.split_off(turns - STRETCH)))
}
