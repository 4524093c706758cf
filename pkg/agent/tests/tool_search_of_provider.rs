//! The search for tools as OpenAI's models know it: from the agent to the wire and back.

use bytes::Bytes;

use super::{answering_server::Server, tool_search::many, *};
use crate::{
    journal::MemoryJournal,
    search::{FoundTools, ToolSearch},
};
use forgeline_llm::{RetryPolicy, responses::OpenAiResponses};

impl Server {
    fn agent(&self, model: &str, journal: MemoryJournal) -> Conversation {
        let provider = OpenAiResponses::builder().model(model).api_key("k");
        let provider = provider.base_url("https://api.openai.com/v1").retry(RetryPolicy::NONE);
        let provider = provider.transport(self.clone()).build().unwrap();
        let builder = Agent::builder(provider).system("You help.").tools(many(0..1_000));
        let search = ToolSearch::default().share(0).most(2).found(FoundTools::Offered);
        builder.tool_search(search).build().unwrap().conversation().with_journal(journal)
    }
}

/// An answer with this item, whose beginning has `begun` instead.
fn answer(begun: &Value, item: &Value) -> Bytes {
    let usage = json!({ "input_tokens": 9, "output_tokens": 1 });
    let events = [
        json!({ "type": "response.created", "response": { "id": "resp", "status": "in_progress" } }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": begun }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": {
            "id": "resp", "status": "completed", "output": [item], "usage": usage,
        } }),
    ];
    Bytes::from(events.map(|event| format!("data: {event}\n\n")).concat())
}

fn search(id: &str, query: &str) -> Bytes {
    let item = |status: &str, arguments: Value| {
        json!({
            "type": "tool_search_call", "id": format!("tsc_{id}"), "call_id": id,
            "execution": "client", "status": status, "arguments": arguments,
        })
    };
    answer(&item("in_progress", json!({})), &item("completed", json!({ "query": query })))
}

fn call(id: &str, name: &str, arguments: &Value, more: &[(&str, &str)]) -> Bytes {
    let mut item = json!({
        "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
        "status": "completed", "arguments": arguments.to_string(),
    });
    for (key, value) in more {
        item[*key] = json!(value);
    }
    answer(&item, &item)
}

fn done() -> Bytes {
    let text = json!([{ "type": "output_text", "text": "Done.", "annotations": [] }]);
    let item = json!({ "type": "message", "id": "msg", "role": "assistant", "content": text });
    answer(&json!({ "type": "message", "id": "msg", "role": "assistant", "content": [] }), &item)
}

const WANTED: &str = "calendar_n7_create";

fn answers() -> [Bytes; 4] {
    let title = json!({ "title": "Rehearsal" });
    let space = [("namespace", WANTED)];
    [
        search("call_a", "calendar.n7_create"),
        search("call_b", "calendar.n7_create mail.n2_list"),
        call("call_c", WANTED, &title, &space),
        done(),
    ]
}

/// The items of a body from this place on.
fn items(body: &Value, from: usize) -> &[Value] {
    &body["input"].as_array().unwrap()[from..]
}

#[tokio::test(start_paused = true)]
async fn what_the_model_searches_is_found_loaded_called_and_the_prompt_stays() {
    let server = Server::new(answers());
    let agent = server.agent("gpt-5.4", MemoryJournal::default());
    assert_eq!(agent.run("Plan the rehearsal.").await.unwrap().text, "Done.");
    let sent = server.sent();
    assert_eq!(sent.len(), 4);
    for pair in sent.windows(2) {
        let before = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(before), "{}\n{}", pair[0], pair[1]);
    }
    let bodies = server.values();
    let tools = bodies[3]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(
        (&tools[0]["type"], &tools[0]["execution"]),
        (&json!("tool_search"), &json!("client"))
    );
    assert_eq!(tools[0].get("name"), None);
    assert_eq!(tools[0]["parameters"]["required"], json!(["query"]));

    let [first, found, second, new, called, worked] = items(&bodies[3], 1) else {
        panic!("{}", sent[3])
    };
    let searched = |id: &str, query: &str| {
        json!({
            "type": "tool_search_call", "call_id": id, "execution": "client",
            "status": "completed", "arguments": { "query": query },
        })
    };
    assert_eq!(*first, searched("call_a", "calendar.n7_create"));
    assert_eq!(*second, searched("call_b", "calendar.n7_create mail.n2_list"));
    let names = |output: &Value| -> Vec<String> {
        let tools = output["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (&found["type"], &found["call_id"]),
        (&json!("tool_search_output"), &json!("call_a"))
    );
    assert_eq!(names(found)[0], WANTED);
    assert_eq!(found["tools"][0]["defer_loading"], true);
    assert!(found["tools"][0]["parameters"]["properties"]["title"].is_object());
    assert!(names(new).contains(&"mail_n2_list".to_owned()));
    assert!(!names(new).contains(&WANTED.to_owned()), "it is described already");
    let want = json!({
        "type": "function_call", "call_id": "call_c", "name": WANTED, "namespace": WANTED,
        "arguments": "{\"title\":\"Rehearsal\"}",
    });
    assert_eq!(*called, want);
    assert_eq!(worked["output"], "calendar.n7_create did it: Rehearsal");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_resumed_anywhere_has_what_was_found_where_it_was() {
    let journal = MemoryJournal::default();
    let server = Server::new(answers());
    server.agent("gpt-5.4", journal.clone()).run("Go.").await.unwrap();
    let (whole, lines) = (server.values(), journal.lines());
    let mut resumed = 0;
    for end in 1..=lines.len() {
        // What the journal has of the run has been answered; the rest is asked for again.
        let part = MemoryJournal::from(lines[..end].to_vec());
        let answered = lines[..end].iter().filter(|line| line.contains("\"answered\"")).count();
        let server = Server::new(answers().into_iter().skip(answered));
        let agent = server.agent("gpt-5.4", part);
        if agent.resume().await.unwrap().is_none() {
            continue;
        }
        resumed += 1;
        for (body, want) in server.values().iter().zip(&whole[answered..]) {
            let of_search = |body: &Value| {
                let items = items(body, 0).iter().filter(|item| {
                    item["type"].as_str().unwrap().starts_with("tool_search")
                        || item["namespace"] != Value::Null
                });
                (body["tools"].clone(), items.cloned().collect::<Vec<_>>())
            };
            assert_eq!(of_search(body), of_search(want), "cut after line {end}");
        }
    }
    assert!(resumed > 4, "{resumed}");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_know_the_search_calls_it_as_a_function() {
    let title = json!({ "title": "Rehearsal" });
    let query = json!({ "query": "calendar.n7_create" });
    let server = Server::new([
        call("call_a", "tool_search", &query, &[]),
        call("call_b", WANTED, &title, &[]),
        done(),
    ]);
    let agent = server.agent("gpt-5.3", MemoryJournal::default());
    assert_eq!(agent.run("Plan the rehearsal.").await.unwrap().text, "Done.");
    let bodies = server.values();
    assert_eq!(bodies[0]["tools"].as_array().unwrap().len(), 1);
    assert_eq!(bodies[0]["tools"][0]["type"], "function");
    let tools = bodies[2]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 3, "two were found, and stand behind");
    assert!(tools.iter().all(|tool| tool["type"] == "function"), "{tools:?}");
    let kinds: Vec<_> = items(&bodies[2], 1).iter().map(|item| item["type"].clone()).collect();
    let want = ["function_call", "function_call_output"].repeat(2);
    assert_eq!(kinds, want);
    assert_eq!(items(&bodies[2], 4)[0]["output"], "calendar.n7_create did it: Rehearsal");
}
