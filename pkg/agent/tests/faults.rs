//! One table of faults: each scenario with each fault ends in a typed outcome, in bounded time, with its
//! events closed and a conversation that goes on.

use std::{
    sync::{Arc, Mutex},
    task::Poll,
};

use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, sleep, timeout};

use super::{
    journal::Broken,
    scenarios::{Previews, SCENARIOS, Scenario, Twist, World, as_client},
    whole::assert_history_is_whole,
    *,
};
use crate::{
    RunOutcome, RunStream,
    access::{Authorization, ClientCall},
    approval::{ApprovalContext, ApprovalPolicy, Decision},
    journal::MemoryJournal,
    prompts::PromptContext,
};
use forgeline_llm::{ChunkStream, Provider, ProviderError, ProviderFuture, Request};
use forgeline_types::{ErrorCode, ModelInfo};

/// A model that panics: when it is asked, before it answers, or in its answer.
struct Panicking {
    inner: ScriptedProvider,
    place: usize,
}

impl Provider for Panicking {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        assert!(self.place != 0, "boom");
        let (place, opening) = (self.place, self.inner.stream_completion(request));
        Box::pin(async move {
            assert!(place != 1, "boom");
            let head = opening.await?.take(2);
            let tail = stream::poll_fn(|_| -> Poll<Option<_>> { std::panic::panic_any("boom") });
            Ok(Box::pin(head.chain(tail)) as ChunkStream)
        })
    }
}

/// A fault: its name, the codes of the errors that it may lead to (with none it is no matter of the
/// run), the longest time in seconds, and each way to build it into a scenario.
struct Fault {
    name: &'static str,
    codes: &'static [ErrorCode],
    seconds: u64,
    worlds: fn(&Scenario) -> Vec<World>,
}

/// The scenario with each of its answers replaced by another.
fn each_answer(scenario: &Scenario, other: fn() -> ScriptedTurn) -> Vec<World> {
    let count = (scenario.turns)().len();
    let world = |at: usize| {
        let mut turns = (scenario.turns)();
        turns[at] = other();
        turns.extend([ScriptedTurn::new().text("More."), ScriptedTurn::new().text("More.")]);
        scenario.world(turns, false)
    };
    (0..count).map(world).collect()
}

fn twisted(scenario: &Scenario, twist: Twist) -> Vec<World> {
    // Other results may lead to other turns.
    let mut turns = (scenario.turns)();
    turns.extend([ScriptedTurn::new().text("More."), ScriptedTurn::new().text("More.")]);
    vec![scenario.twisted_world(turns, false, twist)]
}

/// The scenario with a journal that breaks after each of its lines.
fn each_line(scenario: &Scenario, hangs: bool) -> Vec<World> {
    let world = |lines: usize| {
        let left = Arc::new(Mutex::new(lines));
        let journal = Broken { left, hangs, lines: MemoryJournal::default() };
        let mut world = scenario.world((scenario.turns)(), false);
        world.journal = Some(Arc::new(journal));
        world
    };
    (0..6).map(world).collect()
}

fn slow_prompt(scenario: &Scenario, seconds: u64) -> Vec<World> {
    let mut world = scenario.world((scenario.turns)(), false);
    let part = move |_: PromptContext| async move {
        sleep(Duration::from_secs(seconds)).await;
        Ok("Be slow.".to_owned())
    };
    world.builder = world.builder.system(part);
    vec![world]
}

/// The scenario with questions about all calls, and this approver.
fn asking(
    scenario: &Scenario,
    previews: Option<Previews>,
    approver: fn() -> BoxFuture<'static, Decision>,
) -> Vec<World> {
    let mut worlds = twisted(scenario, Twist { previews, ..Twist::default() });
    for world in &mut worlds {
        let seconds = Duration::from_secs(10);
        let builder = world.builder.clone().approval(ApprovalPolicy::Always);
        world.builder =
            builder.approval_timeout(seconds).approver(move |_: ApprovalContext| approver());
    }
    worlds
}

/// The scenario with previews like this, which nobody may see.
fn showing(scenario: &Scenario, preview: Previews) -> Vec<World> {
    asking(scenario, Some(preview), || Box::pin(async { Decision::Grant }))
}

const FAULTS: [Fault; 20] = [
    Fault {
        name: "nobody answers",
        codes: &[ErrorCode::CircuitBreaker],
        // Calls that run one after the other are asked about so.
        seconds: 4 * 3 * 10,
        worlds: |it| asking(it, None, || Box::pin(std::future::pending())),
    },
    Fault {
        name: "the approver panics",
        codes: &[ErrorCode::CircuitBreaker],
        seconds: 0,
        worlds: |it| asking(it, None, || Box::pin(async { std::panic::panic_any("boom") })),
    },
    Fault {
        name: "previews fail",
        codes: &[ErrorCode::CircuitBreaker],
        seconds: 0,
        worlds: |it| showing(it, || Box::pin(async { Err(ToolError::failed("no file")) })),
    },
    Fault {
        name: "previews panic",
        codes: &[ErrorCode::CircuitBreaker],
        seconds: 0,
        worlds: |it| showing(it, || Box::pin(async { std::panic::panic_any("boom") })),
    },
    Fault {
        name: "previews never come",
        codes: &[ErrorCode::CircuitBreaker],
        seconds: 4 * 3 * 10,
        worlds: |it| showing(it, || Box::pin(std::future::pending())),
    },
    Fault {
        name: "the authorizer panics",
        codes: &[],
        seconds: 0,
        worlds: |it| {
            let mut world = it.world((it.turns)(), false);
            let authorizer = |call: &ClientCall<'_>| {
                assert!(call.tool_name.is_empty(), "boom");
                Authorization::Allow
            };
            world.builder = world.builder.authorizer(authorizer);
            vec![world]
        },
    },
    Fault {
        name: "the provider refuses",
        codes: &[ErrorCode::InvalidRequest],
        seconds: 0,
        worlds: |it| each_answer(it, || ScriptedTurn::refuse(ProviderError::config("no"))),
    },
    Fault {
        name: "the stream is cut behind a call",
        codes: &[ErrorCode::EndedEarly],
        seconds: 0,
        worlds: |it| {
            each_answer(it, || {
                let turn = ScriptedTurn::new().thinking("Hm.").text("Let me");
                let turn = turn.call("work", json!({ "text": "one" })).call("work", json!({}));
                turn.fail(ProviderError::ended_early(7))
            })
        },
    },
    Fault {
        name: "the stream stalls",
        codes: &[ErrorCode::Timeout],
        seconds: 60,
        worlds: |it| each_answer(it, || ScriptedTurn::new().text("Once upon").hang()),
    },
    Fault {
        name: "the provider panics when it is asked",
        codes: &[ErrorCode::Internal],
        seconds: 0,
        worlds: |it| twisted(it, panics::<0>()),
    },
    Fault {
        name: "the provider panics before it answers",
        codes: &[ErrorCode::Internal],
        seconds: 0,
        worlds: |it| twisted(it, panics::<1>()),
    },
    Fault {
        name: "the provider panics in its answer",
        codes: &[ErrorCode::Internal],
        seconds: 0,
        worlds: |it| twisted(it, panics::<2>()),
    },
    Fault {
        name: "tools panic",
        codes: &[],
        seconds: 0,
        worlds: |it| {
            let fault: super::scenarios::Fault =
                || Box::pin(async { std::panic::panic_any("boom") });
            twisted(it, Twist { tools: Some(fault), ..Twist::default() })
        },
    },
    Fault {
        name: "tools never return",
        codes: &[],
        // Each of four turns has calls that run one after the other.
        seconds: 4 * 3 * 10,
        worlds: |it| {
            let fault: super::scenarios::Fault = || Box::pin(std::future::pending());
            twisted(it, Twist { tools: Some(fault), ..Twist::default() })
        },
    },
    Fault {
        name: "tools block their thread for a while",
        codes: &[],
        seconds: 0,
        worlds: |it| {
            let fault: super::scenarios::Fault = || {
                Box::pin(async {
                    let started = std::time::Instant::now();
                    while started.elapsed() < Duration::from_millis(5) {
                        std::hint::spin_loop();
                    }
                })
            };
            twisted(it, Twist { tools: Some(fault), ..Twist::default() })
        },
    },
    Fault {
        name: "the journal fails",
        codes: &[ErrorCode::Journal],
        seconds: 0,
        worlds: |it| each_line(it, false),
    },
    Fault {
        name: "the journal does not answer",
        codes: &[ErrorCode::Journal],
        seconds: 5,
        worlds: |it| each_line(it, true),
    },
    Fault {
        name: "a part of the prompt is slow",
        codes: &[],
        seconds: 9,
        worlds: |it| slow_prompt(it, 9),
    },
    Fault {
        name: "a part of the prompt is too slow",
        codes: &[ErrorCode::Timeout],
        seconds: 10,
        worlds: |it| slow_prompt(it, 60),
    },
    Fault {
        name: "a part of the prompt panics",
        codes: &[ErrorCode::Internal],
        seconds: 0,
        worlds: |it| {
            let mut world = it.world((it.turns)(), false);
            let part = |context: PromptContext| async move {
                assert!(context.input.is_empty(), "boom");
                Ok(String::new())
            };
            world.builder = world.builder.system(part);
            vec![world]
        },
    },
];

fn panics<const PLACE: usize>() -> Twist {
    let model: fn(ScriptedProvider) -> Arc<dyn Provider> =
        |inner| Arc::new(Panicking { inner, place: PLACE });
    Twist { model: Some(model), ..Twist::default() }
}

/// Reads a run to its end, and checks that nothing is missing.
async fn ended(
    mut stream: RunStream,
    world: &World,
    agent: &Conversation,
    at: &str,
) -> (Vec<Envelope>, RunOutcome) {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        as_client(&stream, &event);
        events.push(event);
    }
    assert_whole(&events);
    assert_history_is_whole(agent);
    world.assert_nothing_is_left().await;
    let (outcome, error) = match stream.outcome().await {
        Ok(outcome) => (outcome, None),
        Err(failed) => (*failed.outcome, Some(failed.error)),
    };
    let told = events.iter().filter(|it| matches!(it.event, AgentEvent::Error(_))).count();
    assert_eq!(told, usize::from(error.is_some()), "{at}: {:?}", kinds(&events));
    // What was shown is kept.
    let texts: Vec<_> = outcome.messages.iter().map(|message| message.text()).collect();
    for event in &events {
        let shown = event.event.text().trim();
        assert!(
            shown.is_empty() || texts.iter().any(|text| text.contains(shown)),
            "{at}: {shown} of {texts:?}"
        );
    }
    (events, outcome)
}

// Covers: R10, R11, A6
#[tokio::test(start_paused = true)]
async fn each_fault_in_each_scenario_has_a_typed_end_in_bounded_time_and_loses_nothing() {
    let mut seen = 0;
    for fault in &FAULTS {
        for scenario in &SCENARIOS {
            let mut failures = 0;
            for (place, mut world) in (fault.worlds)(scenario).into_iter().enumerate() {
                let at = format!("{} in \"{}\", place {place}", fault.name, scenario.name);
                let minute = Duration::from_mins(1);
                world.builder = world.builder.tool_timeout(minute / 6);
                if fault.codes == [ErrorCode::Timeout] {
                    world.builder = world.builder.run_timeout(minute);
                }
                let agent = world.agent();
                let stream = agent.run_stream("Do it.");
                scenario.say.iter().for_each(|say| say(&stream.steering()));
                let started = Instant::now();
                let (_, outcome) = ended(stream, &world, &agent, &at).await;
                let most = Duration::from_secs(fault.seconds) + SOON;
                assert!(started.elapsed() <= most, "{at}: {:?}", started.elapsed());
                match outcome.into_result() {
                    Ok(_) => {}
                    // So the scenario itself ends.
                    Err(failed) if failed.error.code == ErrorCode::EmptyAnswer => {}
                    Err(failed) => {
                        failures += 1;
                        assert!(fault.codes.contains(&failed.error.code), "{at}: {failed}");
                    }
                }
                seen += 1;
                // The agent serves the next run, whatever its end.
                let next = timeout(minute * 10, agent.run("Again.")).await;
                drop(next.unwrap_or_else(|_| panic!("{at}: the next run does not end")));
                assert_history_is_whole(&agent);
            }
            // Calls that nobody may look at end a run that goes on and on with them.
            let may_fail = fault.codes == [ErrorCode::CircuitBreaker];
            let must_fail = !may_fail && !fault.codes.is_empty();
            let is_right = failures > 0 || !must_fail;
            assert!(is_right, "{} does not fail {}", fault.name, scenario.name);
        }
    }
    assert!(seen > 120, "{seen}");
}

/// A reader that never reads makes others wait for a bounded time, and gets all when it reads on.
#[tokio::test(start_paused = true)]
async fn a_reader_that_never_reads_delays_the_next_run_and_loses_nothing() {
    for scenario in &SCENARIOS {
        for capacity in [1, 2, 64] {
            let mut world = scenario.long_world();
            let limit = Duration::from_secs(30);
            world.builder = world.builder.event_capacity(capacity).queue_timeout(limit);
            let agent = world.agent();
            let mut unread = agent.run_stream("Do it.");
            scenario.say.iter().for_each(|say| say(&unread.steering()));
            unread.next().await.unwrap();
            let started = Instant::now();
            let next = agent.run("Again.").await;
            if let Err(failed) = next {
                assert_eq!(failed.error.code, ErrorCode::Timeout, "{}", scenario.name);
                assert_eq!(started.elapsed(), limit, "{}", scenario.name);
            }
            let mut count = 1;
            while let Some(event) = unread.next().await {
                as_client(&unread, &event);
                assert_eq!(event.seq, count, "{}", scenario.name);
                count += 1;
            }
            assert!(count > 12, "{}", scenario.name);
            assert_history_is_whole(&agent);
            world.assert_nothing_is_left().await;
        }
    }
}
