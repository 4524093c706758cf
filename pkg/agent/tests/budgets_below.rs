//! Budgets of agents that are tools of others.

use std::sync::{Arc, Mutex};

use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::Conversation;
use crate::{
    OutcomeKind, RunInput,
    config::AtLimit,
    journal::MemoryJournal,
    nesting::Places,
    run::{Budget, Limit},
    sub_agents::SubAgent,
};
use forgeline_llm::{Cost, Request};
use forgeline_types::{ModelInfo, UsageInfo};

/// The usage of each answer, which costs 33 millionths of a dollar.
const USAGE: u64 = 100;

/// A provider whose answers use 100 tokens each.
fn metered(turns: impl IntoIterator<Item = ScriptedTurn>) -> ScriptedProvider {
    let turns = turns.into_iter().map(|turn| turn.usage(usage()));
    ScriptedProvider::new(turns).info_of(ModelInfo::new("scripted", "gpt-4o-mini"))
}

fn usage() -> UsageInfo {
    UsageInfo::default().input_tokens(60).output_tokens(40)
}

fn ask(name: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(name, json!({ "task": "Do it." }))
}

fn text(text: &'static str) -> ScriptedTurn {
    ScriptedTurn::new().text(text)
}

fn echo(at: u64) -> ScriptedTurn {
    ScriptedTurn::new().text("So far.").call("echo", json!({ "text": at.to_string() }))
}

fn below(provider: &ScriptedProvider, name: &str) -> SubAgent {
    builder(provider).build().unwrap().into_tool(name, "Helps.")
}

/// The tokens and the cost of this many answers.
fn answers(count: u64) -> (u64, Option<Cost>) {
    (count * USAGE, Some(Cost::from_micro_dollars(count * 33)))
}

fn spent(outcome: &crate::RunOutcome) -> (u64, Option<Cost>) {
    (outcome.spent.tokens, outcome.spent.cost)
}

#[tokio::test]
async fn the_cost_of_a_tree_is_the_sum_whatever_the_ends() {
    let third =
        builder(&metered([echo(1), text("Third.")])).build().unwrap().into_tool("third", "");
    let second = builder(&metered([ask("third"), text("Second.")])).tool(third).build().unwrap();
    let limited = below(&metered((0..9).map(echo)), "limited").budget(Budget::default().turns(2));
    let provider = metered([ask("second"), ask("limited"), text("First.")]);
    let agent = builder(&provider).tool(second.into_tool("second", "")).tool(limited);
    let outcome = agent.build().unwrap().conversation().run("Go.").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("First.", 3));
    assert_eq!(spent(&outcome), answers(3 + 2 + 2 + 3));
    assert_eq!(outcome.usage.unwrap().input_tokens, Some(3 * 60), "of its own requests");

    // One that fails behind its first answer; the cost of the one that failed is not known.
    let agent =
        builder(&metered([ask("fails"), text("Done.")])).tool(below(&metered([echo(1)]), "fails"));
    let outcome = agent.build().unwrap().conversation().run("Go.").await.unwrap();
    assert_eq!(spent(&outcome), (3 * USAGE, None));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_cancelled_or_took_too_long_is_counted() {
    let hangs = || ScriptedTurn::new().text("Now.").hang();
    let third = || below(&metered([echo(1)].into_iter().chain([hangs()])), "third");
    let second = || {
        let agent =
            builder(&metered([ask("third"), text("Second.")])).tool(third()).build().unwrap();
        agent.into_tool("second", "").timeout(Duration::from_secs(5))
    };
    let agent = builder(&metered([ask("second"), text("First.")]))
        .tool(second())
        .build()
        .unwrap()
        .conversation();
    let outcome = agent.run("Go.").await.unwrap();
    assert_eq!(outcome.spent.tokens, 4 * USAGE, "its time was over");

    let agent = builder(&metered([ask("second"), text("First.")]))
        .tool(second())
        .build()
        .unwrap()
        .conversation();
    let mut stream = agent.run_stream("Go.");
    let waited = async { while stream.next().await.is_some() {} };
    assert!(timeout(Duration::from_secs(1), waited).await.is_err());
    stream.cancel();
    let outcome = stream.outcome().await.unwrap_err().outcome;
    assert_eq!(outcome.spent.tokens, 3 * USAGE, "cancelled");
}

/// An agent that asks eight at once, whose answers go on for ever and take some time each.
fn eight(places: usize, at_limit: AtLimit) -> (Conversation, Arc<Mutex<u64>>) {
    let sent = Arc::<Mutex<u64>>::default();
    let count = Arc::clone(&sent);
    let endless = ScriptedProvider::from_fn(move |_: &Request| {
        let mut count = count.lock().unwrap();
        *count += 1;
        echo(*count).usage(usage())
    });
    let endless = endless.info_of(ModelInfo::new("scripted", "gpt-4o-mini"));
    let slow = tool_fn("echo", "", |_: ToolContext, _: Value| async {
        sleep(Duration::from_millis(1)).await;
        "slow"
    });
    let agent = Agent::builder(endless).tool(slow).at_limit(at_limit).max_turns(99);
    let tool = agent.loop_guard(false).build().unwrap().into_tool("below", "");
    let calls = (0..8).fold(ScriptedTurn::new(), |turn, at| {
        turn.call("below", json!({ "task": at.to_string() }))
    });
    let agent =
        builder(&metered([calls, text("Done.")])).max_parallel_calls(8).breaker_failures(99);
    (agent.tool(tool.places(&Places::new(places))).build().unwrap().conversation(), sent)
}

#[tokio::test(start_paused = true)]
async fn eight_agents_together_do_not_pass_what_was_left() {
    for places in [1, 3, 8] {
        for at_limit in [AtLimit::Fail, AtLimit::AskForAnswer] {
            let (agent, sent) = eight(places, at_limit);
            let input = RunInput::from("Go.").budget(Budget::default().tokens(1_000));
            let outcome = agent.run(input).await.unwrap();
            let sent = *sent.lock().unwrap();
            assert_eq!(spent(&outcome), answers(sent + 2), "all is counted");
            // Each that works may be in an answer when its part is used up, and give one more at its limit.
            let under_way = places as u64 * if at_limit == AtLimit::Fail { 1 } else { 2 };
            assert!(sent < 10 + under_way, "{sent} answers below in {places} places");
            assert!(sent >= 9, "{sent} answers below in {places} places: none is left unused");
            assert_eq!(outcome.reason, OutcomeKind::LimitReached { limit: Limit::Tokens });
        }
    }
}

#[tokio::test(start_paused = true)]
async fn agents_that_wait_for_a_place_have_the_time_that_is_left_when_they_get_it() {
    let slow = tool_fn("echo", "", |_: ToolContext, _: Value| async {
        sleep(Duration::from_secs(50)).await;
        "slow"
    });
    let answers = Arc::<Mutex<u64>>::default();
    let count = Arc::clone(&answers);
    let model = ScriptedProvider::from_fn(move |request: &Request| {
        *count.lock().unwrap() += 1;
        let has_result = request.messages.iter().any(|it| it.tool_results().next().is_some());
        if has_result { text("Done.") } else { echo(0) }
    });
    let agent = Agent::builder(model).tool(slow).build().unwrap();
    let calls = (0..8).fold(ScriptedTurn::new(), |turn, at| {
        turn.call("below", json!({ "task": at.to_string() }))
    });
    let tool = agent.into_tool("below", "").places(&Places::new(1));
    let above =
        builder(&metered([calls, text("Done.")])).max_parallel_calls(8).breaker_failures(99);
    let (above, begun) = (above.tool(tool).build().unwrap().conversation(), Instant::now());
    let budget = Budget::default().time(Duration::from_mins(1));
    above.run(RunInput::from("Go.").budget(budget)).await.unwrap();
    // The second begins in time, and its call is under way when the time is over; none begins after it.
    assert_eq!(begun.elapsed(), Duration::from_secs(100));
    let answers = *answers.lock().unwrap();
    assert!((3..=4).contains(&answers), "{answers} answers below");
}

#[tokio::test(start_paused = true)]
async fn turns_and_cost_are_parted_too_and_what_is_unused_goes_back() {
    let cost = Budget::default().cost(Cost::from_micro_dollars(330));
    for budget in [Budget::default().turns(10), cost] {
        let (agent, sent) = eight(1, AtLimit::Fail);
        agent.run(RunInput::from("Go.").budget(budget)).await.unwrap();
        let sent = *sent.lock().unwrap();
        assert!((9..=10).contains(&sent), "{sent} answers below, with {budget:?}");
    }
    // Eight that need one turn each leave the others to the last.
    let first = metered([text("1."), text("2."), echo(1), echo(2), text("3.")]);
    let agent = builder(&metered([ask("below"), ask("below"), ask("below"), text("Done.")]));
    let agent = agent.tool(below(&first, "below")).build().unwrap().conversation();
    let input = RunInput::from("Go.").budget(Budget::default().turns(9));
    let outcome = agent.run(input).await.unwrap();
    assert_eq!(outcome.reason, OutcomeKind::Answer);
    assert_eq!(spent(&outcome), answers(4 + 5));
}

#[tokio::test(start_paused = true)]
async fn an_agent_for_which_nothing_is_left_is_not_asked() {
    let below_asked = ScriptedProvider::new([text("Below.")]);
    let agent = builder(&metered([ask("below"), text("Done.")])).tool(below(&below_asked, "below"));
    let input = RunInput::from("Go.").budget(Budget::default().turns(1));
    let agent = agent.build().unwrap().conversation();
    let outcome = agent.run(input).await.unwrap();
    let messages = outcome.messages.iter().flat_map(|message| message.tool_results());
    let results: Vec<_> = messages.map(|result| result.content.clone()).collect();
    assert!(
        results.len() == 1 && results[0].contains("nothing is left of `budget.turns`"),
        "{results:?}"
    );
    assert_eq!(below_asked.requests().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_error_names_the_limit_of_turns_that_was_reached() {
    for (max_turns, shared, reached) in
        [(2, None, 2), (2, Some(99), 2), (2, Some(4), 2), (9, Some(4), 4), (9, Some(5), 5)]
    {
        let asks = ScriptedProvider::from_fn(|_: &Request| ask("below"));
        let answers = ScriptedProvider::from_fn(|_: &Request| text("Below."));
        let agent = builder(&asks).max_turns(max_turns).at_limit(AtLimit::Fail).loop_guard(false);
        let agent = agent.tool(below(&answers, "below")).build().unwrap().conversation();
        let budget = shared.map_or(Budget::default(), |most| Budget::default().turns(most));
        let error = agent.run(RunInput::from("Go.").budget(budget)).await.unwrap_err().error;
        let words = format!("the limit of {reached} turns is reached");
        assert!(error.message.contains(&words), "{max_turns} {shared:?}: {error}");
    }
}

#[tokio::test]
async fn missing_price_makes_the_cost_unknown_and_is_reported() {
    let free = ScriptedProvider::new([text("Free.").usage(usage())]);
    let agent = builder(&metered([ask("free"), text("Done.")])).tool(below(&free, "free"));
    let budget = Budget::default().cost(Cost::from_micro_dollars(1_000));
    let mut stream =
        agent.build().unwrap().conversation().run_stream(RunInput::from("Go.").budget(budget));
    let mut events = Vec::new();
    to_the_end(&mut stream, &mut events).await;
    let is_told = |event: &Envelope| matches!(&event.event, AgentEvent::Custom(CustomEvent { name, .. }) if name == crate::notice::BUDGET_UNMEASURED);
    assert_eq!(events.iter().filter(|event| is_told(event)).count(), 1);
    assert_eq!(spent(&stream.outcome().await.unwrap()), (3 * USAGE, None));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_resumed_knows_what_was_spent_below() {
    let journal = MemoryJournal::default();
    let agent = |turns: Vec<ScriptedTurn>, child: Vec<ScriptedTurn>| {
        let agent = builder(&metered(turns)).tool(below(&metered(child), "below"));
        agent.build().unwrap().conversation().with_journal(journal.clone())
    };
    let hangs = ScriptedTurn::new().text("Now.").hang();
    let first = agent(vec![ask("below"), hangs], vec![echo(1), text("Below.")]);
    let ended = timeout(Duration::from_secs(1), first.run("Go.")).await;
    assert!(ended.is_err(), "put away while it asks");
    drop(first);
    let outcome = agent(vec![text("Done.")], vec![]).resume().await.unwrap().unwrap();
    assert_eq!((outcome.text.as_str(), spent(&outcome)), ("Done.", answers(2 + 2)));
}
