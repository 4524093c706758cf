//! What servers ask and say while they work on a call.

use std::collections::VecDeque;

use super::*;
use crate::McpQuestion;
use forgeline_agent::{AgentBuilder, RunOutcome};
use forgeline_types::{
    AgentEvent, Json, QuestionEnd, ToolAnswer, ToolOutputEvent, ToolQuestion, ToolQuestionEndEvent,
};

pub(super) fn form() -> Value {
    json!({
        "mode": "form",
        "message": "Who?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 2 },
                "age": { "type": "integer", "default": 30 },
            },
            "required": ["name"],
        },
    })
}

fn accept(content: Value) -> ToolAnswer {
    ToolAnswer::accept(content.into())
}

pub(super) fn done() -> Value {
    json!({ "content": [{ "type": "text", "text": "done" }] })
}

/// Returns an agent that calls the server's tool once.
pub(super) fn agent(servers: McpServers) -> AgentBuilder {
    let turn = ScriptedTurn::new().call("mcp.s.f", json!({}));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Ok.")]);
    Agent::builder(provider).tool_source(servers).grant(["mcp.s.f"])
}

/// Runs the agent with a reader who gives these answers, beside its server.
pub(super) async fn run(
    agent: AgentBuilder,
    answers: impl IntoIterator<Item = ToolAnswer>,
    server: impl Future<Output = Scripted>,
) -> (Vec<AgentEvent>, RunOutcome, Scripted) {
    let agent = agent.build().unwrap().conversation();
    let mut stream = agent.run_stream("Do it.");
    let questions = stream.questions();
    let mut answers: VecDeque<_> = answers.into_iter().collect();
    let reader = async {
        let mut events = Vec::new();
        while let Some(envelope) = stream.next().await {
            if let AgentEvent::ToolQuestion(asked) = &envelope.event {
                while let Some(answer) = answers.pop_front() {
                    if questions.answer(&asked.question_id, answer).is_ok() {
                        break;
                    }
                    assert_eq!(
                        questions.open().len(),
                        1,
                        "a wrong answer leaves the question open"
                    );
                }
            }
            events.push(envelope.event);
        }
        (events, stream.outcome().await.unwrap())
    };
    let ((events, outcome), scripted) = tokio::join!(reader, server);
    assert!(questions.open().is_empty());
    (events, outcome, scripted)
}

fn questions(events: &[AgentEvent]) -> Vec<ToolQuestion> {
    let question = |event: &AgentEvent| {
        if let AgentEvent::ToolQuestion(it) = event { Some((**it).clone()) } else { None }
    };
    events.iter().filter_map(question).collect()
}

fn ends(events: &[AgentEvent]) -> Vec<QuestionEnd> {
    let end = |event: &_| {
        if let AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent { end, .. }) = event {
            Some(*end)
        } else {
            None
        }
    };
    events.iter().filter_map(end).collect()
}

/// Returns the result of the only call.
pub(super) fn result(outcome: &RunOutcome) -> &str {
    let results: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_results()).collect();
    let [result] = *results else { panic!("{results:?}") };
    &result.content
}

/// Lists the tool, takes the call, and asks one question; returns what was answered.
async fn asks(mut scripted: Scripted, params: Value) -> (Scripted, Value) {
    scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
    let call = scripted.call().await;
    scripted.ask(7, "elicitation/create", params).await;
    let answer = scripted.read_line().await;
    assert_eq!(answer["id"], 7);
    scripted.result(&call, done()).await;
    (scripted, answer["result"].clone())
}

#[tokio::test]
async fn a_form_is_filled_in_by_the_user_with_its_defaults() {
    let (servers, scripted) = greeted(json!({ "command": "x" })).await;
    let wrong = [json!({}), json!({ "name": "A" }), json!({ "name": "Ann", "age": "x" })];
    let answers = wrong.into_iter().chain([json!({ "name": "Ann" })]).map(accept);
    let server = async {
        let (scripted, answer) = asks(scripted, form()).await;
        assert_eq!(answer, json!({ "action": "accept", "content": { "name": "Ann", "age": 30 } }));
        scripted
    };
    let (events, outcome, _) = run(agent(servers), answers, server).await;
    let asked = questions(&events);
    assert_eq!((asked.len(), &*asked[0].message, &*asked[0].tool_name), (1, "Who?", "mcp.s.f"));
    assert_eq!(asked[0].schema.as_ref().unwrap().to_value(), form()["requestedSchema"]);
    assert_eq!(ends(&events), [QuestionEnd::Accepted]);
    assert_eq!(result(&outcome), "done");
}

#[tokio::test]
async fn a_refusal_and_an_address_are_answers() {
    let url =
        |url: &str| json!({ "mode": "url", "message": "Sign.", "url": url, "elicitationId": "e" });
    let long = format!("https://{}", "x".repeat(3_000));
    #[rustfmt::skip]
    let cases = [
        (form(),                   Some(ToolAnswer::Decline),    json!({ "action": "decline" })),
        (form(),                   Some(ToolAnswer::Cancel),     json!({ "action": "cancel" })),
        (url("https://x/y"),       Some(accept(json!({}))),      json!({ "action": "accept" })),
        (url("https://x/y"),       Some(ToolAnswer::Decline),    json!({ "action": "decline" })),
        (url("javascript:x()"),    None,                         json!({ "action": "cancel" })),
        (url("file:///etc"),       None,                         json!({ "action": "cancel" })),
        (url(&long),               None,                         json!({ "action": "cancel" })),
    ];
    for (params, answer, want) in cases {
        let (servers, scripted) = greeted(json!({ "command": "x" })).await;
        let asked = usize::from(answer.is_some());
        let server = async {
            let (scripted, answer) = asks(scripted, params.clone()).await;
            assert_eq!(answer, want, "{params}");
            scripted
        };
        let (events, ..) = run(agent(servers), answer, server).await;
        assert_eq!(questions(&events).len(), asked, "{params}");
    }
}

#[tokio::test]
async fn question_without_a_person_is_cancelled() {
    let (servers, scripted) = greeted(json!({ "command": "x" })).await;
    let agent = agent(servers).build().unwrap().conversation();
    let (outcome, (_, answer)) = tokio::join!(agent.run("Do it."), asks(scripted, form()));
    assert_eq!((result(&outcome.unwrap()), answer), ("done", json!({ "action": "cancel" })));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_person_is_not_the_call_s() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    scripted.patience = Duration::from_hours(1);
    let began = Instant::now();
    let server = async {
        let (scripted, answer) = asks(scripted, form()).await;
        assert_eq!(answer, json!({ "action": "cancel" }));
        scripted
    };
    let (events, outcome, _) = run(agent(servers), [], server).await;
    assert_eq!(began.elapsed().as_secs(), 300);
    assert_eq!((ends(&events), result(&outcome)), (vec![QuestionEnd::Timeout], "done"));

    // Without a question the call has its own time.
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let began = Instant::now();
    let server = async {
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        scripted.call().await;
        scripted.ask(7, "elicitation/create", form()).await;
        scripted.read_line().await;
        scripted
    };
    let (_, outcome, _) = run(agent(servers), [ToolAnswer::Decline], server).await;
    assert_eq!(began.elapsed().as_secs(), 60);
    assert!(
        result(&outcome).contains("1m") || result(&outcome).contains("60"),
        "{}",
        result(&outcome)
    );
}

#[tokio::test]
async fn a_question_ends_with_its_call_and_when_the_server_takes_it_back() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let server = async {
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        let call = scripted.call().await;
        scripted.ask(7, "elicitation/create", form()).await;
        scripted.notify("notifications/cancelled", json!({ "requestId": 7 })).await;
        scripted.ask(8, "elicitation/create", form()).await;
        scripted.result(&call, done()).await;
        scripted
    };
    // Nobody answers: it would take 5 minutes.
    let (_, outcome, _) = run(agent(servers), [], server).await;
    assert_eq!(result(&outcome), "done");
}

#[tokio::test]
async fn question_of_a_server_shared_by_two_runs_is_not_asked() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let agents = [(); 2].map(|()| agent(servers.clone()).build().unwrap().conversation());
    let mut streams = agents.map(|agent| agent.run_stream("Do it."));
    let [first, second] = &mut streams;
    let both = async {
        tokio::join!(
            async {
                while let Some(it) = first.next().await {
                    assert!(!matches!(it.event, AgentEvent::ToolQuestion(_)));
                }
            },
            async {
                while let Some(it) = second.next().await {
                    assert!(!matches!(it.event, AgentEvent::ToolQuestion(_)));
                }
            },
        )
    };
    let server = async {
        for _ in 0..2 {
            scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        }
        let calls = [scripted.call().await, scripted.call().await];
        scripted.ask(7, "elicitation/create", form()).await;
        assert_eq!(scripted.read_line().await["result"], json!({ "action": "cancel" }));
        for call in calls {
            scripted.result(&call, done()).await;
        }
    };
    tokio::join!(both, server);
}

#[tokio::test]
async fn respondent_answers_instead_of_the_user() {
    let respond = |asked: McpQuestion| async move {
        assert_eq!((&*asked.server, asked.run.is_some()), ("s", true));
        match &*asked.message {
            "fits" => Some(accept(json!({ "name": "Bob" }))),
            "does not fit" => Some(accept(json!({ "name": 1 }))),
            "breaks" => panic!("broken"),
            _ => None,
        }
    };
    let cancel = json!({ "action": "cancel" });
    let ann = json!({ "action": "accept", "content": { "name": "Ann", "age": 30 } });
    let bob = json!({ "action": "accept", "content": { "name": "Bob", "age": 30 } });
    let cases = [
        ("fits", bob, 0),
        ("does not fit", cancel.clone(), 0),
        ("breaks", cancel, 0),
        ("other", ann, 1),
    ];
    for (message, want, asked) in cases {
        let options = McpOptions::default().respondent(respond);
        let (servers, scripted) = greeted_with(json!({ "command": "x" }), options).await;
        let mut params = form();
        params["message"] = message.into();
        let server = async {
            let (scripted, answer) = asks(scripted, params).await;
            assert_eq!(answer, want, "{message}");
            scripted
        };
        let (events, ..) = run(agent(servers), [accept(json!({ "name": "Ann" }))], server).await;
        assert_eq!(questions(&events).len(), asked, "{message}");
    }
}

#[tokio::test]
async fn a_result_that_asks_for_input_is_a_question_and_the_call_goes_on() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let server = async {
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        let call = scripted.call().await;
        let asked = json!({ "who": { "method": "elicitation/create", "params": form() } });
        let required =
            json!({ "resultType": "input_required", "inputRequests": asked, "requestState": "st" });
        scripted.result(&call, required).await;
        let again = scripted.call().await;
        let answers =
            json!({ "who": { "action": "accept", "content": { "name": "Ann", "age": 30 } } });
        assert_eq!(again["params"]["inputResponses"], answers);
        assert_eq!(
            (&again["params"]["requestState"], &again["params"]["name"]),
            (&json!("st"), &json!("f"))
        );
        assert_ne!(again["id"], call["id"]);
        scripted.result(&again, done()).await;
        scripted
    };
    let (events, outcome, _) =
        run(agent(servers), [accept(json!({ "name": "Ann" }))], server).await;
    assert_eq!((ends(&events), result(&outcome)), (vec![QuestionEnd::Accepted], "done"));
}

#[tokio::test(start_paused = true)]
async fn endless_input_requests_are_an_error() {
    let many: serde_json::Map<String, Value> = (0..17)
        .map(|n| (n.to_string(), json!({ "method": "elicitation/create", "params": form() })))
        .collect();
    let sample = json!({ "messages": [], "maxTokens": 1 });
    let sample = json!({ "a": { "method": "sampling/createMessage", "params": sample } });
    #[rustfmt::skip]
    let cases = [
        (json!({ "resultType": "input_required", "requestState": "st" }), 10, "asked for input 10 times"),
        (json!({ "resultType": "input_required", "inputRequests": many }), 1, "asks for more than 16 inputs"),
        (json!({ "resultType": "input_required", "inputRequests": sample }), 1, "requests something that it was not offered"),
    ];
    for (required, rounds, want) in cases {
        let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
        let server = async {
            scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
            for _ in 0..rounds {
                let call = scripted.call().await;
                scripted.result(&call, required.clone()).await;
            }
            scripted
        };
        let (_, outcome, _) = run(agent(servers), [], server).await;
        assert!(result(&outcome).contains(want), "{}", result(&outcome));
    }
}

#[tokio::test]
async fn progress_is_output_of_the_call_that_goes_on_and_has_a_bound() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let server = async {
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        let call = scripted.call().await;
        let token = &call["params"]["_meta"]["progressToken"];
        let long = format!("a\n\u{1b}[2J{}", "x".repeat(600));
        for (token, done, message) in [
            (token, 1.0, "begun"),
            (&json!("of another"), 1.5, "not mine"),
            (token, 1.0, "again"),
            (token, 2.5, &long),
        ] {
            let progress =
                json!({ "progressToken": token, "progress": done, "total": 4, "message": message });
            scripted.notify("notifications/progress", progress).await;
            // Each is read before the next: what comes at once is one event.
            scripted.ask(9, "ping", json!({})).await;
            scripted.read_line().await;
        }
        scripted.result(&call, done()).await;
        scripted
    };
    let (events, ..) = run(agent(servers), [], server).await;
    let output = |event: &_| {
        if let AgentEvent::ToolOutput(ToolOutputEvent { content, .. }) = event {
            Some(content.clone())
        } else {
            None
        }
    };
    let outputs: Vec<_> = events.iter().filter_map(output).collect();
    let cut = format!("a \u{1b}[2J{} (2.5 of 4)\n", "x".repeat(494));
    assert_eq!(outputs, ["begun (1 of 4)\n".to_owned(), cut]);
}

// Rows: N-45
#[tokio::test(start_paused = true)]
async fn n45_progress_extends_a_call_ten_times_at_most() {
    let step = Duration::from_secs(4);
    // The limit of the call, the number of reports, and the result.
    for (limit, reports, want, took) in
        [(5, 3, "done", 12), (5, u32::MAX, "no result after", 50), (3, 1, "no result after", 3)]
    {
        let (servers, mut scripted) = greeted(json!({ "command": "x", "timeout": limit })).await;
        scripted.patience = Duration::from_hours(1);
        let server = async {
            scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
            let call = scripted.call().await;
            let began = Instant::now();
            for count in 1..=reports {
                let next = tokio::time::timeout(step, scripted.lines.next_line()).await;
                if let Ok(sent) = next {
                    let sent = sent.unwrap().unwrap();
                    assert!(sent.contains("notifications/cancelled"), "{sent}");
                    return began.elapsed();
                }
                let token = &call["params"]["_meta"]["progressToken"];
                let progress = json!({ "progressToken": token, "progress": count });
                scripted.notify("notifications/progress", progress).await;
            }
            scripted.result(&call, done()).await;
            began.elapsed()
        };
        let agent = agent(servers).build().unwrap().conversation();
        let (outcome, elapsed) = tokio::join!(agent.run("Go."), server);
        let outcome = outcome.unwrap();
        assert!(result(&outcome).contains(want), "{limit} s: {}", result(&outcome));
        assert_eq!(elapsed.as_secs(), took, "{limit} s");
    }
}

#[tokio::test]
async fn what_is_not_offered_is_refused_and_roots_are_when_they_are_set() {
    let (ours, mut scripted) = pipe();
    let options = McpOptions::default().root("file:///srv/project");
    let greet = async {
        let hello = scripted.read_line().await;
        let info = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
        scripted.result(&hello, info).await;
        scripted.read_line().await;
        hello["params"]["capabilities"].clone()
    };
    let (session, offered) = tokio::join!(session(ours, &options), greet);
    let _session = session.unwrap();
    assert_eq!(
        offered,
        json!({ "elicitation": { "form": { "schemaValidation": true }, "url": {} }, "roots": {} })
    );
    scripted.ask(1, "roots/list", json!({})).await;
    assert_eq!(
        scripted.read_line().await["result"],
        json!({ "roots": [{ "uri": "file:///srv/project" }] })
    );
    scripted.ask(2, "sampling/createMessage", json!({ "messages": [], "maxTokens": 1 })).await;
    assert_eq!(scripted.read_line().await["error"]["code"], -32601);
    // A question outside any call reaches no user.
    scripted.ask(3, "elicitation/create", form()).await;
    assert_eq!(scripted.read_line().await["result"], json!({ "action": "cancel" }));

    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    scripted.ask(1, "roots/list", json!({})).await;
    assert_eq!(scripted.read_line().await["error"]["code"], -32601);
    drop(servers);
}

#[test]
fn an_answer_is_read_from_json() {
    let accepted: ToolAnswer =
        serde_json::from_str(r#"{"action":"accept","content":{"n":1.50}}"#).unwrap();
    assert_eq!(accepted, ToolAnswer::accept(Json::parse(r#"{"n":1.50}"#).unwrap()));
}
