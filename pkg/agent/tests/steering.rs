//! A run that is steered while it goes on.

use super::{
    scenarios::{SCENARIOS, as_client},
    whole::assert_history_is_whole,
    *,
};
use crate::{
    OutcomeKind, RunInput, RunOutcome,
    channels::{AgentChannels, Input},
    config::AtLimit,
    journal::MemoryJournal,
    notice::{STEERED, UNDELIVERED},
    run::Budget,
    steering::Steering,
};
use forgeline_types::{CustomEvent, ErrorCode, FinishReason, Message, MessageContentEvent};

const SAID: &str = "Otherwise.";

/// The ways to say something.
const WAYS: [fn(&Steering); 3] = [
    |steering| steering.steer(SAID).unwrap(),
    |steering| steering.steer_now(SAID).unwrap(),
    |steering| steering.follow_up(SAID).unwrap(),
];

/// The script that has everything, and answers for those who were steered.
fn long_script() -> ScriptedProvider {
    let turns = [
        ScriptedTurn::new()
            .thinking("Hm, ")
            .text("Let me ")
            .text("see.")
            .call("echo", json!({ "text": "one" }))
            .call("echo", json!({ "text": "two" })),
        ScriptedTurn::new().call("fail", json!({ "text": "way" })).call("echo", json!({})),
        ScriptedTurn::new().thinking("So.").text("It is ").text("done."),
    ];
    let more = ["More.", "Still more.", "Enough."].map(|text| ScriptedTurn::new().text(text));
    ScriptedProvider::new(turns.into_iter().chain(more))
}

fn said(messages: impl IntoIterator<Item = Message>) -> usize {
    messages.into_iter().filter(|message| message.text() == SAID).count()
}

fn delivered(outcome: &RunOutcome) -> usize {
    said(outcome.messages.iter().map(|message| (**message).clone()))
}

/// The number of custom events of this name.
fn count(events: &[Envelope], wanted: &str) -> usize {
    let is = |event: &AgentEvent| matches!(event, AgentEvent::Custom(CustomEvent { name, .. }) if name == wanted);
    events.iter().filter(|envelope| is(&envelope.event)).count()
}

/// Runs to the end, does something behind the event of this number, and returns what happened; `None`
/// when the run has fewer events.
async fn steered(
    agent: &Conversation,
    at: usize,
    mut act: impl FnMut(&Steering, &crate::CancellationToken),
) -> Option<(Vec<Envelope>, RunOutcome)> {
    let mut stream = agent.run_stream("Go");
    let (steering, cancel) = (stream.steering(), stream.cancel_token());
    let mut events = Vec::new();
    let mut acted = false;
    while let Some(event) = stream.next().await {
        as_client(&stream, &event);
        events.push(event);
        if events.len() == at + 1 && steering.steer("probe").is_ok() {
            // The probe shows that the run still listens; it is taken back.
            assert!(steering.take().is_some());
            act(&steering, &cancel);
            acted = true;
        }
    }
    let outcome = match stream.outcome().await {
        Ok(outcome) => outcome,
        Err(failed) => *failed.outcome,
    };
    acted.then_some((events, outcome))
}

#[tokio::test(start_paused = true)]
async fn steered_message_is_delivered_once_or_returned() {
    for capacity in [1, 2, 64] {
        for (way, say) in WAYS.into_iter().enumerate() {
            for at in 0.. {
                let name = format!("capacity {capacity}, way {way}, event {at}");
                let agent = builder(&long_script())
                    .event_capacity(capacity)
                    .build()
                    .unwrap()
                    .conversation();
                let Some((events, outcome)) =
                    steered(&agent, at, |steering, _| say(steering)).await
                else {
                    // A run that need not wait for its reader is over early.
                    assert!(at > 10 || capacity > 2, "{name}");
                    break;
                };
                assert_whole(&events);
                assert_history_is_whole(&agent);
                assert_eq!(outcome.reason, OutcomeKind::Answer, "{name}");
                let (here, back) = (delivered(&outcome), said(outcome.undelivered.clone()));
                assert_eq!(here + back, 1, "{name}");
                assert_eq!(count(&events, STEERED), here, "{name}");
                let last = outcome.messages.last().unwrap().text();
                assert!(here == 0 || last != SAID, "{name}: an answer follows");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_steered_and_cancelled_at_any_event_ends_properly() {
    for say in WAYS {
        for at in 0.. {
            let agent = builder(&long_script()).event_capacity(2).build().unwrap().conversation();
            let act = |steering: &Steering, cancel: &crate::CancellationToken| {
                say(steering);
                cancel.cancel();
            };
            let Some((events, outcome)) = steered(&agent, at, act).await else { break };
            assert_whole(&events);
            assert_history_is_whole(&agent);
            assert_eq!(delivered(&outcome) + said(outcome.undelivered.clone()), 1, "event {at}");
            if let OutcomeKind::Failed { error } = &outcome.reason {
                assert_eq!(error.code, ErrorCode::Cancelled);
                assert_eq!(outcome.undelivered.len(), 1, "nothing is asked after a cancel");
            }
        }
    }
}

// Covers: T-12
#[tokio::test(start_paused = true)]
async fn every_scenario_is_steered_and_cancelled_at_every_event() {
    let mut count_of_runs = 0;
    for scenario in &SCENARIOS {
        for (way, capacity, cancels) in (0..WAYS.len())
            .flat_map(|way| [1, 2, 64].map(|capacity| (way, capacity)))
            .flat_map(|(way, capacity)| [false, true].map(|cancels| (way, capacity, cancels)))
        {
            for at in 0.. {
                let name = format!("{}: {capacity}, way {way}, event {at}", scenario.name);
                let world = scenario.long_world();
                let agent =
                    world.builder.clone().event_capacity(capacity).build().unwrap().conversation();
                let mut stream = agent.run_stream("Go");
                let (steering, cancel) = (stream.steering(), stream.cancel_token());
                scenario.say.iter().for_each(|say| say(&steering));
                let mut events = Vec::new();
                let mut is_said = false;
                while let Some(event) = stream.next().await {
                    as_client(&stream, &event);
                    events.push(event);
                    if events.len() == at + 1 && steering.steer(SAID).is_ok() {
                        is_said = true;
                        WAYS[way](&steering);
                        if cancels {
                            cancel.cancel();
                        }
                    }
                }
                let is_over = events.len() <= at + 1;
                let outcome = match stream.outcome().await {
                    Ok(outcome) => outcome,
                    Err(failed) => *failed.outcome,
                };
                assert_whole(&events);
                assert_history_is_whole(&agent);
                world.assert_nothing_is_left().await;
                count_of_runs += 1;
                let (here, back) = (delivered(&outcome), said(outcome.undelivered.clone()));
                assert_eq!(here + back, if is_said { 2 } else { 0 }, "{name}");
                let told = count(&events, STEERED) + outcome.undelivered.len();
                assert_eq!(told, here + back + scenario.say.len(), "{name}");
                let last = outcome.messages.last().unwrap().text();
                match &outcome.reason {
                    // The scripts of a limit say nothing more once a message has come between.
                    OutcomeKind::Failed { error } if error.code == ErrorCode::MaxTurns => {
                        assert!(last != SAID, "{name}: the limit comes after it");
                    }
                    OutcomeKind::Failed { error } => {
                        assert!(cancels, "{name}: {error}");
                        assert_eq!(error.code, ErrorCode::Cancelled, "{name}");
                    }
                    _ => assert!(last != SAID, "{name}: an answer follows"),
                }
                if is_over {
                    break;
                }
            }
        }
    }
    assert!(count_of_runs > 2_000, "{count_of_runs}");
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_is_kept_and_marked_and_its_calls_do_not_run() {
    for mode in [crate::config::CallMode::Native, crate::config::CallMode::Text] {
        let turn = ScriptedTurn::new().text("Let me see.").call("echo", json!({ "text": "one" }));
        let provider =
            ScriptedProvider::new([turn.hang(), ScriptedTurn::new().text("As you like.")]);
        let agent =
            builder(&provider).call_mode(mode).event_capacity(1).build().unwrap().conversation();
        let mut stream = agent.run_stream("Go");
        let steering = stream.steering();
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            if event.event.kind() == "tool_call_start" {
                // Whoever says it twice interrupts once.
                steering.steer_now(SAID).unwrap();
                steering.steer_now(SAID).unwrap();
            }
            events.push(event);
        }
        assert_whole(&events);
        let outcome = stream.outcome().await.unwrap();
        assert_eq!((outcome.text.as_str(), outcome.turns), ("As you like.", 2), "{mode:?}");
        assert!(outcome.messages[1].text().starts_with("Let me see."), "{mode:?}");
        assert!(!events.iter().any(|it| matches!(it.event, AgentEvent::ToolCall(_))));
        assert_eq!((delivered(&outcome), outcome.undelivered.len()), (2, 0));
        assert_eq!(provider.requests().len(), 2);
        assert_history_is_whole(&agent);
    }
    let text: forgeline_types::Text = FinishReason::Interrupted.into();
    assert_eq!(FinishReason::from(text), FinishReason::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn follow_ups_run_one_by_one_and_are_returned_at_a_limit() {
    let answers = |count: u32| {
        ScriptedProvider::new((0..count).map(|at| ScriptedTurn::new().text(at.to_string())))
    };
    let provider = answers(5);
    let mut stream = builder(&provider).build().unwrap().conversation().run_stream("Go");
    let steering = stream.steering();
    for text in ["one", "two"] {
        steering.follow_up(text).unwrap();
    }
    while stream.next().await.is_some() {}
    let outcome = stream.outcome().await.unwrap();
    let texts: Vec<_> = outcome.messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["Go", "0", "one", "1", "two", "2"]);
    assert!(steering.follow_up("three").is_err(), "the run is over");

    for at_limit in [AtLimit::AskForAnswer, AtLimit::Fail] {
        let agent = builder(&answers(5)).at_limit(at_limit).build().unwrap().conversation();
        let input = RunInput::from("Go").budget(Budget::default().turns(1));
        let mut stream = agent.run_stream(input);
        stream.steering().follow_up(SAID).unwrap();
        stream.steering().steer(SAID).unwrap();
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        assert_eq!(count(&events, UNDELIVERED), 1, "one report");
        let outcome = stream.outcome().await.unwrap();
        assert_eq!((delivered(&outcome), outcome.undelivered.len()), (1, 1), "{at_limit:?}");
    }
}

#[tokio::test]
async fn run_accepts_at_most_64_waiting_messages() {
    let stream = builder(&long_script()).build().unwrap().conversation().run_stream("Go");
    let steering = stream.steering();
    for _ in 0..64 {
        steering.steer(SAID).unwrap();
    }
    let error = steering.follow_up(SAID).unwrap_err();
    assert_eq!((error.code, error.retryable), (ErrorCode::RateLimited, true));
    assert!(error.message.starts_with("64 messages are already waiting"), "{error}");
    stream.cancel();
    let outcome = stream.outcome().await.unwrap_err().outcome;
    assert_eq!(said(outcome.undelivered), 64);
    let error = steering.steer_now(SAID).unwrap_err();
    assert!(error.message.starts_with("the run is over"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn steered_messages_survive_suspension() {
    let journal = MemoryJournal::default();
    let agent = builder(&long_script())
        .event_capacity(1)
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal.clone());
    steered(&agent, 6, |steering, _| {
        steering.steer_now(SAID).unwrap();
        steering.follow_up(SAID).unwrap();
    })
    .await
    .unwrap();
    let lines = journal.lines();
    let heard =
        |count: usize| lines[..count].iter().filter(|line| line.contains("\"said\"")).count();
    assert_eq!(heard(lines.len()), 2);
    for count in 1..lines.len() {
        let answers =
            ["One.", "Two.", "Three.", "Four."].map(|text| ScriptedTurn::new().text(text));
        let provider = ScriptedProvider::new(answers);
        let journal = MemoryJournal::from(lines[..count].to_vec());
        let agent = builder(&provider).build().unwrap().conversation().with_journal(journal);
        let Some(outcome) = agent.resume().await.unwrap() else { continue };
        assert_eq!(delivered(&outcome), heard(count), "after {count} lines");
        assert_history_is_whole(&agent);
    }
}

#[tokio::test(start_paused = true)]
async fn a_started_agent_is_steered_by_its_inputs() {
    let turns = [ScriptedTurn::new().text("Once").hang(), ScriptedTurn::new().text("The end.")];
    let more = ["More.", "Alone."].map(|text| ScriptedTurn::new().text(text));
    let provider = ScriptedProvider::new(turns.into_iter().chain(more));
    let (handle, channels) = builder(&provider).build().unwrap().start();
    let AgentChannels { input, mut events, .. } = channels;
    input.send("Tell me a story.").await.unwrap();
    let mut texts = Vec::new();
    let mut ends = 0;
    while ends < 2 {
        match events.recv().await.unwrap().event {
            AgentEvent::MessageContent(MessageContentEvent { content, .. }) => {
                if content == "Once" {
                    let message = Message::from("Shorter.");
                    input
                        .send(Input::FollowUp { message: Message::from("And then?") })
                        .await
                        .unwrap();
                    input.send(Input::Steer { message, now: true }).await.unwrap();
                }
                texts.push(content);
            }
            AgentEvent::TurnEnd => {
                ends += 1;
                if ends == 1 {
                    // Between runs it is a message as any other.
                    input
                        .send(Input::Steer { message: Message::from("Hi"), now: false })
                        .await
                        .unwrap();
                }
            }
            _ => {}
        }
    }
    assert_eq!(texts, ["Once", "The end.", "More.", "Alone."]);
    handle.shutdown().await;
    let last = provider.requests().pop().unwrap();
    let asked: Vec<_> = last.messages.iter().map(|message| message.text()).collect();
    let want = ["Tell me a story.", "Once", "Shorter.", "The end.", "And then?", "More.", "Hi"];
    assert_eq!(asked, want);
}

/// Words for a run are looked at as its input is: the model would fail at it in each later request.
#[tokio::test(start_paused = true)]
async fn a_picture_that_the_model_does_not_take_is_not_said_to_a_run() {
    use forgeline_types::{
        Capabilities, ErrorCode, MediaRules, Message, MessageRole, ModelInfo, Part,
    };
    let picture = |data: &str| {
        let part = Part::image("image/png", data);
        Message::new(MessageRole::User, vec![part])
    };
    let png = "iVBORw0KGgo=";
    let rules = MediaRules::default().picture_addresses(false);
    let able = |able| ModelInfo::new("p", "m").capabilities(able).media(rules);
    let rows = [
        (Capabilities::default(), png, Some(ErrorCode::Unsupported)),
        (Capabilities::ALL, "https://x/y.png", Some(ErrorCode::Unsupported)),
        (Capabilities::ALL, "not base64", Some(ErrorCode::InvalidInput)),
        (Capabilities::ALL, png, None),
    ];
    for (can, data, want) in rows {
        let long = ScriptedTurn::new().text("Once upon a time").hang();
        let turns = [long, ScriptedTurn::new().text("The end."), ScriptedTurn::new().text("So.")];
        let provider = ScriptedProvider::new(turns).info_of(able(can));
        let agent = Agent::builder(provider.clone()).build().unwrap().conversation();
        let mut stream = agent.run_stream("Tell me a story.");
        let (steering, mut refused) = (stream.steering(), Vec::new());
        while let Some(envelope) = stream.next().await {
            if envelope.event.text() == "Once upon a time" {
                refused.push(steering.follow_up(picture(data)).err().map(|error| error.code));
                refused.push(steering.steer(picture(data)).err().map(|error| error.code));
                steering.steer_now("Shorter, please.").unwrap();
            }
        }
        stream.outcome().await.unwrap();
        assert_eq!(refused, [want, want], "{data}");
        let last = provider.requests().pop().unwrap();
        let pictures = last
            .messages
            .iter()
            .flat_map(|it| &it.parts)
            .filter(|it| matches!(it, Part::Image { .. }));
        assert_eq!(pictures.count(), if want.is_none() { 2 } else { 0 }, "{data}");
    }
}
