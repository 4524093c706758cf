//! The events of runs that are put away and go on, joined.

use std::sync::{Arc, Mutex};

use tokio::time::timeout;

use super::{
    journal::{Broken, answers},
    scenarios::{ASKED, AT_CLIENT, EARLY, SCENARIOS, Scenario, World, as_client, early_turns},
    *,
};
use crate::{
    RunStream,
    journal::MemoryJournal,
    notice::{ANSWER_KEPT, ANSWER_RESTARTED},
};

/// The events of a run in short, without those that say that it goes on.
fn story(events: &[Envelope]) -> Vec<String> {
    // A request that nobody has answered is made again, under its id.
    let mut seen = Vec::new();
    let is_new = |envelope: &&Envelope| {
        let id = match &envelope.event {
            AgentEvent::ToolApprovalRequest(request) => &request.approval_id,
            AgentEvent::ClientToolRequest(request) => &request.client_call_id,
            _ => return true,
        };
        let is_new = !seen.contains(id);
        seen.push(id.clone());
        is_new
    };
    let events: Vec<_> = events.iter().filter(is_new).cloned().collect();
    let mut kinds = kinds(&events);
    let mut is_first = true;
    kinds.retain(|kind| {
        let is_start = kind == "busy true" && !std::mem::take(&mut is_first);
        !is_start && !kind.starts_with(ANSWER_RESTARTED)
    });
    kinds
}

/// Reads so many events, as long as they come at once.
async fn read_events(stream: &mut RunStream, count: usize) -> Vec<Envelope> {
    let mut events = Vec::new();
    while events.len() < count
        && let Ok(Some(envelope)) = timeout(SOON, stream.next()).await
    {
        as_client(stream, &envelope);
        events.push(envelope);
    }
    events
}

/// Begins the scenario with a journal that takes so many lines, and drops the run after so many events.
async fn put_away(
    scenario: &Scenario,
    is_idempotent: bool,
    lines: usize,
    count: usize,
) -> (Vec<Envelope>, Vec<String>, World) {
    let kept = MemoryJournal::default();
    let left = Arc::new(Mutex::new(lines));
    let journal = Broken { left, hangs: true, lines: kept.clone() };
    let mut world = scenario.world((scenario.turns)(), is_idempotent);
    world.builder = world.builder.event_capacity(1);
    world.journal = Some(Arc::new(journal));
    let mut stream = world.agent().run_stream("Do it.");
    scenario.say.iter().for_each(|say| say(&stream.steering()));
    let events = read_events(&mut stream, count).await;
    drop(stream);
    world.assert_nothing_is_left().await;
    (events, kept.lines(), world)
}

/// Goes on with a run in another agent, and joins its events to those before.
async fn go_on(
    scenario: &Scenario,
    is_idempotent: bool,
    mut events: Vec<Envelope>,
    lines: &[String],
    at: &str,
) -> Option<(Vec<Envelope>, World)> {
    // An answer that is kept up to its last call is not asked for again.
    let is_kept = lines.iter().rposition(|line| line.contains("\"called\""))
        > lines.iter().rposition(|line| line.contains("\"answered\""));
    let turns = (scenario.turns)().split_off(answers(lines) + usize::from(is_kept));
    let mut world = scenario.world(turns, is_idempotent);
    let journal = MemoryJournal::from(lines.to_vec());
    world.builder = world.builder.event_capacity(1);
    world.journal = Some(Arc::new(journal));
    let mut stream = world.agent().resume_stream().await.unwrap()?;
    // What was not written down is said again by who said it.
    let heard = lines.iter().filter(|line| line.contains("\"said\"")).count();
    scenario.say.iter().skip(heard).for_each(|say| say(&stream.steering()));
    let more = read_events(&mut stream, usize::MAX).await;
    // What follows takes the place of what the journal did not know.
    let first = usize::try_from(more[0].seq).unwrap();
    assert!(first <= events.len(), "{at}: no event is missing");
    events.truncate(first);
    events.extend(more);
    assert!(events.iter().all(|event| event.run_id == events[0].run_id), "{at}");
    Some((events, world))
}

/// Returns the turn whose answer was kept up to a call, and the number of its calls.
fn kept_calls(events: &[Envelope]) -> Option<(usize, usize)> {
    events.iter().find_map(|envelope| match &envelope.event {
        AgentEvent::Custom(CustomEvent { name, data, .. }) if name == ANSWER_KEPT => {
            let number = |key| usize::try_from(data[key].as_u64().unwrap()).unwrap();
            Some((number("turn"), number("calls")))
        }
        _ => None,
    })
}

/// Returns what a run tells of which one answer ended behind that call, sorted.
async fn as_if_cut(scenario: &Scenario, kept: (usize, usize)) -> Vec<String> {
    let mut world = scenario.world(early_turns(Some(kept)), true);
    world.builder = world.builder.event_capacity(1);
    let mut stream = world.agent().run_stream("Do it.");
    let mut want = story(&read_events(&mut stream, usize::MAX).await);
    want.sort();
    want
}

/// Adds up the executions of each call.
fn executions(before: &World, after: &World) -> Vec<usize> {
    let mut ran = before.ran.lock().unwrap().clone();
    for (key, count) in after.ran.lock().unwrap().iter() {
        *ran.entry(key.clone()).or_default() += count;
    }
    ran.into_values().collect()
}

/// Puts the scenario away, goes on with it, and checks what was reported and what ran.
async fn check(scenario: &Scenario, is_idempotent: bool, place: (usize, usize), want: &[String]) {
    let (lines, count) = place;
    let at = format!("{}, idempotent {is_idempotent}, {lines} lines, {count}", scenario.name);
    let (events, kept, before) = put_away(scenario, is_idempotent, lines, count).await;
    if kept.is_empty() {
        return;
    }
    let seen = events.len();
    let reported = story(&events);
    let Some((joined, after)) = go_on(scenario, is_idempotent, events, &kept, &at).await else {
        // The run was over, though its last words were not heard.
        assert!(
            want.starts_with(&reported) && want.len() - reported.len() <= 6,
            "{at}: {reported:#?}"
        );
        return;
    };
    assert_whole(&joined);
    let ran = executions(&before, &after);
    if is_idempotent {
        let mut got = story(&joined);
        if let Some(kept) = kept_calls(&joined) {
            got.retain(|kind| !kind.starts_with(ANSWER_KEPT));
            got.sort();
            assert_eq!(got, as_if_cut(scenario, kept).await, "{at}, after {seen} events");
        } else if [ASKED, AT_CLIENT, EARLY].contains(&scenario.name) {
            // The order of calls and answers depends on which was quicker.
            let mut want = want.to_vec();
            want.sort();
            got.sort();
            assert_eq!(got, want, "{at}, after {seen} events");
        } else {
            assert_eq!(got, want, "{at}, after {seen} events");
        }
        assert!(ran.iter().all(|count| (1..=2).contains(count)), "{at}: {ran:?}");
    } else {
        assert!(ran.iter().all(|count| *count == 1), "{at}: {ran:?}");
    }
}

#[cfg(feature = "local-tools")]
#[test]
fn the_tools_of_the_house_may_run_again() {
    use crate::tools::{Calculator, ConverseTool, FileTools, Tool};

    assert!(Calculator.is_idempotent() && ConverseTool.is_idempotent());
    let files = FileTools::new(std::env::temp_dir()).unwrap().into_tools();
    assert!(files.iter().all(Tool::is_idempotent));
}

#[tokio::test(start_paused = true)]
async fn the_events_of_a_run_that_was_put_away_anywhere_join_to_those_of_a_whole_one() {
    for scenario in &SCENARIOS {
        let (whole, lines, _) = put_away(scenario, true, usize::MAX, usize::MAX).await;
        assert_whole(&whole);
        let want = story(&whole);
        assert!(want.len() > 12 && lines.len() > 4, "{}: {want:#?}", scenario.name);
        for is_idempotent in [true, false] {
            for count in 0..whole.len() {
                check(scenario, is_idempotent, (usize::MAX, count), &want).await;
            }
            for lines in 1..lines.len() {
                check(scenario, is_idempotent, (lines, usize::MAX), &want).await;
            }
        }
    }
}
