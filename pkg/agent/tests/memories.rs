//! Tools for memories and knowledge, called by a model.

use super::{approvals::next_request, *};
use crate::{
    Caller, RunInput,
    knowledge::{
        KnowledgeError, KnowledgeTools, LexicalIndex, LocalMemoryStore, MemoryStore as _,
        MemoryTools, Note, Owner,
    },
    tools::{Tool, ToolEffects},
};
use forgeline_types::TextOrigin;

type Call = (&'static str, Value);

/// Makes the calls for a caller, and returns what the model read of each.
async fn reported(store: &LocalMemoryStore, caller: &str, calls: Vec<Call>) -> Vec<String> {
    let count = calls.len();
    let turns =
        calls.into_iter().map(|(tool, arguments)| ScriptedTurn::new().call(tool, arguments));
    let provider = ScriptedProvider::new(turns.chain([ScriptedTurn::new().text("Done.")]));
    let index = LexicalIndex::new([("pump.md", "Turn the pump off first.")]).unwrap();
    let agent = Agent::builder(provider.clone())
        .tools(MemoryTools::new(store.clone()).into_tools())
        .tools(KnowledgeTools::new(index).into_tools())
        .max_turns(30)
        .breaker_failures(30)
        .approver(|_| std::future::ready(crate::approval::Decision::Grant))
        .build()
        .unwrap()
        .conversation();
    agent.run(RunInput::from("Go.").caller(Caller::new(caller))).await.unwrap();
    let requests = provider.requests();
    let messages = &requests[count].messages;
    messages.iter().flat_map(|it| it.tool_results()).map(|it| it.content.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_model_remembers_and_forgets_and_reads_what_to_do_instead() {
    let store = LocalMemoryStore::default();
    let long = "x".repeat(16_385);
    let cases: Vec<(Call, &str)> = vec![
        (("memory.load", json!({})), r#"{"keys":[],"has_more":false}"#),
        (
            ("memory.save", json!({ "key": "diet", "text": "Eats no nuts." })),
            "remembered under `diet`",
        ),
        (("memory.save", json!({ "key": "diet", "text": "Eats nuts." })), "choose another key"),
        (("memory.save", json!({ "key": "long", "text": long })), "more than 16384; shorten it"),
        (("memory.save", json!({ "key": "", "text": "x" })), "the key is empty"),
        (("memory.load", json!({ "key": "diet" })), r#"{"key":"diet","text":"Eats no nuts."}"#),
        (
            ("memory.load", json!({ "query": "Nuts?" })),
            r#"{"memories":[{"key":"diet","text":"Eats no nuts."}],"left_out":0}"#,
        ),
        (
            ("memory.load", json!({ "query": "quince" })),
            "without arguments, memory.load lists the keys",
        ),
        (
            ("memory.load", json!({ "query": " ?" })),
            "`query` contains no words; give the words to search for",
        ),
        (("memory.load", json!({ "query": "w ".repeat(600) })), "`query` has 1200 bytes"),
        (("memory.load", json!({ "key": "a", "query": "b" })), "omit one"),
        (
            ("memory.load", json!({ "query": "nuts", "limit": 21 })),
            "`limit` is 21; it must be 1 to 20",
        ),
        (("memory.load", json!({ "key": "car" })), "there is no memory with the key `car`"),
        (("memory.delete", json!({ "key": "diet" })), "forgot `diet`"),
        (("memory.load", json!({ "key": "diet" })), "there is no memory with the key `diet`"),
        (
            ("knowledge.query", json!({ "query": "pump" })),
            r#"{"passages":[{"document":"pump.md","text":"Turn the pump off first."}],"left_out":0}"#,
        ),
        (("knowledge.query", json!({ "query": "quince" })), "try other words"),
        (("knowledge.query", json!({ "query": "" })), "`query` contains no words"),
    ];
    let (calls, wants): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let reported = reported(&store, "ann", calls).await;
    assert_eq!(reported.len(), wants.len());
    for (reported, want) in reported.iter().zip(wants) {
        assert!(reported.contains(want), "{reported:?} lacks {want:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_works_with_the_memories_of_its_caller_alone() {
    let store = LocalMemoryStore::default();
    reported(&store, "ann", vec![("memory.save", json!({ "key": "pin", "text": "It is 4711." }))])
        .await;
    let tries = vec![
        ("memory.load", json!({})),
        ("memory.load", json!({ "key": "pin" })),
        ("memory.load", json!({ "query": "pin 4711" })),
        ("memory.delete", json!({ "key": "pin" })),
        ("memory.save", json!({ "key": "pin", "text": "Mine." })),
    ];
    for reported in reported(&store, "ben", tries).await {
        assert!(!reported.contains("4711"), "{reported}");
    }
    let kept = reported(&store, "ann", vec![("memory.load", json!({ "key": "pin" }))]).await;
    assert_eq!(kept, [r#"{"key":"pin","text":"It is 4711."}"#]);
}

#[tokio::test(start_paused = true)]
async fn many_large_finds_are_left_out_of_a_result_and_counted() {
    let store = LocalMemoryStore::default();
    let text = format!("nuts {}", "x".repeat(16_000));
    let save = |number| ("memory.save", json!({ "key": format!("{number}"), "text": text }));
    let mut calls: Vec<_> = (0..6).map(save).collect();
    calls.push(("memory.load", json!({ "query": "nuts", "limit": 6 })));
    let reported = reported(&store, "ann", calls).await;
    let found: Value = serde_json::from_str(reported.last().unwrap()).unwrap();
    assert_eq!(found["memories"].as_array().unwrap().len(), 4);
    assert_eq!(found["left_out"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_person_sees_the_memory_that_is_to_be_forgotten() {
    let save = json!({ "key": "diet", "text": "Eats no nuts." });
    let turns = [
        ScriptedTurn::new().call("memory.save", save),
        ScriptedTurn::new().call("memory.delete", json!({ "key": "diet" })),
        ScriptedTurn::new().text("Done."),
    ];
    let agent = Agent::builder(ScriptedProvider::new(turns))
        .tools(MemoryTools::new(LocalMemoryStore::default()).into_tools())
        .build()
        .unwrap()
        .conversation();
    let mut stream = agent.run_stream("Go.");
    let request = next_request(&mut stream, &mut Vec::new()).await;
    assert_eq!(request.tool_name, "memory.delete");
    let preview = format!("{:?}", request.preview);
    assert!(preview.contains("Eats no nuts."), "{preview}");
}

#[test]
fn what_is_loaded_is_from_outside_unless_it_is_said_to_be_own() {
    let index = || LexicalIndex::new([("a", "b")]).unwrap();
    let memories = |tools: MemoryTools| -> Vec<_> {
        tools
            .into_tools()
            .iter()
            .map(|it| (it.name().to_owned(), it.origin(), it.effects()))
            .collect()
    };
    let want = |origin| {
        vec![
            ("memory.save".to_owned(), TextOrigin::Own, ToolEffects::Writes),
            ("memory.load".to_owned(), origin, ToolEffects::Reads),
            ("memory.delete".to_owned(), TextOrigin::Own, ToolEffects::Irreversible),
        ]
    };
    let tools = || MemoryTools::new(LocalMemoryStore::default());
    assert_eq!(memories(tools()), want(TextOrigin::Outside));
    assert_eq!(memories(tools().origin(TextOrigin::Own)), want(TextOrigin::Own));
    let origin = |tools: KnowledgeTools| tools.into_tools()[0].origin();
    assert_eq!(origin(KnowledgeTools::new(index())), TextOrigin::Project);
    let outside = KnowledgeTools::new(index()).origin(TextOrigin::Outside);
    assert_eq!(origin(outside), TextOrigin::Outside);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_keys_says_that_there_are_more() {
    for (count, has_more) in [(100, false), (101, true)] {
        let store = LocalMemoryStore::default();
        for at in 0..count {
            let owner = Owner::of(Some(&Caller::new("ann")));
            store.save(owner, Note::new(format!("key-{at:03}"), "x")).await.unwrap();
        }
        let read = reported(&store, "ann", vec![("memory.load", json!({}))]).await;
        let list: Value = serde_json::from_str(&read[0]).unwrap();
        assert_eq!(list["keys"].as_array().unwrap().len(), 100);
        assert_eq!(list["has_more"], has_more, "{count}");
    }
}

#[test]
fn only_busy_store_errors_are_retryable() {
    let busy = KnowledgeError::Busy;
    let text = busy.to_string();
    assert_eq!(ToolError::from(busy), ToolError::transient(text));
    let empty = KnowledgeError::Empty { what: "key" };
    let text = empty.to_string();
    assert_eq!(ToolError::from(empty), ToolError::failed(text));
}
