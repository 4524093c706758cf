//! A database and a journal that an earlier version wrote (2f39a830, before messages were stored once): they are read, continued and erased.
//!
//! The process that wrote them was killed while a run waited for an approval, with a message of the user for its next turn and one for its end.

use std::{fs, io, net::SocketAddr, path::Path, time::Duration};

use flate2::read::GzDecoder;

use forgeline::{
    agent::{
        Agent, AgentBuilder, Conversation,
        approval::{ApprovalPolicy, Decision},
        journal::{FileJournal, MemoryJournal},
    },
    llm::Request,
    server::{Service, router},
    store::{
        ConversationKey, ConversationStore, EraseMode, EventLog as _, RunQuery, RunStore,
        SqliteStore, StoreError, Stores,
    },
    testing::{ScriptedProvider, ScriptedTurn},
    types::{AgentEvent, MessageRole},
};
use forgeline_itest::noting::Noting;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::service_process::{client, folder, pass};

/// The folder of the data.
const WRITTEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/written/2f39a830");

/// The scope of a caller without a token.
const SCOPE: &str = "local";

/// Returns the same answer to the same history, as the process did that wrote the data.
fn turn(request: &Request) -> ScriptedTurn {
    let is_user = |role| role == MessageRole::User;
    let since = request.messages.iter().rev().take_while(|it| !is_user(it.role));
    let user = request.messages.iter().rev().find(|it| is_user(it.role)).unwrap().text();
    match since.filter(|it| it.role == MessageRole::Assistant).count() {
        0 => ScriptedTurn::new()
            .thinking("Two numbers.")
            .text("I add them.")
            .call("add", json!({ "step": 1, "amount": 12.50 })),
        1 if user.contains("remove") => {
            ScriptedTurn::new().text("I remove it.").call("remove", json!({ "step": 2 }))
        }
        _ => ScriptedTurn::new().text("It is 13.5, and ").text(user),
    }
}

fn builder(folder: &Path) -> AgentBuilder {
    let tool =
        |name, is_idempotent| Noting { name, is_idempotent, file: folder.join("ran").into() };
    Agent::builder(ScriptedProvider::from_fn(turn))
        .system("Be brief.")
        .tool(tool("add", true))
        .tool(tool("remove", false))
        .approval(ApprovalPolicy::of(["remove"]))
}

/// Continues a run that may wait for an approval, to its end; returns the texts of the conversation.
async fn finish(agent: &Conversation) -> Vec<String> {
    if let Some(mut stream) = agent.resume_stream().await.unwrap() {
        while let Some(envelope) = stream.next().await {
            if let AgentEvent::ToolApprovalRequest(request) = envelope.event {
                stream.approvals().answer(&request.approval_id, Decision::Grant).unwrap();
            }
        }
        stream.outcome().await.unwrap();
    }
    agent
        .transcript()
        .iter()
        .map(|message| message.text())
        .filter(|text| !text.is_empty())
        .collect()
}

#[tokio::test]
async fn a_journal_of_an_earlier_version_is_read_at_any_line_and_continued() {
    let (folder, lines) = (folder("written-journal"), written("journal.jsonl"));
    let lines: Vec<_> = std::str::from_utf8(&lines).unwrap().lines().map(str::to_owned).collect();
    let first = ["Add 12.50 and 1.", "I add them.", "It is 13.5, and Add 12.50 and 1."];
    for count in 1..=lines.len() {
        let journal = MemoryJournal::from(lines[..count].to_vec());
        let agent = builder(&folder).build().unwrap().conversation().with_journal(journal.clone());
        let texts = finish(&agent).await;
        assert_eq!(texts[..3], first, "after {count} lines");
        agent.run("Again.").await.unwrap();
        // The lines of both versions are one journal.
        let again = builder(&folder).build().unwrap().conversation().with_journal(journal);
        assert!(again.resume().await.unwrap().is_none());
        assert_eq!(again.transcript(), agent.transcript(), "after {count} lines");
    }
    let path = folder.join("journal.jsonl");
    fs::write(&path, lines.join("\n") + "\n{\"n\":").unwrap();
    let agent =
        builder(&folder).build().unwrap().conversation().with_journal(FileJournal::new(&path));
    let texts = finish(&agent).await;
    assert_eq!(texts.last().unwrap(), "It is 13.5, and Now remove the draft.", "{texts:?}");
    let numbers = format!("{:?}", agent.transcript());
    assert!(numbers.contains("12.5"), "{numbers}");
    fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_database_of_an_earlier_version_is_read_continued_and_erased() {
    let folder = folder("written-database");
    let mut file = fs::File::create(folder.join("service.db")).unwrap();
    io::copy(&mut GzDecoder::new(&*written("service.db.gz")), &mut file).unwrap();
    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    let service = Service::builder()
        .agent("main", builder(&folder).build().unwrap())
        .stores(Stores::of(store.clone()))
        .build()
        .unwrap();
    assert_eq!(service.recover().await.unwrap().resumed, 1, "the run that waits");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let app = router(service).into_make_service_with_connect_info::<SocketAddr>();
    let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let client = client();
    let get = async |path: &str| -> Value {
        let answer = client.get(format!("{address}{path}")).send().await.unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    };
    let post = async |path: &str, body: Value| -> Value {
        let sent = client.post(format!("{address}{path}"));
        let sent = sent.header("content-type", "application/json").body(body.to_string());
        serde_json::from_slice(&sent.send().await.unwrap().bytes().await.unwrap()).unwrap()
    };
    let texts = async |conversation: &str| -> Vec<String> {
        let shown = get(&format!("/v1/conversations/{conversation}")).await;
        let messages = shown["page"]["messages"].as_array().unwrap().clone();
        let parts =
            messages.iter().flat_map(|it| it["message"]["parts"].as_array().unwrap().clone());
        parts.filter_map(|part| Some(part["text"].as_str()?.to_owned())).collect()
    };
    // It is read.
    assert_eq!(texts("done").await.last().unwrap(), "It is 13.5, and Again.");
    // The run that waited is continued, with what was said to it.
    let query = RunQuery::new(SCOPE, 10).conversation("waits");
    let runs = RunStore::list(&store, query).await.unwrap().runs;
    let run = format!("/v1/runs/{}", runs[0].key.name);
    let log = store.read(&runs[0].key, 0, 1_000).await.unwrap().records;
    let request = log.iter().find(|record| record.kind == "tool_approval_request").unwrap();
    let request: Value = serde_json::from_slice(&request.data).unwrap();
    let decision = json!({ "approval_id": request["approval_id"], "decision": "grant" });
    let answer = post(&format!("{run}/approvals"), decision).await;
    assert!(answer.get("code").is_none(), "{answer}");
    while get(&run).await["status"] != "completed" {
        pass(Duration::from_millis(10)).await;
    }
    let said = texts("waits").await;
    assert!(said.last().unwrap().starts_with("It is 13.5, and "), "{said:?}");
    for sent in ["I remove it.", "Be careful.", "Then say goodbye."] {
        assert_eq!(said.iter().filter(|text| *text == sent).count(), 1, "{sent}: {said:?}");
    }
    // A conversation goes on, and its lines are of both versions.
    let next = post("/v1/runs", json!({ "input": "More.", "conversation_id": "done" })).await;
    let run = format!("/v1/runs/{}", next["run_id"].as_str().unwrap());
    while get(&run).await["status"] != "completed" {
        pass(Duration::from_millis(10)).await;
    }
    let lines = store.lines(&ConversationKey::new(SCOPE, "done"), 0, 1_000).await.unwrap();
    let has = |text: &str| lines.iter().any(|(_, line)| line.contains(text));
    assert!(has("and Again.") && !has("and More."), "an answer is not in its line any more");
    assert_eq!(texts("done").await.last().unwrap(), "It is 13.5, and More.");
    server.abort();
    // It is erased.
    let key = ConversationKey::new(SCOPE, "done");
    let owner = ConversationStore::get(&store, &key).await.unwrap().owner;
    let erased = ConversationStore::erase(&store, SCOPE, &owner, EraseMode::Hard).await.unwrap();
    assert_eq!(erased.conversations, 3);
    let gone = ConversationStore::get(&store, &key).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    drop(store);
    fs::remove_dir_all(&folder).unwrap();
}

/// Returns a file of the data.
fn written(name: &str) -> Vec<u8> {
    fs::read(Path::new(WRITTEN).join(name)).unwrap()
}
