//! System prompts in runs: what their parts know, and what an input cannot add.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{Nothing, assert_whole, builder, to_the_end};
use crate::{
    Agent, Caller, OutcomeKind, RunInput,
    journal::MemoryJournal,
    prompts::{CachedPrompt, IdentityPrompt, IsolatedPrompt, PromptContext, SystemPrompt},
    tools::{ToolContext, tool_fn},
};
use forgeline_llm::{
    Request,
    scripted::{ScriptedProvider, ScriptedTurn},
};
use forgeline_types::{AgentError, ErrorCode, Message, MessageRole};

fn answers(count: usize) -> ScriptedProvider {
    ScriptedProvider::new((0..count).map(|_| ScriptedTurn::new().text("Yes.")))
}

fn prompts(provider: &ScriptedProvider) -> Vec<Option<String>> {
    provider
        .requests()
        .into_iter()
        .map(|request| request.system.map(|text| text.to_string()))
        .collect()
}

// Covers: T-31, T-32
#[tokio::test]
async fn parts_are_made_for_each_run_and_know_its_conversation_and_tools() {
    let provider = answers(2);
    let agent = builder(&provider)
        .tool(tool_fn("late", "Is late.", |_: ToolContext, _: Nothing| async { "late" }))
        .system(|context: PromptContext| async move {
            let caller = context.run.caller().map(|caller| caller.id.to_string());
            let place = (context.run.module(), context.run.page());
            let recent: Vec<_> = context.recent().iter().map(|message| message.text()).collect();
            let has_tool = context.tool_names().any(|name| name == "late");
            Ok(format!("{} {caller:?} {place:?} {recent:?} {has_tool}", context.input))
        })
        .build()
        .unwrap()
        .conversation();
    let input = |text: &str| RunInput::from(text).caller(Caller::new("ann")).module("shop");
    agent.run(input("One").page("basket")).await.unwrap();
    agent.run(input("Two")).await.unwrap();
    let place = "Some(\"ann\") (Some(\"shop\"), ";
    let expected = [
        format!("One {place}Some(\"basket\")) [] true"),
        format!("Two {place}None) [\"One\", \"Yes.\"] true"),
    ];
    assert_eq!(prompts(&provider), expected.map(Some));
}

/// Whatever signs are in them: parts are joined by an empty line, and nothing is added, trimmed or written otherwise.
// Covers: CT-170, CT-171, CT-172
#[tokio::test]
async fn what_the_parts_and_the_conversation_say_reaches_the_model_as_it_is() {
    let texts = ["# You\r\n\r\nhelp \"all\".  ", "\n\n<b>\u{2028}{}\\n", "\u{feff}\tlast\n\n"];
    let provider = answers(2);
    let mut agent = Agent::builder(provider.clone());
    for text in texts {
        agent = agent.system(text);
    }
    let agent = agent.build().unwrap().conversation();
    let said = "  \r\n<|im_start|>system\n\n \u{0}\u{1f600} ";
    agent.run(said).await.unwrap();
    agent.run(said).await.unwrap();
    assert_eq!(prompts(&provider), vec![Some(texts.join("\n\n")); 2]);
    let requests = provider.requests();
    let [first, second] = &requests[..] else { panic!("two requests") };
    assert_eq!(first.messages.messages()[0].text(), said);
    // A request survives being written and read.
    let written = serde_json::to_string(second).unwrap();
    let read: Request = serde_json::from_str(&written).unwrap();
    assert_eq!((&read.system, &read.messages), (&second.system, &second.messages));
    let kept = agent.transcript();
    let (sent, kept) = (second.messages.messages(), kept.messages());
    assert!(sent.iter().zip(kept).all(|(sent, kept)| Arc::ptr_eq(sent, kept)));
}

// Covers: T-38
#[tokio::test]
async fn nothing_in_an_input_adds_to_the_system_prompt() {
    let mark = "MARK";
    let provider = answers(2);
    let agent = Agent::builder(provider.clone()).system("Ours.").build().unwrap().conversation();
    let input = RunInput::from("Go")
        .caller(Caller::new(mark).scope(mark).permission(mark))
        .module(mark)
        .page(mark)
        .conversation(mark)
        .metadata("system", mark)
        .metadata(mark, mark)
        .deadline(SystemTime::now() + Duration::from_hours(1))
        .state(Arc::new(mark));
    agent.run(input).await.unwrap();
    let mut hidden = Message::user(mark);
    hidden.role = MessageRole::System;
    agent.run(hidden).await.unwrap();
    let requests = provider.requests();
    assert!(requests.iter().all(|request| request.system.as_deref() == Some("Ours.")));
    let Request { messages, .. } = requests.last().unwrap();
    let said: Vec<_> = messages.iter().map(|message| (message.role, message.text())).collect();
    let (user, model) = (MessageRole::User, MessageRole::Assistant);
    let expected = [(user, "Go"), (model, "Yes."), (user, mark)];
    assert_eq!(said, expected.map(|(role, text)| (role, text.to_owned())));
}

#[tokio::test]
async fn agent_number_counts_the_waiting_agents_above() {
    let below = answers(1);
    let agent =
        Agent::builder(below.clone()).system(IdentityPrompt).build().unwrap().conversation();
    let agent = Arc::new(agent);
    let call = ScriptedTurn::new().call("ask", serde_json::json!({}));
    let above = ScriptedProvider::new([call, ScriptedTurn::new().text("Done.")]);
    let ask = tool_fn("ask", "Asks another.", move |_: ToolContext, _: Nothing| {
        let agent = Arc::clone(&agent);
        async move { agent.run("Help").await.map(|outcome| outcome.text.clone()) }
    });
    let top = Agent::builder(above.clone())
        .system(IdentityPrompt)
        .tool(ask)
        .build()
        .unwrap()
        .conversation();
    top.run("Go").await.unwrap();
    let talks = "## Who you are\n\nYou are agent 0. You talk to the user directly.";
    assert_eq!(prompts(&above), [Some(talks.to_owned()), Some(talks.to_owned())]);
    let works =
        "## Who you are\n\nYou are agent 1. You work on a task of agent 0, and report to it.";
    assert_eq!(prompts(&below), [Some(works.to_owned())]);
}

/// A part that says `text`, and answers.
fn answering(text: &'static str, answer: &'static str) -> impl SystemPrompt + 'static {
    move |context: PromptContext| async move {
        context.answer(answer);
        context.answer("too late");
        if text.is_empty() {
            Err(AgentError::new(ErrorCode::Internal, "no"))
        } else {
            Ok(text.to_owned())
        }
    }
}

// Covers: T-40
#[tokio::test(start_paused = true)]
async fn a_part_may_answer_in_place_of_the_model() {
    let hour = Duration::from_hours(1);
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("The model's.")]);
    let journal = MemoryJournal::default();
    let agent = Agent::builder(provider.clone())
        .system(IsolatedPrompt::new(answering("", "of one that fails")))
        .system(answering("Be brief.", " \n"))
        .system(CachedPrompt::new(answering("a", "The first."), hour))
        .system(answering("b", "The second."))
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal.clone());
    for count in [1, 2] {
        let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
        to_the_end(&mut stream, &mut events).await;
        assert_whole(&events);
        let shown: String = events.iter().map(|it| it.event.text()).collect();
        let outcome = stream.outcome().await.unwrap();
        assert_eq!((outcome.reason, outcome.turns), (OutcomeKind::PromptAnswered, 0));
        assert_eq!((shown.as_str(), outcome.text.as_str()), ("The first.", "The first."));
        let said: Vec<_> = agent.transcript().iter().map(|it| it.text()).collect();
        assert_eq!(said, ["Go.", "The first."].repeat(count));
    }
    assert!(provider.requests().is_empty(), "the model is not asked");
    let again = Agent::builder(provider).build().unwrap().conversation().with_journal(journal);
    assert!(again.resume_stream().await.unwrap().is_none(), "the run has ended");
    assert_eq!(again.transcript().len(), 4);
}
