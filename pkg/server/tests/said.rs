//! Acknowledged words of the user are in the conversation, whatever becomes of the run.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::{BoxFuture, pending, ready};

use super::{
    recovered::{dies, lives, over, whole},
    *,
};
use forgeline_agent::{
    RunInput,
    prompts::PromptContext,
    run::RunContext,
    tools::{Tool, ToolSource},
};
use forgeline_store::{ConversationKey, ConversationRecord, Entry, StoredRun, Stores};
use forgeline_types::{AgentError, ErrorCode};

/// The texts of the conversation `c`, as its owner reads them.
async fn texts(app: &Router) -> Vec<String> {
    let (status, shown) = value(get(app, "/v1/conversations/c", "ann").await).await;
    assert_eq!(status, 200, "{shown}");
    let messages = shown["page"]["messages"].as_array().unwrap().iter();
    let parts = messages.map(|it| it["message"]["parts"][0]["text"].as_str().unwrap_or_default());
    parts.map(str::to_owned).collect()
}

async fn ends(app: &Router, run: &str) -> Value {
    whole(app, run).await.last().unwrap().clone()
}

fn answering() -> ScriptedProvider {
    ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("On."))
}

/// A process after the one that died.
struct Next {
    agent: fn() -> Agent,
    name: &'static str,
    /// The words of the end of the run.
    why: &'static str,
}

#[test]
fn what_came_before_the_first_step_is_kept_whatever_the_next_process_can_do() {
    let rows = [
        Next {
            agent: || Agent::builder(answering()).model("large", answering()).build().unwrap(),
            name: "main",
            why: "with other tools",
        },
        Next {
            agent: || Agent::builder(answering()).tool(Calculator).build().unwrap(),
            name: "main",
            why: "no model `large`",
        },
        Next {
            agent: || Agent::builder(answering()).tool(Calculator).build().unwrap(),
            name: "other",
            why: "no longer has the agent `main`",
        },
    ];
    for Next { agent, name, why } in rows {
        let stores = Stores::in_memory();
        let (run, queued) = dies(async {
            let begun = Arc::new(AtomicUsize::new(0));
            let seen = Arc::clone(&begun);
            let prompt = move |_: PromptContext| {
                seen.fetch_add(1, Ordering::SeqCst);
                pending::<Result<String, AgentError>>()
            };
            let agent = Agent::builder(answering()).model("large", answering());
            let (_, app) = over(&stores, agent.tool(Calculator).system(prompt).build().unwrap());
            let body = json!({ "input": "Tell.", "conversation_id": "c", "model": "large" });
            let run = begin(&app, "ann", &body).await;
            while begun.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            let body = json!({ "input": "And then?", "conversation_id": "c", "model": "large" });
            (run, begin(&app, "ann", &body).await)
        });
        lives(async {
            let tokens = Tokens::new().token("ann", Caller::new("ann").scope("team-a"));
            let service = Service::builder().agent(name, agent()).identify(tokens);
            let service = service.stores(stores.clone()).build().unwrap();
            let app = router(service.clone());
            service.recover().await.unwrap();
            let end = ends(&app, &run).await;
            assert_eq!(end["status"], "interrupted", "{why}: {end}");
            assert!(end["error"]["message"].as_str().unwrap().contains(why), "{why}: {end}");
            let end = ends(&app, &queued).await;
            assert_ne!(end["status"], "cancelled", "{why}: {end}");
            let told = texts(&app).await;
            assert_eq!(told[..2], ["Tell.", "And then?"], "{why}");
            assert_eq!(service.recover().await.unwrap(), Recovered::default());
            assert_eq!(texts(&app).await, told, "{why}: once");
            if name == "main" {
                let next = json!({ "input": "Well?", "conversation_id": "c" });
                let next = begin(&app, "ann", &next).await;
                assert_eq!(ends(&app, &next).await["status"], "completed", "{why}");
            }
        });
    }
}

#[tokio::test]
async fn what_was_said_is_kept_beside_a_journal_that_cannot_be_read_and_once() {
    let stores = Stores::in_memory();
    let owner = Caller::new("ann").scope("team-a");
    let key = ConversationKey::new("team-a", "c");
    let conversation = ConversationRecord::new(key.clone(), "ann", "main", 1);
    stores.conversations.begin(conversation).await.unwrap();
    let line = r#"{"n":0,"digest":"00","record":{"began":{"version":1,"state":{"outcome":{"run_id":"run_0"}}}}}"#;
    stores.conversations.append(&key, 0, Entry::new(2).line(line), None).await.unwrap();
    for (at, said) in [(3, "Tell."), (4, "Tell.")] {
        let id = format!("run_{at}");
        let input = RunInput::from(said).caller(owner.clone()).conversation("c");
        let log = forgeline_store::LogKey::new("team-a", id.as_str());
        let record = StoredRun::new(log, "c", "ann", "main", at).input(input.to_json().unwrap());
        stores.runs.begin(record, None).await.unwrap();
    }
    // A process before this one kept the first of them, and died.
    let message = RunInput::from("Tell.").into_message();
    stores.conversations.append(&key, 1, Entry::new(3).message(message), None).await.unwrap();
    let (service, app) = over(&stores, scripted([]));
    assert_eq!(service.recover().await.unwrap().interrupted, 2);
    assert_eq!(texts(&app).await, ["Tell.", "Tell."], "each once");
    let end = ends(&app, "/v1/runs/run_3").await;
    assert!(!end["error"]["message"].as_str().unwrap().is_empty(), "{end}");
}

/// Tools from a place that does not answer at first.
#[derive(Debug)]
struct Failing(AtomicUsize);

impl ToolSource for Failing {
    fn tools(&self, _: RunContext) -> BoxFuture<'static, Result<Vec<Arc<dyn Tool>>, AgentError>> {
        let is_first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        let failed = || AgentError::new(ErrorCode::InvalidInput, "the tools do not answer");
        Box::pin(ready(if is_first { Err(failed()) } else { Ok(Vec::new()) }))
    }
}

#[tokio::test]
async fn what_was_said_is_kept_of_a_run_that_failed_before_its_first_step() {
    let failing = Arc::new(AtomicUsize::new(0));
    let prompt = move |_: PromptContext| {
        let is_first = failing.fetch_add(1, Ordering::SeqCst) == 0;
        let failed = || AgentError::new(ErrorCode::InvalidInput, "the prompt cannot be made");
        ready(if is_first { Err(failed()) } else { Ok("You help.".to_owned()) })
    };
    let with_source = Agent::builder(answering()).tool_source(Failing(AtomicUsize::new(0)));
    for agent in [with_source, Agent::builder(answering()).system(prompt)] {
        let stores = Stores::in_memory();
        let (_, app) = over(&stores, agent.build().unwrap());
        let run = begin(&app, "ann", &json!({ "input": "Tell.", "conversation_id": "c" })).await;
        assert_eq!(ends(&app, &run).await["status"], "failed");
        assert_eq!(texts(&app).await, ["Tell."]);
        let run = begin(&app, "ann", &json!({ "input": "Again?", "conversation_id": "c" })).await;
        assert_eq!(ends(&app, &run).await["status"], "completed");
        assert_eq!(texts(&app).await, ["Tell.", "Again?", "On."]);
    }
}

/// The texts of the user in the conversation `c`.
async fn said_by_user(app: &Router) -> Vec<String> {
    let (_, shown) = value(get(app, "/v1/conversations/c", "ann").await).await;
    let messages = shown["page"]["messages"].as_array().unwrap().iter();
    let users = messages.filter(|it| it["message"]["role"] == "user");
    users.map(|it| it["message"]["parts"][0]["text"].as_str().unwrap().to_owned()).collect()
}

async fn steer(app: &Router, run: &str, text: &str, when: &str) {
    let body = json!({ "input": text, "when": when });
    assert_eq!(post(app, &format!("{run}/inputs"), "ann", &body).await.status(), 200, "{text}");
}

/// A process in which a word has reached the run, and two more were acknowledged, dies.
fn steered(stores: &Stores) -> String {
    dies(async {
        let hangs =
            ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("So far.").hang());
        let (_, app) = over(stores, Agent::builder(hangs).build().unwrap());
        let run = begin(&app, "ann", &json!({ "input": "Tell.", "conversation_id": "c" })).await;
        until(&app, &run, "message_content").await;
        steer(&app, &run, "Shorter.", "now").await;
        while said_by_user(&app).await.len() < 2 {
            tokio::task::yield_now().await;
        }
        steer(&app, &run, "And a poem.", "end").await;
        steer(&app, &run, "In French.", "next").await;
        run
    })
}

#[test]
fn a_word_that_was_acknowledged_reaches_the_run_after_a_restart_and_once() {
    let stores = Stores::in_memory();
    let run = steered(&stores);
    // It dies once more, before it has taken them.
    dies(async {
        let hangs =
            ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("Again.").hang());
        let (service, app) = over(&stores, Agent::builder(hangs).build().unwrap());
        assert_eq!(service.recover().await.unwrap().resumed, 1);
        steer(&app, &run, "Please.", "next").await;
    });
    lives(async {
        let (service, app) = over(&stores, Agent::builder(answering()).build().unwrap());
        assert_eq!(service.recover().await.unwrap().resumed, 1);
        assert_eq!(ends(&app, &run).await["status"], "completed");
        let want = ["Tell.", "Shorter.", "In French.", "Please.", "And a poem."];
        assert_eq!(said_by_user(&app).await, want);
    });
}

#[test]
fn a_word_that_was_acknowledged_is_in_the_conversation_of_a_run_that_cannot_go_on() {
    let stores = Stores::in_memory();
    let run = steered(&stores);
    lives(async {
        let agent = Agent::builder(answering()).tool(Calculator).build().unwrap();
        let (service, app) = over(&stores, agent);
        assert_eq!(service.recover().await.unwrap().interrupted, 1);
        assert_eq!(ends(&app, &run).await["status"], "interrupted");
        let want = ["Tell.", "Shorter.", "And a poem.", "In French."];
        assert_eq!(said_by_user(&app).await, want);
    });
}

#[tokio::test]
async fn a_word_is_as_long_as_an_input_may_be_and_one_that_is_refused_is_not_kept() {
    let stores = Stores::in_memory();
    let (_, app) = over(&stores, scripted([ScriptedTurn::new().text("So far.").hang()]));
    let run = begin(&app, "ann", &json!({ "input": "Tell.", "conversation_id": "c" })).await;
    until(&app, &run, "message_content").await;
    let path = format!("{run}/inputs");
    let body = json!({ "input": "a".repeat((1 << 20) + 1) });
    let (status, problem) = value(post(&app, &path, "ann", &body).await).await;
    assert_eq!((status, &problem["code"]), (413, &json!("input_too_long")));
    for at in 0..64 {
        steer(&app, &run, &at.to_string(), "next").await;
    }
    let (status, problem) = value(post(&app, &path, "ann", &json!({ "input": "65" })).await).await;
    assert_eq!(status, 429, "{problem}");
    let key = forgeline_store::LogKey::new("team-a", run.rsplit('/').next().unwrap());
    let record = stores.runs.get(&key).await.unwrap();
    let has = |text: &str| record.notes.iter().any(|note| note.data.contains(text));
    assert!(has("\"63\"") && !has("\"65\""), "{:?}", record.notes);
    assert!(!record.input.unwrap().contains("\"63\""), "a message is a row of its own");
}

#[tokio::test]
async fn what_was_said_is_kept_of_a_run_that_was_cancelled_before_its_turn() {
    let (_, app) =
        over(&Stores::in_memory(), scripted([ScriptedTurn::new().text("So far.").hang()]));
    let run = begin(&app, "ann", &json!({ "input": "Tell.", "conversation_id": "c" })).await;
    let queued = begin(&app, "ann", &json!({ "input": "And then?", "conversation_id": "c" })).await;
    until(&app, &run, "message_content").await;
    for run in [&queued, &run] {
        assert_eq!(post(&app, &format!("{run}/cancel"), "ann", &json!({})).await.status(), 200);
        assert_eq!(ends(&app, run).await["status"], "cancelled");
    }
    assert_eq!(said_by_user(&app).await, ["Tell.", "And then?"]);
}

#[tokio::test]
async fn an_input_that_the_model_cannot_read_is_refused_before_it_is_acknowledged() {
    let (_, app) = over(&Stores::in_memory(), Agent::builder(answering()).build().unwrap());
    let picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let parts = json!([{ "type": "image", "media_type": "image/png", "data": picture }]);
    let body = json!({ "input": parts, "conversation_id": "c" });
    let (status, problem) = value(post(&app, "/v1/runs", "ann", &body).await).await;
    assert_eq!((status, &problem["code"]), (400, &json!("unfit_input")), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("does not accept pictures"), "{problem}");
    assert_eq!(get(&app, "/v1/conversations/c", "ann").await.status(), 404, "nothing was begun");
}

/// An agent that asks a person about its first two calls.
fn asks() -> Agent {
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let provider = ScriptedProvider::from_fn(|asked: &Asked| {
        let last = asked.messages.iter().last().unwrap().text();
        match last.as_str() {
            "Tell." => {
                let call = |turn: ScriptedTurn, at: u8| turn.call("remove", json!({ "at": at }));
                call(call(ScriptedTurn::new().text("May I?"), 1), 2)
            }
            _ => ScriptedTurn::new().text("On."),
        }
    });
    let remove = remove.effects(ToolEffects::Irreversible);
    Agent::builder(provider).tool(remove).build().unwrap()
}

// Covers: T-63
#[tokio::test]
async fn a_word_that_was_acknowledged_is_in_the_conversation_of_a_run_that_was_cancelled() {
    for way in ["cancel", "chat"] {
        let (_, app) = over(&Stores::in_memory(), asks());
        let run = begin(&app, "ann", &json!({ "input": "Tell.", "conversation_id": "c" })).await;
        until(&app, &run, "tool_approval_request").await;
        for when in ["next", "now", "end"] {
            steer(&app, &run, when, when).await;
        }
        let mut want = vec!["Tell.", "next", "now", "end"];
        if way == "cancel" {
            let cancelled = post(&app, &format!("{run}/cancel"), "ann", &json!({})).await;
            assert_eq!(cancelled.status(), 200);
        } else {
            want.push("Again.");
            let body = json!({ "id": "c", "messages": [{ "role": "user", "content": "Again." }] });
            assert_eq!(post(&app, "/api/chat", "ann", &body).await.status(), 200);
        }
        assert_eq!(ends(&app, &run).await["status"], "cancelled", "{way}");
        if way == "chat" {
            // The next run says its own once it has begun.
            let (_, shown) = value(get(&app, "/v1/conversations/c", "ann").await).await;
            if let Some(next) = shown["open_run"].as_str() {
                ends(&app, &format!("/v1/runs/{next}")).await;
            }
        }
        assert_eq!(said_by_user(&app).await, want, "{way}");
    }
}

#[tokio::test]
async fn a_word_that_was_acknowledged_is_in_the_conversation_of_a_run_that_failed() {
    let fails = tool_fn("wait", "Waits.", |context: ToolContext, _: Value| async move {
        format!("{:?}", context.ask(Question::form("Well?", json!({ "type": "object" }))).await)
    });
    let asked = AtomicUsize::new(0);
    let provider = ScriptedProvider::from_fn(move |_: &Asked| {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            return ScriptedTurn::new().text("Hm.").call("wait", json!({}));
        }
        ScriptedTurn::refuse(forgeline_llm::ProviderError::unsupported("scripted", "more"))
    });
    let agent = Agent::builder(provider).tool(fails).build().unwrap();
    let (_, app) = over(&Stores::in_memory(), agent);
    let run = begin(&app, "ann", &json!({ "input": "Tell.", "conversation_id": "c" })).await;
    let asked = until(&app, &run, "tool_question").await;
    steer(&app, &run, "KEEP", "end").await;
    let answer = json!({ "question_id": asked["question_id"], "answer": { "action": "cancel" } });
    assert_eq!(post(&app, &format!("{run}/inputs"), "ann", &answer).await.status(), 200);
    assert_eq!(ends(&app, &run).await["status"], "failed");
    assert_eq!(said_by_user(&app).await, ["Tell.", "KEEP"]);
}

#[test]
fn a_word_that_a_waiting_run_took_is_in_the_conversation_when_it_cannot_go_on() {
    let stores = Stores::in_memory();
    let run = dies(async {
        let (_, app) = over(&stores, asks());
        let run = begin(&app, "ann", &json!({ "input": "Tell.", "conversation_id": "c" })).await;
        until(&app, &run, "tool_approval_request").await;
        for when in ["next", "end"] {
            steer(&app, &run, when, when).await;
        }
        // The run takes them with the answer to the first of its two requests.
        let (_, all) = value(get(&app, &format!("{run}/stream"), "ann").await).await;
        let mut asked = all.as_array().unwrap().iter();
        let asked = asked.find(|it| it["type"] == "tool_approval_request").unwrap();
        let grant = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
        assert_eq!(post(&app, &format!("{run}/approvals"), "ann", &grant).await.status(), 200);
        let key = ConversationKey::new("team-a", "c");
        let taken = async || {
            let lines = stores.conversations.lines(&key, 0, 99).await.unwrap();
            lines.iter().filter(|(_, line)| line.contains(r#""input":{"said":"#)).count()
        };
        while taken().await < 2 {
            tokio::task::yield_now().await;
        }
        run
    });
    lives(async {
        let agent = Agent::builder(answering()).tool(Calculator).build().unwrap();
        let (service, app) = over(&stores, agent);
        assert_eq!(service.recover().await.unwrap().interrupted, 1);
        assert_eq!(ends(&app, &run).await["status"], "interrupted");
        assert_eq!(said_by_user(&app).await, ["Tell.", "next", "end"]);
    });
}
