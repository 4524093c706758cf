//! Runs that wait for several things at once: each of them is taken, in each protocol, in another process too.

use std::sync::Arc;

use tokio::{join, sync::Semaphore, task::yield_now};

use super::{
    chats::{agui, chat, parts, reported, user, whole_input, with},
    recovered::{dies, dies_at_once, lives, over, whole},
    *,
};
use forgeline_store::Stores;
use forgeline_types::{Preview, ToolAnswer};

/// An agent that asks about two calls, of which the second is shown when the gate is open, and calls the page, all in one answer.
fn several(gate: &Arc<Semaphore>) -> Agent {
    let tool = |name: &'static str| {
        let tool = tool_fn(name, "Does it.", move |_: ToolContext, _: Value| async move { name });
        tool.effects(ToolEffects::Irreversible).idempotent()
    };
    let gate = Arc::clone(gate);
    let late = tool("late").previewed_by(move |_: ToolContext, _: Value| {
        let gate = Arc::clone(&gate);
        async move {
            drop(gate.acquire().await);
            Ok(Preview::text("late"))
        }
    });
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        let results = request.messages.iter().flat_map(|it| it.tool_results());
        let results: Vec<_> = results.map(|it| it.content.clone()).collect();
        if results.is_empty() {
            let turn = ScriptedTurn::new().call("early", json!({})).call("late", json!({}));
            return turn.call("page", json!({}));
        }
        ScriptedTurn::new().text(format!("{results:?}"))
    });
    let agent = Agent::builder(provider).tool(tool("early")).tool(late).tool(page);
    agent.build().unwrap()
}

const ALL: &str = r#"["early", "late", "A page."]"#;

/// The requests of a run, as its readers know them.
struct Open {
    run: String,
    early: Value,
    late: Value,
    /// The id of the request to the page, and of its call in both other protocols.
    page: Value,
    call: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Native,
    UiMessages,
    AgUi,
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Native, Protocol::UiMessages, Protocol::AgUi];

impl Protocol {
    /// Begins the run; returns once all its requests are reported.
    async fn ask(self, app: &Router) -> Open {
        let said = json!({ "messages": [{ "role": "user", "content": "Go." }] });
        let id = match self {
            Self::Native => {
                let run = begin(app, "ann", &json!({ "input": "Go." })).await;
                run.rsplit('/').next().unwrap().to_owned()
            }
            Self::UiMessages => {
                let (_, first, _) = chat(app, "ann", user("Go.")).await;
                with(&first, "start")["messageId"].as_str().unwrap().to_owned()
            }
            Self::AgUi => {
                let (_, first) = agui(app, "ann", said).await;
                first[0]["runId"].as_str().unwrap().to_owned()
            }
        };
        let run = format!("/v1/runs/{id}");
        let approval = async |tool: &str| {
            let mut found = Value::Null;
            while found.is_null() {
                let (_, page) =
                    value(get(app, &format!("{run}/stream?offset=-1"), "ann").await).await;
                let events = page.as_array().unwrap().iter();
                let mut asked = events.filter(|it| it["type"] == "tool_approval_request");
                found = asked
                    .find(|it| it["tool_name"] == tool)
                    .map_or(Value::Null, |it| it["approval_id"].clone());
                yield_now().await;
            }
            found
        };
        let (early, late) = (approval("early").await, approval("late").await);
        let asked = until(app, &run, "client_tool_request").await;
        Open { early, late, page: asked["client_call_id"].clone(), call: json!("1.call-2"), run }
    }

    /// Grants one request.
    async fn granted(self, app: &Router, open: &Open, id: &Value) -> Response {
        match self {
            Self::Native => {
                let body = json!({ "approval_id": id, "decision": "grant" });
                post(app, &format!("{}/approvals", open.run), "ann", &body).await
            }
            Self::UiMessages => {
                let part = json!({ "type": "dynamic-tool", "state": "approval-responded", "toolCallId": "1.x", "approval": { "id": id, "approved": true } });
                let body =
                    json!({ "id": "c1", "messages": [{ "role": "assistant", "parts": [part] }] });
                post(app, "/api/chat", "ann", &body).await
            }
            Self::AgUi => {
                let resume = json!([{ "interruptId": id, "status": "resolved", "payload": true }]);
                post(app, "/agui", "ann", &whole_input(&json!({ "resume": resume }))).await
            }
        }
    }

    /// Gives the result of the page.
    async fn given(self, app: &Router, open: &Open) -> Response {
        match self {
            Self::Native => {
                let body =
                    json!({ "client_call_id": open.page, "result": { "content": "A page." } });
                post(app, &format!("{}/tool-results", open.run), "ann", &body).await
            }
            Self::UiMessages => {
                let part = json!({ "type": "tool-page", "state": "output-available", "toolCallId": open.call, "output": "A page." });
                let body =
                    json!({ "id": "c1", "messages": [{ "role": "assistant", "parts": [part] }] });
                post(app, "/api/chat", "ann", &body).await
            }
            Self::AgUi => {
                let message =
                    json!({ "role": "tool", "toolCallId": open.call, "content": "A page." });
                let body = whole_input(&json!({ "messages": [message] }));
                post(app, "/agui", "ann", &body).await
            }
        }
    }

    /// Grants one request; returns the text that the answer has.
    async fn grant(self, app: &Router, open: &Open, id: &Value) -> String {
        self.reported(self.granted(app, open, id).await).await
    }

    /// Gives the result of the page; returns the text that the answer has.
    async fn give(self, app: &Router, open: &Open) -> String {
        self.reported(self.given(app, open).await).await
    }

    async fn reported(self, response: Response) -> String {
        let status = response.status();
        let text = text(response).await;
        assert_eq!(status, 200, "{self:?}: {text}");
        if self == Self::Native { text } else { reported(&parts(&text)) }
    }
}

async fn status(app: &Router, open: &Open) -> Value {
    value(get(app, &open.run, "ann").await).await.1["status"].clone()
}

/// The text of the run, which has ended.
async fn said(app: &Router, open: &Open) -> String {
    let events = whole(app, &open.run).await;
    assert_eq!(events.last().unwrap()["status"], "completed", "{events:?}");
    events
        .iter()
        .filter_map(|event| {
            event["content"].as_str().filter(|_| event["type"] == "message_content")
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_several_goes_on_when_the_last_is_answered() {
    for protocol in PROTOCOLS {
        // In each order, of which each thing is the first and the last once.
        for order in
            [["early", "late", "page"], ["late", "page", "early"], ["page", "early", "late"]]
        {
            let (_, app) = service(several(&Arc::new(Semaphore::new(1))));
            let open = protocol.ask(&app).await;
            let mut last = String::new();
            for (at, what) in order.into_iter().enumerate() {
                assert_eq!(status(&app, &open).await, "waiting", "{protocol:?} {order:?}");
                last = match what {
                    "early" => protocol.grant(&app, &open, &open.early).await,
                    "late" => protocol.grant(&app, &open, &open.late).await,
                    _ => protocol.give(&app, &open).await,
                };
                if protocol != Protocol::Native {
                    assert_eq!(last.contains(ALL), at == 2, "{protocol:?} {order:?}: {last}");
                }
            }
            assert_eq!(said(&app, &open).await, ALL, "{protocol:?} {order:?} {last}");
        }
    }
}

#[test]
fn each_of_several_things_is_taken_after_a_restart_also_while_only_the_first_is_open_again() {
    for protocol in PROTOCOLS {
        let stores = Stores::in_memory();
        let open = dies(async {
            let (_, app) = over(&stores, several(&Arc::new(Semaphore::new(1))));
            protocol.ask(&app).await
        });
        lives(async {
            let gate = Arc::new(Semaphore::new(0));
            let (service, app) = over(&stores, several(&gate));
            assert_eq!(service.recover().await.unwrap().resumed, 1);
            let owner = Caller::new("ann").scope("team-a");
            let id = open.run.rsplit('/').next().unwrap();
            let run = service.0.runs.of_caller(&owner, id).await.unwrap();
            let opens = async {
                while run.approvals.open().is_empty() {
                    yield_now().await;
                }
                for _ in 0..1_000 {
                    yield_now().await;
                }
                gate.add_permits(1);
            };
            join!(protocol.grant(&app, &open, &open.late), opens);
            protocol.give(&app, &open).await;
            protocol.grant(&app, &open, &open.early).await;
            assert_eq!(said(&app, &open).await, ALL, "{protocol:?}");
        });
    }
}

#[test]
fn an_answer_that_was_acknowledged_is_not_asked_for_again_after_a_restart() {
    for protocol in PROTOCOLS {
        let (stores, gate) = (Stores::in_memory(), Arc::new(Semaphore::new(1)));
        let open = dies(async {
            let (_, app) = over(&stores, several(&gate));
            protocol.ask(&app).await
        });
        // The journal has neither.
        for at in 0..2 {
            dies_at_once(async {
                let (service, app) = over(&stores, several(&gate));
                assert_eq!(service.recover().await.unwrap().resumed, 1);
                let response = match at {
                    0 => protocol.granted(&app, &open, &open.late).await,
                    _ => protocol.given(&app, &open).await,
                };
                assert_eq!(response.status(), 200, "{protocol:?}");
            });
        }
        lives(async {
            let (service, app) = over(&stores, several(&gate));
            assert_eq!(service.recover().await.unwrap().resumed, 1);
            protocol.grant(&app, &open, &open.early).await;
            assert_eq!(said(&app, &open).await, ALL, "{protocol:?}");
        });
    }
}

#[test]
fn an_answer_to_a_question_is_given_again_to_a_tool_that_runs_again() {
    let agent = || {
        let book = tool_fn("book", "Books.", |context: ToolContext, _: Value| async move {
            let schema =
                json!({ "type": "object", "properties": { "seat": { "type": "string" } } });
            match context.ask(Question::form("Which seat?", schema)).await {
                ToolAnswer::Accept { content, .. } => content.as_str().to_owned(),
                ToolAnswer::Decline | ToolAnswer::Cancel => "none".to_owned(),
                _ => "none".to_owned(),
            }
        });
        let provider = ScriptedProvider::from_fn(|request: &Asked| {
            let mut results = request.messages.iter().flat_map(|it| it.tool_results());
            match results.next() {
                Some(result) => ScriptedTurn::new().text(result.content.clone()),
                None => ScriptedTurn::new().call("book", json!({})),
            }
        });
        Agent::builder(provider).tool(book.idempotent()).build().unwrap()
    };
    let stores = Stores::in_memory();
    let run = dies_at_once(async {
        let (_, app) = over(&stores, agent());
        let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
        let asked = until(&app, &run, "tool_question").await;
        let answer = json!({ "action": "accept", "content": { "seat": "12A" } });
        let body = json!({ "question_id": asked["question_id"], "answer": answer });
        assert_eq!(post(&app, &format!("{run}/inputs"), "ann", &body).await.status(), 200);
        run
    });
    lives(async {
        let (service, app) = over(&stores, agent());
        assert_eq!(service.recover().await.unwrap().resumed, 1);
        let events = whole(&app, &run).await;
        assert!(events.iter().any(|event| event["content"] == r#"{"seat":"12A"}"#), "{events:?}");
    });
}

#[tokio::test]
async fn answers_are_kept_no_longer_than_the_journal_needs_them() {
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let provider =
        ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().call("page", json!({})));
    let agent = Agent::builder(provider).tool(page.may_repeat(true)).build().unwrap();
    let stores = Stores::in_memory();
    let (service, app) = over(&stores, agent);
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let id = run.rsplit('/').next().unwrap();
    let owner = Caller::new("ann").scope("team-a");
    let handle = service.0.runs.of_caller(&owner, id).await.unwrap();
    for at in 0..5 {
        let call = loop {
            if let Some(call) = handle.client_calls.open().pop() {
                break call.client_call_id;
            }
            yield_now().await;
        };
        let result = json!({ "content": format!("Page {at}.") });
        let body = json!({ "client_call_id": call, "result": result });
        let path = format!("{run}/tool-results");
        assert_eq!(post(&app, &path, "ann", &body).await.status(), 200);
        let key = forgeline_store::LogKey::new("team-a", id);
        let notes = stores.runs.get(&key).await.unwrap().notes;
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].data.contains(&format!("Page {at}.")), "{notes:?}");
    }
}

#[test]
fn a_request_that_is_told_again_after_a_restart_is_one_of_ag_ui() {
    let stores = Stores::in_memory();
    let open = dies(async {
        let (_, app) = over(&stores, several(&Arc::new(Semaphore::new(1))));
        let open = Protocol::AgUi.ask(&app).await;
        Protocol::AgUi.grant(&app, &open, &open.early).await;
        open
    });
    lives(async {
        let (service, app) = over(&stores, several(&Arc::new(Semaphore::new(1))));
        assert_eq!(service.recover().await.unwrap().resumed, 1);
        let (_, parts) = agui(&app, "ann", json!({})).await;
        let interrupts = &with(&parts, "RUN_FINISHED")["outcome"]["interrupts"];
        let ids: Vec<_> = interrupts.as_array().unwrap().iter().map(|it| &it["id"]).collect();
        assert_eq!(ids, [&open.late]);
    });
}
