//! Readers and conversations of a node that no longer has what it had.

use super::{
    super::chats::{chat, parts, user, with},
    *,
};

/// An agent that pays, which takes a while, and then reads the page at the client.
fn paying(tool: &Arc<SlowTool>) -> Agent {
    let provider = ScriptedProvider::from_fn(|asked: &Asked| {
        match asked.messages.iter().flat_map(|it| it.tool_results()).count() {
            0 => ScriptedTurn::new().call("pay", json!({})),
            1 => ScriptedTurn::new().call("page", json!({})),
            _ => ScriptedTurn::new().text("Done."),
        }
    });
    let tool = Arc::clone(tool);
    let pay = tool_fn("pay", "Pays.", move |_: ToolContext, _: Value| {
        let tool = Arc::clone(&tool);
        async move {
            tool.begun.fetch_add(1, Ordering::SeqCst);
            tool.goes_on.notified().await;
            "paid"
        }
    });
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    Agent::builder(provider).tool(pay).tool(page).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_a_chat_ends_where_its_run_waits_on_the_next_node() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([paying(&tools[0]), paying(&tools[1])]).await;
    let answer = chat(two.app(0), "ann", user("Go."));
    let (answer, ()) = tokio::join!(timeout(Duration::from_mins(2), answer), async {
        works(&tools[0]).await;
        two.kill(0);
    });
    let (_, answer, frames) = answer.expect("the answer ends where the run waits");
    assert!(frames.ends_with("data: [DONE]\n\n"), "{frames}");
    with(&answer, "finish");
    assert!(!frames.contains("Done."), "the call was given up: {frames}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_leaves_cancels_the_run_that_its_node_lost() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([paying(&tools[0]), paying(&tools[1])]).await;
    let run = begin(two.app(0), "ann", &json!({ "input": "Go.", "conversation_id": "c" })).await;
    let events = format!("{run}/events?on_disconnect=cancel");
    let reader = get(two.app(0), &events, "ann").await;
    works(&tools[0]).await;
    two.kill(0);
    until(two.app(1), &run, "client_tool_request").await;
    drop(reader);
    let end = timeout(Duration::from_mins(2), until(two.app(1), &run, "run_end")).await;
    assert_eq!(end.expect("the run ends")["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_was_deleted_and_begun_anew_elsewhere_is_its_new_owners() {
    let tool = Arc::default();
    let two = TwoNodes::begin([working(&tool, "One."), working(&tool, "Two.")]).await;
    let hello = json!({ "input": "Hello.", "conversation_id": "c" });
    whole(two.app(0), &begin(two.app(0), "ann", &hello).await).await;
    let ann = Caller::new("ann").scope("team-a");
    assert!(two.nodes[1].0.delete_conversation(&ann, "c").await.unwrap());
    let secret = json!({ "input": "A secret.", "conversation_id": "c" });
    let run = begin(two.app(1), "bob", &secret).await;
    becomes("the run ends", async || two.record(&run).await.progress.has_ended()).await;
    let (status, answer) = value(post(two.app(0), "/v1/runs", "ann", &hello).await).await;
    assert_eq!((status, &answer["code"]), (404, &json!("not_found")), "{answer}");
    let body = json!({ "id": "c", "messages": [user("Hello again.")] });
    let refused = post(two.app(0), "/api/chat", "ann", &body).await;
    assert_eq!(refused.status(), 404);
    assert!(parts(&text(refused).await).is_empty());
}
