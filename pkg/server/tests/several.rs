//! Runs that wait for several things at once: each of them is taken, in each protocol, in another process too.

use std::sync::Arc;

use tokio::{join, sync::Semaphore, task::yield_now};

use super::{
    chats::{agui, chat, told, user, with},
    recovered::{dies, lives, over, whole},
    *,
};
use crate::{store::Stores, types::Preview};

/// An agent that asks about two calls, of which the second is shown when the gate is open, and calls the page, all in one answer.
fn several(gate: &Arc<Semaphore>) -> DefaultAgent {
    let tool = |name: &'static str| {
        let tool = tool_fn(name, "Does it.", move |_: ToolContext, _: Value| async move { name });
        tool.effects(ToolEffects::Irreversible)
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
    let agent = DefaultAgent::builder(provider).tool(tool("early")).tool(late).tool(page);
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
    /// Begins the run; returns once all that it asks is told.
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

    /// Grants one request; returns the text that the answer has.
    async fn grant(self, app: &Router, open: &Open, id: &Value) -> String {
        let (status, text) = match self {
            Self::Native => {
                let body = json!({ "approval_id": id, "decision": "grant" });
                let response = post(app, &format!("{}/approvals", open.run), "ann", &body).await;
                (response.status().as_u16(), text(response).await)
            }
            Self::UiMessages => {
                let part = json!({ "type": "dynamic-tool", "state": "approval-responded", "toolCallId": "1.x", "approval": { "id": id, "approved": true } });
                let message = json!({ "role": "assistant", "parts": [part] });
                let (status, parts, _) = chat(app, "ann", message).await;
                (status, told(&parts))
            }
            Self::AgUi => {
                let resume = json!({ "resume": [{ "interruptId": id, "status": "resolved", "payload": true }] });
                let (status, parts) = agui(app, "ann", resume).await;
                (status, told(&parts))
            }
        };
        assert_eq!(status, 200, "{self:?}: {text}");
        text
    }

    /// Gives the result of the page; returns the text that the answer has.
    async fn give(self, app: &Router, open: &Open) -> String {
        let (status, text) = match self {
            Self::Native => {
                let body =
                    json!({ "client_call_id": open.page, "result": { "content": "A page." } });
                let response = post(app, &format!("{}/tool-results", open.run), "ann", &body).await;
                (response.status().as_u16(), text(response).await)
            }
            Self::UiMessages => {
                let part = json!({ "type": "tool-page", "state": "output-available", "toolCallId": open.call, "output": "A page." });
                let message = json!({ "role": "assistant", "parts": [part] });
                let (status, parts, _) = chat(app, "ann", message).await;
                (status, told(&parts))
            }
            Self::AgUi => {
                let result = json!({ "messages": [{ "role": "tool", "toolCallId": open.call, "content": "A page." }] });
                let (status, parts) = agui(app, "ann", result).await;
                (status, told(&parts))
            }
        };
        assert_eq!(status, 200, "{self:?}: {text}");
        text
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
            let run = service.run(&owner, id).await.unwrap();
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
