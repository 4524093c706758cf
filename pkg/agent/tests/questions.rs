//! Questions of tools that run.

use tokio::time::timeout;

use super::*;
use crate::{
    RunStream,
    channels::AgentChannels,
    config::CallStart,
    journal::MemoryJournal,
    tools::{Question, ToolError},
};
use forgeline_types::{
    ErrorCode, Json, QuestionEnd, ToolAnswer, ToolQuestion, ToolQuestionEndEvent, ToolResultEvent,
};

fn form(message: &str) -> Question {
    let name = json!({ "type": "string" });
    let schema = json!({ "type": "object", "properties": { "name": name }, "required": ["name"] });
    Question::form(message, schema)
}

fn named(name: &str) -> ToolAnswer {
    ToolAnswer::accept(json!({ "name": name }).into())
}

#[derive(Deserialize, JsonSchema)]
struct Seconds {
    seconds: u64,
}

/// A tool that asks this many questions, and returns the actions of the answers.
fn asks(questions: usize) -> impl crate::tools::Tool + 'static {
    tool_fn("ask", "Asks.", move |context: ToolContext, _: Nothing| async move {
        let mut actions = Vec::new();
        for number in 0..questions {
            actions.push(match context.ask(form(&number.to_string())).await {
                ToolAnswer::Accept { content, .. } => content.to_value()["name"].to_string(),
                ToolAnswer::Decline => "decline".to_owned(),
                ToolAnswer::Cancel => "cancel".to_owned(),
                _ => "cancel".to_owned(),
            });
        }
        Ok::<_, ToolError>(actions.join(" "))
    })
}

fn agent(questions: usize) -> AgentBuilder {
    let turn = ScriptedTurn::new().call("ask", json!({}));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]);
    builder(&provider).tool(asks(questions))
}

async fn next_question(stream: &mut RunStream) -> Option<ToolQuestion> {
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolQuestion(question) = envelope.event {
            return Some(*question);
        }
    }
    None
}

fn result(messages: &[std::sync::Arc<forgeline_types::Message>]) -> String {
    messages.iter().flat_map(|it| it.tool_results()).map(|it| it.content.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_once_and_for_its_own_call() {
    let mut stream = agent(2).build().unwrap().conversation().run_stream("Go.");
    let questions = stream.questions();
    let first = next_question(&mut stream).await.unwrap();
    assert_eq!(questions.open(), std::slice::from_ref(&first));
    assert!(questions.answer("of another run", named("x")).is_err());
    questions.answer(&first.question_id, named("Ann")).unwrap();
    let twice = questions.answer(&first.question_id, named("Bob")).unwrap_err();
    assert_eq!(twice.code, ErrorCode::InvalidInput);
    let second = next_question(&mut stream).await.unwrap();
    assert_ne!(first.question_id, second.question_id);
    questions.answer(&second.question_id, ToolAnswer::Decline).unwrap();
    let outcome = stream.outcome().await.unwrap();
    assert_eq!(result(&outcome.messages), r#""Ann" decline"#);
    assert!(questions.open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_asks_sixteen_times_at_most() {
    let mut stream = agent(18).build().unwrap().conversation().run_stream("Go.");
    let (questions, mut asked) = (stream.questions(), 0);
    while let Some(question) = next_question(&mut stream).await {
        asked += 1;
        questions.answer(&question.question_id, ToolAnswer::Decline).unwrap();
    }
    assert_eq!(asked, 16);
    let outcome = stream.outcome().await.unwrap();
    assert!(result(&outcome.messages).ends_with("decline cancel cancel"));
}

// Rows: N-45
#[tokio::test(start_paused = true)]
async fn n45_the_time_of_a_run_is_without_that_in_which_all_its_calls_wait_for_people() {
    const MINUTES: Duration = Duration::from_mins(4);
    let own = || {
        tool_fn("own", "Asks in its own way.", async |context: ToolContext, _: Nothing| {
            let answer = context.wait_for_person(tokio::time::sleep(MINUTES)).await;
            answer.map_or("late", |()| "heard")
        })
    };
    let works = || {
        tool_fn("works", "Works.", async |_: ToolContext, it: Seconds| {
            tokio::time::sleep(Duration::from_secs(it.seconds)).await;
            "done"
        })
    };
    let agent = |turn: ScriptedTurn, journal: MemoryJournal| {
        let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]);
        let builder = builder(&provider).tool(asks(1)).tool(own()).tool(works());
        builder
            .tool_timeout(Duration::from_hours(1))
            .build()
            .unwrap()
            .conversation()
            .with_journal(journal)
    };
    let call = |name: &str| ScriptedTurn::new().call(name, json!({}));
    let beside = |seconds: u64| call("ask").call("works", json!({ "seconds": seconds }));
    let rows = [
        ("it asks", call("ask"), 240),
        ("it asks in its own way", call("own"), 240),
        ("two ask at once", call("ask").call("own", json!({})), 240),
        ("another works for a part of it", beside(30), 210),
        ("another works for longer", beside(900), 0),
        ("none asks", ScriptedTurn::new().call("works", json!({ "seconds": 900 })), 0),
    ];
    for (name, turn, want) in rows {
        let journal = MemoryJournal::default();
        let mut stream = agent(turn, journal.clone()).run_stream("Go.");
        let questions = stream.questions();
        let answer = async {
            tokio::time::sleep(MINUTES).await;
            for open in questions.open() {
                questions.answer(&open.question_id, named("Ann")).unwrap();
            }
        };
        let ((), ()) = tokio::join!(async { while stream.next().await.is_some() {} }, answer);
        stream.outcome().await.unwrap();
        let lines = journal.lines();
        let waited = lines.iter().filter_map(|line| line.split_once("\"waited_ms\":"));
        let waited = waited.map(|(_, rest)| {
            let digits = rest.split_once(|it: char| !it.is_ascii_digit()).unwrap().0;
            digits.parse::<u64>().unwrap()
        });
        assert_eq!(waited.sum::<u64>() / 1_000, want, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_withdraws_its_question() {
    let mut stream = agent(1).build().unwrap().conversation().run_stream("Go.");
    let questions = stream.questions();
    let question = next_question(&mut stream).await.unwrap();
    stream.cancel();
    timeout(Duration::from_secs(1), stream.outcome()).await.unwrap().unwrap_err();
    assert!(questions.open().is_empty());
    assert!(questions.answer(&question.question_id, named("x")).is_err());
    assert_no_task_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_begins_early_asks_and_others_go_on() {
    let turn = ScriptedTurn::new().call("ask", json!({})).call("other", json!({}));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]);
    let other = tool_fn("other", "Answers.", async |_: ToolContext, _: Nothing| "other");
    let agent = builder(&provider).tool(asks(1)).tool(other).call_start(CallStart::AsComplete);
    let mut stream = agent.build().unwrap().conversation().run_stream("Go.");
    let questions = stream.questions();
    let (mut asked, mut has_other) = (None, false);
    while let Some(envelope) = stream.next().await {
        match envelope.event {
            AgentEvent::ToolQuestion(question) => asked = Some(question),
            AgentEvent::ToolResult(ToolResultEvent { tool_name, .. }) => {
                has_other |= tool_name == "other";
            }
            AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent { end, .. }) => {
                assert_eq!(end, QuestionEnd::Accepted);
            }
            _ => {}
        }
        if has_other && let Some(question) = asked.take() {
            questions.answer(&question.question_id, named("Ann")).unwrap();
        }
    }
    let outcome = stream.outcome().await.unwrap();
    assert_eq!(result(&outcome.messages), r#""Ann"other"#);
}

#[tokio::test(start_paused = true)]
async fn an_agent_below_asks_through_the_run_above() {
    let below = agent(1).build().unwrap().into_tool("below", "Helps.");
    let turn = ScriptedTurn::new().call("below", json!({ "task": "Ask." }));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Above.")]);
    let mut stream =
        builder(&provider).tool(below).build().unwrap().conversation().run_stream("Go.");
    let questions = stream.questions();
    while stream.next().await.is_some() {
        for question in questions.open() {
            questions.answer(&question.question_id, named("Ann")).unwrap();
        }
    }
    assert_eq!(stream.outcome().await.unwrap().text, "Above.");

    let turn = ScriptedTurn::new().call("below", json!({ "task": "Ask." }));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Above.")]);
    let below = agent(1).build().unwrap().into_tool("below", "Helps.");
    let began = tokio::time::Instant::now();
    builder(&provider).tool(below).build().unwrap().conversation().run("Go.").await.unwrap();
    assert!(began.elapsed().is_zero(), "nobody can answer");
}

#[tokio::test]
async fn a_started_agent_has_an_end_for_questions() {
    let (handle, channels) = agent(1).build().unwrap().start();
    let AgentChannels { input, mut events, questions, .. } = channels;
    input.send("Go.").await.unwrap();
    let mut text = String::new();
    while let Some(envelope) = events.recv().await {
        match envelope.event {
            AgentEvent::ToolQuestion(question) => {
                let content = Json::parse(r#"{"name":"Ann"}"#).unwrap();
                questions.answer(&question.question_id, ToolAnswer::accept(content)).unwrap();
            }
            AgentEvent::ToolResult(ToolResultEvent { content, .. }) => text = content,
            AgentEvent::TurnEnd => break,
            _ => {}
        }
    }
    assert_eq!(text, r#""Ann""#);
    handle.shutdown().await;
    let error = questions.answer("any", ToolAnswer::Cancel).unwrap_err();
    assert_eq!(error.code, ErrorCode::Shutdown);
}
