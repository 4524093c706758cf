//! Services over the stores of another one whose process died.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::runtime::Runtime;

use super::*;
use forgeline_store::{ConversationKey, Stores};

/// A service of this agent over these stores.
pub(super) fn over(stores: &Stores, agent: Agent) -> (Service, Router) {
    let service = built(agent).stores(stores.clone()).build().unwrap();
    (service.clone(), router(service))
}

/// Does work in a process that dies after it.
pub(super) fn dies<T>(work: impl Future<Output = T>) -> T {
    let runtime = Runtime::new().unwrap();
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::from_secs(5));
    done
}

/// Does work in a process that dies as soon as it has its outcome: no task goes on meanwhile.
pub(super) fn dies_at_once<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

pub(super) fn lives<T>(work: impl Future<Output = T>) -> T {
    Runtime::new().unwrap().block_on(work)
}

/// A tool that does not end, and counts how often it began.
fn pay(begun: &Arc<AtomicUsize>) -> impl forgeline_agent::tools::Tool + use<> {
    let begun = Arc::clone(begun);
    tool_fn("pay", "Pays.", move |_: ToolContext, _: Value| {
        begun.fetch_add(1, Ordering::SeqCst);
        async {
            std::future::pending::<()>().await;
            "paid"
        }
    })
}

pub(super) async fn whole(app: &Router, run: &str) -> Vec<Value> {
    let frames = text(get(app, &format!("{run}/events"), "ann").await).await;
    let data = frames.split("\n\n").filter_map(|frame| frame.split_once("data: "));
    data.map(|(_, data)| serde_json::from_str(data).unwrap()).collect()
}

// Covers: T-63, E-40
#[test]
fn a_run_that_a_dead_process_left_goes_on_without_a_gap() {
    let stores = Stores::in_memory();
    let (run, queued) = dies(async {
        let (_, app) = over(&stores, scripted([ScriptedTurn::new().text("Once").hang()]));
        let run = begin(&app, "ann", &json!({ "input": "Tell.", "conversation_id": "c" })).await;
        let queued =
            begin(&app, "ann", &json!({ "input": "And again.", "conversation_id": "c" })).await;
        until(&app, &run, "message_content").await;
        (run, queued)
    });
    lives(async {
        let turns = [ScriptedTurn::new().text("Once upon."), ScriptedTurn::new().text("Twice.")];
        let (service, app) = over(&stores, scripted(turns));
        let recovered = service.recover().await.unwrap();
        assert_eq!((recovered.resumed, recovered.interrupted, recovered.ended), (2, 0, 0));
        let reported = whole(&app, &run).await;
        assert!(
            reported.iter().enumerate().all(|(at, event)| event["seq"] == json!(at)),
            "{reported:?}"
        );
        let texts: Vec<_> = reported.iter().filter_map(|event| event["content"].as_str()).collect();
        assert_eq!(texts, ["Once", "Once upon."], "what was shown stays");
        let restarted =
            reported.iter().position(|event| event.to_string().contains("answer_restarted"));
        assert!(restarted.is_some(), "{reported:?}");
        assert_eq!(reported.last().unwrap()["status"], "completed");
        let reported = whole(&app, &queued).await;
        assert_eq!(reported.last().unwrap()["status"], "completed", "it had not begun");
        let messages =
            stores.conversations.messages(&ConversationKey::new("team-a", "c"), 0, 9).await;
        let texts: Vec<_> = messages.unwrap().iter().map(|it| it.message.text()).collect();
        assert_eq!(texts, ["Tell.", "Once upon.", "And again.", "Twice."]);
        let head = stores.conversations.get(&ConversationKey::new("team-a", "c")).await.unwrap();
        assert_eq!(head.title.as_deref(), Some("Tell."));
    });
}

/// The tool that a page brings along.
fn page_tool() -> Value {
    json!([{ "name": "page", "description": "Reads the page.", "parameters": { "type": "object" } }])
}

#[test]
fn tools_of_a_request_are_there_after_a_restart() {
    let stores = Stores::in_memory();
    let agent = || {
        let provider = ScriptedProvider::from_fn(|asked: &Asked| {
            let results = asked.messages.iter().flat_map(|it| it.tool_results()).count();
            if results == 0 {
                return ScriptedTurn::new().text("Let me look.").call("page", json!({}));
            }
            ScriptedTurn::new().text("I see.")
        });
        Agent::builder(provider).build().unwrap()
    };
    let ask = |messages: Value| json!({ "threadId": "c", "runId": "r", "state": {}, "tools": page_tool(), "context": [], "messages": messages });
    let said = json!({ "id": "u1", "role": "user", "content": "Go." });
    let (run, first) = dies(async {
        let (_, app) = over(&stores, agent());
        let first = text(post(&app, "/agui", "ann", &ask(json!([said]))).await).await;
        let run = first.split("\"runId\":\"").nth(1).unwrap().split('"').next().unwrap();
        // One that waits after it has no tools of its own.
        let next = json!({ "input": "And then?", "conversation_id": "c" });
        let next = begin(&app, "ann", &next).await;
        (format!("/v1/runs/{run}"), (first.clone(), next))
    });
    let (first, next) = first;
    assert!(
        first.contains("RUN_FINISHED") && first.contains("\"toolCallName\":\"page\""),
        "{first}"
    );
    lives(async {
        let (service, app) = over(&stores, agent());
        let recovered = service.recover().await.unwrap();
        assert_eq!((recovered.resumed, recovered.interrupted), (2, 0), "{recovered:?}");
        // At once, while the run comes to where it was.
        let call = first.split("\"toolCallId\":\"").nth(1).unwrap().split('"').next().unwrap();
        let result =
            json!({ "id": "t1", "role": "tool", "toolCallId": call, "content": "A page." });
        let rest = text(post(&app, "/agui", "ann", &ask(json!([said, result]))).await).await;
        assert!(rest.contains("I see."), "{rest}");
        assert!(!rest.contains("Let me look."), "what was read is not sent again: {rest}");
        assert_eq!(whole(&app, &run).await.last().unwrap()["status"], "completed");
        assert_eq!(whole(&app, &next).await.last().unwrap()["status"], "completed");
    });
}

#[test]
fn an_answer_that_is_asked_for_again_is_in_a_message_once() {
    let stores = Stores::in_memory();
    let run = dies(async {
        let (_, app) =
            over(&stores, scripted([ScriptedTurn::new().thinking("Hm.").text("Once up").hang()]));
        let run = begin(&app, "ann", &json!({ "input": "Tell.", "conversation_id": "c" })).await;
        until(&app, &run, "message_content").await;
        run
    });
    lives(async {
        let turn =
            ScriptedTurn::new().thinking("Hm, well.").text("Once upon ").text("a time.").hang();
        let (service, app) = over(&stores, scripted([turn]));
        assert_eq!(service.recover().await.unwrap().resumed, 1);
        let read = async |version: &str| {
            let request = request(Method::GET, "/api/chat/c/stream", "ann");
            let request = request.header("x-ai-sdk-version", version).body(Body::empty()).unwrap();
            app.clone().oneshot(request).await.unwrap().into_body().into_data_stream()
        };
        let mut chat = read("7.0.1").await;
        let mut seen = String::new();
        while !seen.contains("a time.") {
            seen.push_str(std::str::from_utf8(&chat.next().await.unwrap().unwrap()).unwrap());
        }
        let parts = seen.lines().filter_map(|line| line.strip_prefix("data: "));
        let parts: Vec<Value> = parts.map(|data| serde_json::from_str(data).unwrap()).collect();
        let reset = parts.iter().position(|part| part["type"] == "reset-step").unwrap();
        let reported = |parts: &[Value]| -> String {
            let deltas = parts.iter().filter(|part| part["type"] == "text-delta");
            deltas.map(|part| part["delta"].as_str().unwrap()).collect()
        };
        assert_eq!(
            (reported(&parts[..reset]).as_str(), reported(&parts[reset..]).as_str()),
            ("Once up", "Once upon a time.")
        );
        let steps = parts.iter().filter(|part| part["type"] == "start-step").count();
        assert_eq!(steps, 1, "what was reset is the step that goes on: {seen}");

        // Rows: N-65
        // Versions that would break off at it, and those that do not say which they are.
        let unsaid = get(&app, "/api/chat/c/stream", "ann").await.into_body().into_data_stream();
        for mut chat in [unsaid, read("6").await, read("6.0.326").await, read("5.1").await] {
            let mut seen = String::new();
            while !seen.contains("a time.") {
                seen.push_str(std::str::from_utf8(&chat.next().await.unwrap().unwrap()).unwrap());
            }
            let kinds = seen.lines().filter_map(|line| line.strip_prefix("data: "));
            let kinds: Vec<Value> = kinds.map(|data| serde_json::from_str(data).unwrap()).collect();
            let kinds: Vec<_> = kinds.iter().map(|part| part["type"].as_str().unwrap()).collect();
            let steps = |kind| kinds.iter().filter(|it| **it == kind).count();
            assert!(!kinds.contains(&"reset-step"), "{kinds:?}");
            assert_eq!((steps("start-step"), steps("finish-step")), (2, 1), "{kinds:?}");
        }

        let path = format!("{run}/stream?as=ag-ui&offset=-1");
        let (_, events) = value(get(&app, &path, "ann").await).await;
        let events = events.as_array().unwrap();
        let again = events.iter().find(|event| event["name"] == "answer_restarted").unwrap();
        let void = again["value"]["messageIds"].as_array().unwrap();
        assert_eq!(void.len(), 2, "thinking and text: {again}");
        let of_void = |event: &&Value| !void.contains(&event["messageId"]);
        let texts = events.iter().filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT");
        let texts: String = texts.filter(of_void).map(|it| it["delta"].as_str().unwrap()).collect();
        assert_eq!(texts, "Once upon a time.");
    });
}

#[test]
fn a_run_that_cannot_go_on_is_interrupted_and_its_conversation_goes_on() {
    let stores = Stores::in_memory();
    let run = dies(async {
        let agent = Agent::builder(ScriptedProvider::new([ScriptedTurn::new().text("A").hang()]));
        let (_, app) = over(&stores, agent.tool(Calculator).build().unwrap());
        let run = begin(&app, "ann", &json!({ "input": "Go.", "conversation_id": "c" })).await;
        until(&app, &run, "message_content").await;
        run
    });
    lives(async {
        // Its tools are others.
        let agent = Agent::builder(ScriptedProvider::new([ScriptedTurn::new().text("B")]));
        let (service, app) = over(&stores, agent.build().unwrap());
        let recovered = service.recover().await.unwrap();
        assert_eq!((recovered.resumed, recovered.interrupted), (0, 1));
        let reported = whole(&app, &run).await;
        let end = reported.last().unwrap();
        assert_eq!((&end["type"], &end["status"]), (&json!("run_end"), &json!("interrupted")));
        assert!(end["error"]["message"].as_str().unwrap().contains("with other tools"), "{end}");
        assert_eq!(end["seq"], json!(reported.len() - 1));
        let (_, shown) = value(get(&app, &run, "ann").await).await;
        assert_eq!(shown["status"], "interrupted");
        let next = begin(&app, "ann", &json!({ "input": "On.", "conversation_id": "c" })).await;
        assert_eq!(whole(&app, &next).await.last().unwrap()["status"], "completed");
        // Its readers see the end before the store has it.
        while value(get(&app, &next, "ann").await).await.1["status"] != "completed" {
            tokio::task::yield_now().await;
        }
        assert_eq!(service.recover().await.unwrap(), Recovered::default(), "nothing is left");
    });
}

#[test]
fn a_run_is_resumed_three_times_and_its_call_is_not_made_again() {
    let (stores, begun) = (Stores::in_memory(), Arc::default());
    let agent = || {
        let call = || ScriptedTurn::new().call("pay", json!({}));
        let provider = ScriptedProvider::from_fn(move |asked: &Asked| {
            let results = asked.messages.iter().flat_map(|it| it.tool_results()).count();
            if results == 0 { call() } else { ScriptedTurn::new().text("So.").hang() }
        });
        Agent::builder(provider).tool(pay(&begun)).build().unwrap()
    };
    let run = dies(async {
        let (_, app) = over(&stores, agent());
        let run = begin(&app, "ann", &json!({ "input": "Pay.", "conversation_id": "c" })).await;
        while begun.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        run
    });
    for life in 1..=3 {
        dies(async {
            let (service, app) = over(&stores, agent());
            assert_eq!(service.recover().await.unwrap().resumed, 1, "life {life}");
            let result = until(&app, &run, "tool_result_error").await;
            assert!(result.to_string().contains("was interrupted"), "{result}");
            // Each life tells its answer anew.
            while whole_so_far(&stores, &run).await < life {
                tokio::task::yield_now().await;
            }
        });
    }
    lives(async {
        let (service, app) = over(&stores, agent());
        assert_eq!(service.recover().await.unwrap().interrupted, 1);
        let reported = whole(&app, &run).await;
        assert!(
            reported.iter().enumerate().all(|(at, event)| event["seq"] == json!(at)),
            "{reported:?}"
        );
        let count = |kind: &str| reported.iter().filter(|event| event["type"] == kind).count();
        assert_eq!((count("tool_call"), count("tool_result_error")), (1, 1), "{reported:?}");
        assert_eq!(reported.last().unwrap()["status"], "interrupted");
        let record = stores.runs.open(9).await.unwrap();
        assert!(record.is_empty(), "{record:?}");
        assert_eq!(begun.load(Ordering::SeqCst), 1, "it is paid once");
    });
}

/// Returns how often an answer was sent.
async fn whole_so_far(stores: &Stores, run: &str) -> usize {
    let id = run.rsplit('/').next().unwrap();
    let key = forgeline_store::LogKey::new("team-a", id);
    let page = stores.log.read(&key, 0, usize::MAX).await.unwrap();
    page.records.iter().filter(|record| record.kind == "message_content").count()
}

/// A run that has this number of events in its log, and no journal.
async fn without_journal(stores: &Stores, events: usize) -> String {
    use forgeline_store::{ConversationRecord, LogKey, LogRecord, StoredRun};
    let owner = Caller::new("ann").scope("team-a");
    let conversation =
        ConversationRecord::new(ConversationKey::new("team-a", "c"), "ann", "main", 1);
    stores.conversations.begin(conversation).await.unwrap();
    let input = forgeline_agent::RunInput::from("Tell.").caller(owner).conversation("c");
    let key = LogKey::new("team-a", "run_1");
    let record = StoredRun::new(key.clone(), "c", "ann", "main", 1).input(input.to_json().unwrap());
    stores.runs.begin(record, None).await.unwrap();
    stores.log.create(key.clone()).await.unwrap();
    let event = r#"{"run_id":"run_1","seq":0,"turn":0,"type":"update_busy","busy":true}"#;
    let records = vec![LogRecord::new("update_busy", event); events];
    stores.log.append(&key, 0, records, None).await.unwrap();
    "/v1/runs/run_1".to_owned()
}

#[tokio::test]
async fn what_was_said_is_kept_of_a_run_whose_journal_is_lost() {
    let stores = Stores::in_memory();
    let run = without_journal(&stores, 1).await;
    let (service, app) = over(&stores, scripted([ScriptedTurn::new().text("On.")]));
    assert_eq!(service.recover().await.unwrap().interrupted, 1);
    assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "interrupted");
    let next = begin(&app, "ann", &json!({ "input": "And?", "conversation_id": "c" })).await;
    assert_eq!(whole(&app, &next).await.last().unwrap()["status"], "completed");
    let messages = stores.conversations.messages(&ConversationKey::new("team-a", "c"), 0, 9).await;
    let texts: Vec<_> = messages.unwrap().iter().map(|it| it.message.text()).collect();
    assert_eq!(texts, ["Tell.", "And?", "On."]);
}

#[test]
fn a_run_goes_on_with_the_model_that_it_chose_or_says_that_it_is_gone() {
    let hangs = |name: &'static str| {
        ScriptedProvider::from_fn(move |_: &Asked| ScriptedTurn::new().text(name).hang())
    };
    let ends = |name: &'static str| {
        ScriptedProvider::from_fn(move |_: &Asked| ScriptedTurn::new().text(name))
    };
    for has_model in [true, false] {
        let stores = Stores::in_memory();
        let run = dies(async {
            let agent = Agent::builder(hangs("small")).model("large", hangs("large"));
            let (_, app) = over(&stores, agent.build().unwrap());
            let body = json!({ "input": "Go.", "conversation_id": "c", "model": "large" });
            let run = begin(&app, "ann", &body).await;
            until(&app, &run, "message_content").await;
            run
        });
        lives(async {
            let agent = Agent::builder(ends("small"));
            let agent = if has_model { agent.model("large", ends("large again")) } else { agent };
            let (service, app) = over(&stores, agent.build().unwrap());
            let recovered = service.recover().await.unwrap();
            assert_eq!(
                (recovered.resumed, recovered.interrupted),
                if has_model { (1, 0) } else { (0, 1) }
            );
            let reported = whole(&app, &run).await;
            let end = reported.last().unwrap();
            if has_model {
                assert!(
                    reported.iter().any(|event| event["content"] == "large again"),
                    "{reported:?}"
                );
                assert_eq!(end["status"], "completed");
            } else {
                assert!(
                    end["error"]["message"].as_str().unwrap().contains("no model `large`"),
                    "{end}"
                );
            }
            let next = begin(&app, "ann", &json!({ "input": "On.", "conversation_id": "c" })).await;
            let reported = whole(&app, &next).await;
            assert!(
                reported.iter().any(|event| event["content"] == "small"),
                "the next has the agent's own"
            );
        });
    }
}

#[tokio::test]
async fn a_run_whose_process_died_before_it_was_noted_is_heard_of_by_readers_of_all() {
    let stores = Stores::in_memory();
    let conversation = forgeline_store::ConversationRecord::new(
        ConversationKey::new("team-a", "c"),
        "ann",
        "main",
        1,
    );
    stores.conversations.begin(conversation).await.unwrap();
    for (at, id) in ["run_1", "run_2"].into_iter().enumerate() {
        let input =
            forgeline_agent::RunInput::from("Go.").caller(Caller::new("ann").scope("team-a"));
        let key = forgeline_store::LogKey::new("team-a", id);
        let record = forgeline_store::StoredRun::new(key.clone(), "c", "ann", "main", at as u64);
        stores.runs.begin(record.input(input.to_json().unwrap()), None).await.unwrap();
        // The second one has no log either.
        if at == 0 {
            stores.log.create(key).await.unwrap();
        }
    }
    for _ in 0..2 {
        let turns = [ScriptedTurn::new().text("One."), ScriptedTurn::new().text("Two.")];
        let (service, app) = over(&stores, scripted(turns));
        service.recover().await.unwrap();
        let read = async {
            let mut seen = String::new();
            let response = get(&app, "/v1/events?after=0.0", "ann").await;
            let mut frames = response.into_body().into_data_stream();
            while seen.matches("event: run_end").count() < 2 {
                seen.push_str(std::str::from_utf8(&frames.next().await.unwrap().unwrap()).unwrap());
            }
            seen
        };
        let seen = timeout(Duration::from_secs(30), read).await.unwrap();
        assert_eq!(seen.matches("event: run_queued").count(), 2, "each once: {seen}");
    }
}

#[test]
fn a_run_whose_cancel_was_acknowledged_does_not_go_on_after_a_restart() {
    for path in ["cancel", "stop", "next"] {
        let stores = Stores::in_memory();
        let agent = super::chats::asking;
        let run = dies(async {
            let (_, app) = over(&stores, agent());
            let run = begin(&app, "ann", &json!({ "input": "Go.", "conversation_id": "c1" })).await;
            until(&app, &run, "tool_approval_request").await;
            run
        });
        dies_at_once(async {
            let (service, app) = over(&stores, agent());
            assert_eq!(service.recover().await.unwrap().resumed, 1, "{path}");
            let response = match path {
                "cancel" => post(&app, &format!("{run}/cancel"), "ann", &json!({})).await,
                "stop" => {
                    let stop = request(Method::DELETE, "/api/chat/c1/stream", "ann");
                    app.clone().oneshot(stop.body(Body::empty()).unwrap()).await.unwrap()
                }
                // Who says something else does not answer what was asked.
                _ => {
                    let body = json!({ "id": "c1", "messages": [super::chats::user("Stop it.")] });
                    post(&app, "/api/chat", "ann", &body).await
                }
            };
            assert!(response.status().is_success(), "{path}");
        });
        lives(async {
            let (service, app) = over(&stores, agent());
            let resumed = service.recover().await.unwrap().resumed;
            // The next run was begun; the one before it may have come to its end.
            let wanted = if path == "next" { 1..=2 } else { 1..=1 };
            assert!(wanted.contains(&resumed), "{path}: {resumed}");
            let end = timeout(Duration::from_secs(30), whole(&app, &run)).await.unwrap();
            assert_eq!(end.last().unwrap()["status"], "cancelled", "{path}");
        });
    }
}

// Covers: T-63
#[test]
fn a_run_shows_what_it_has_used_after_a_restart_too() {
    let usage = forgeline_types::UsageInfo::default().input_tokens(7).output_tokens(2);
    let agent = move || {
        let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
        let provider = ScriptedProvider::from_fn(move |asked: &Asked| {
            let results = asked.messages.iter().flat_map(|it| it.tool_results()).count();
            let turn = ScriptedTurn::new().usage(usage);
            if results < 2 { turn.call("page", json!({})) } else { turn.text("Done.") }
        });
        Agent::builder(provider).tool(page.may_repeat(true)).build().unwrap()
    };
    let used = async |app: &Router, run: &str| {
        let (_, shown) = value(get(app, run, "ann").await).await;
        json!([shown["usage"]["input_tokens"], shown["usage"]["output_tokens"]])
    };
    let answer = async |app: &Router, run: &str, asked: &Value| {
        let result =
            json!({ "client_call_id": asked["client_call_id"], "result": { "content": "A." } });
        assert_eq!(post(app, &format!("{run}/tool-results"), "ann", &result).await.status(), 200);
    };
    let waiting = async |app: &Router, run: &str, before: &Value| {
        loop {
            let all = get(app, &format!("{run}/stream"), "ann").await;
            let (_, all) = value(all).await;
            let mut asked = all.as_array().unwrap().iter();
            let asked = asked.rfind(|it| it["type"] == "client_tool_request").cloned();
            if let Some(asked) = asked.filter(|it| it["client_call_id"] != *before) {
                return asked;
            }
            tokio::task::yield_now().await;
        }
    };
    let stores = Stores::in_memory();
    let (run, asked) = dies(async {
        let (_, app) = over(&stores, agent());
        let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
        let first = waiting(&app, &run, &Value::Null).await;
        answer(&app, &run, &first).await;
        let second = waiting(&app, &run, &first["client_call_id"]).await;
        // The record of a run follows its events.
        let noted = async {
            while used(&app, &run).await != json!([14, 4]) {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_mins(1), noted).await.unwrap();
        (run, second)
    });
    lives(async {
        let (service, app) = over(&stores, agent());
        assert_eq!(service.recover().await.unwrap().resumed, 1);
        assert_eq!(used(&app, &run).await, json!([14, 4]));
        answer(&app, &run, &asked).await;
        assert_eq!(whole(&app, &run).await.last().unwrap()["status"], "completed");
        while used(&app, &run).await != json!([21, 6]) {
            tokio::task::yield_now().await;
        }
    });
}
