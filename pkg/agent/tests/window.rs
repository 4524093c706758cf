//! Conversations that are longer than the model may read.

use std::sync::Arc;

use super::*;
use crate::{OutcomeKind, config::CallMode, journal::MemoryJournal, notice::CONTEXT_TRIMMED};
use forgeline_llm::{Request, TokenEstimator};

const MOST: u64 = 8_000;

/// A model that calls a tool with a long result, then answers.
fn looking() -> ScriptedProvider {
    ScriptedProvider::from_fn(|request: &Request| {
        let last = request.messages.last().expect("a message");
        if last.text().starts_with("Question") {
            ScriptedTurn::new().call("look", json!({ "text": "x".repeat(40) }))
        } else {
            ScriptedTurn::new().text("It is as you say, as far as can be seen from here.")
        }
    })
}

fn builder_of(provider: &ScriptedProvider) -> AgentBuilder {
    #[derive(Deserialize, JsonSchema)]
    struct Look {
        text: String,
    }
    let look = |_: ToolContext, it: Look| async move { format!("{} ", it.text).repeat(20) };
    let tool = tool_fn("look", "Looks.", look).may_repeat();
    Agent::builder(provider.clone()).system("Be brief.").tool(tool).max_context_tokens(MOST)
}

// Covers: G-47, G-48, T-68
#[tokio::test(start_paused = true)]
async fn five_thousand_turns_fit_and_nothing_is_lost() {
    let (provider, journal) = (looking(), MemoryJournal::default());
    let agent = builder_of(&provider).build().unwrap().conversation().with_journal(journal.clone());
    let (estimator, mut trimmed) = (TokenEstimator::new(), 0);
    for turn in 0..5_000 {
        let question = format!("Question {turn}: what exists, and how much?");
        let (mut stream, mut events) = (agent.run_stream(question.as_str()), Vec::new());
        to_the_end(&mut stream, &mut events).await;
        trimmed += events.iter().filter(|it| short(&it.event).starts_with(CONTEXT_TRIMMED)).count();
        assert_eq!(stream.outcome().await.unwrap().reason, OutcomeKind::Answer);
    }
    let requests = provider.requests();
    assert_eq!(requests.len(), 10_000);
    let mut beginnings = 0;
    for (at, request) in requests.iter().enumerate() {
        assert!(estimator.request(request) <= MOST, "request {at}");
        assert_eq!(request.system.as_deref(), Some("Be brief."));
        let question = format!("Question {}:", at / 2);
        assert!(request.messages.iter().any(|it| it.text().starts_with(&question)), "request {at}");
        let mut open = Vec::new();
        for message in &request.messages {
            let results: Vec<_> = message.tool_results().map(|it| it.call_id.clone()).collect();
            assert_eq!(results, open, "request {at}");
            open = message.tool_calls().map(|it| it.id.clone()).collect();
        }
        let before = at.checked_sub(1).map(|at| &requests[at].messages);
        let is_beginning = before.is_none_or(|before| {
            before
                .iter()
                .zip(&request.messages)
                .all(|(one, other)| Arc::ptr_eq(one, other) || one == other)
        });
        beginnings += usize::from(!is_beginning);
    }
    assert_eq!(beginnings, trimmed, "the beginning changes only where something is left out");
    assert!((20..1_000).contains(&trimmed), "{trimmed}");
    assert_eq!(agent.transcript().len(), 20_000, "the conversation keeps all");
    let kept = builder_of(&provider).build().unwrap().conversation().with_journal(journal);
    assert!(kept.resume_stream().await.unwrap().is_none());
    assert_eq!(kept.transcript().len(), 20_000, "so does the journal");
}

#[tokio::test(start_paused = true)]
async fn a_long_run_fits_in_text_mode_too() {
    let turns = (0..400).map(|turn| {
        let call = format!(
            r#"<tool_call>{{"name": "look", "arguments": {{"text": "{turn:040}"}}}}</tool_call>"#
        );
        ScriptedTurn::new().text(call)
    });
    let provider = ScriptedProvider::new(turns.chain([ScriptedTurn::new().text("Done.")]));
    let builder = builder_of(&provider).call_mode(CallMode::Text).max_turns(500);
    let outcome =
        builder.build().unwrap().conversation().run("Question: what exists?").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("Done.", 401));
    let estimator = TokenEstimator::new();
    for request in provider.requests() {
        assert!(estimator.request(&request) <= MOST, "calls and results are written out");
        assert_eq!(request.messages.messages()[0].text(), "Question: what exists?");
    }
}

#[test]
fn window_without_room_is_refused() {
    let built = builder(&looking()).max_context_tokens(0).build();
    assert!(built.unwrap_err().to_string().contains("max_context_tokens"));
}

/// Without a limit that is set, the model's window is one, less a quarter.
// Covers: G-36
#[tokio::test(start_paused = true)]
async fn a_model_whose_window_is_known_has_a_limit_unless_another_is_set() {
    use crate::RunInput;
    use forgeline_types::{Capabilities, ModelInfo};
    let info = |model: &str| {
        let able = Capabilities::default().tools(true);
        ModelInfo::new("scripted", model).capabilities(able)
    };
    // A window of 8,000 tokens; one of the catalog's; the other model's, that the input chooses.
    let own = || info("mine").context_tokens(Some(8_000));
    let card =
        forgeline_llm::ModelCard::for_model("gpt-3.5-turbo").unwrap().context_tokens.unwrap();
    let rows = [
        ("own", own(), None, None, 6_000),
        ("catalog", info("gpt-3.5-turbo"), None, None, card - card / 4),
        ("set", own(), Some(2_000), None, 2_000),
        ("off", own(), Some(u64::MAX), None, u64::MAX),
        ("not known", info("mine"), None, None, u64::MAX),
        ("compacts", own().compacts(true), None, None, u64::MAX),
        ("chosen", info("mine"), None, Some("small"), 3_000),
        ("another than the chosen", info("mine"), None, None, u64::MAX),
    ];
    for (name, model, set, chosen, want) in rows {
        let answer =
            || ScriptedProvider::from_fn(|_| ScriptedTurn::new().text("So it is. ".repeat(99)));
        let provider = answer().info_of(model);
        let small = answer().info_of(info("small").context_tokens(Some(4_000)));
        let mut builder = Agent::builder(provider.clone());
        if name == "chosen" || name.starts_with("another") {
            builder = builder.model("small", small.clone());
        }
        if let Some(tokens) = set {
            builder = builder.max_context_tokens(tokens);
        }
        let agent = builder.build().unwrap().conversation();
        let (turns, mut trimmed) = (100, 0);
        for turn in 0..turns {
            let mut input = RunInput::from(format!("Question {turn}?"));
            if let Some(model) = chosen {
                input = input.model(model);
            }
            let (mut stream, mut events) = (agent.run_stream(input), Vec::new());
            to_the_end(&mut stream, &mut events).await;
            trimmed +=
                events.iter().filter(|it| short(&it.event).starts_with(CONTEXT_TRIMMED)).count();
        }
        let asked = if chosen.is_some() { &small } else { &provider };
        let estimator = TokenEstimator::new();
        let most = asked.requests().iter().map(|it| estimator.request(it)).max().unwrap();
        assert_eq!(asked.requests().len(), turns);
        assert_eq!(trimmed > 0, want != u64::MAX, "{name}: {most}");
        assert!(most <= want && (want == u64::MAX || most > want / 2), "{name}: {most} of {want}");
        assert_eq!(agent.transcript().len(), 2 * turns, "the conversation keeps all");
    }
}

/// The estimate has the answer that came last, and is that of the next request without its question.
#[tokio::test(start_paused = true)]
async fn agent_reports_the_size_of_its_conversation() {
    let provider = looking();
    let agent = builder_of(&provider).build().unwrap().conversation();
    assert_eq!(agent.context_tokens(), None, "nothing was asked");
    let mut last = 0;
    for turn in 0..5 {
        agent.run(format!("Question {turn}: what exists?")).await.unwrap();
        let tokens = agent.context_tokens().unwrap();
        let mut sent = provider.requests().pop().unwrap();
        sent.messages.push(agent.transcript().last().unwrap().clone());
        assert_eq!(tokens, TokenEstimator::new().request(&sent));
        assert!(tokens > last, "{tokens} behind {last}");
        last = tokens;
    }
    let unlimited = Agent::builder(looking()).build().unwrap().conversation();
    unlimited.run("Hi").await.unwrap();
    assert_eq!(unlimited.context_tokens(), None);
}
