//! A conversation that moves between vendors: each gets its own proofs back, and no other's.

use forgeline::{
    llm::{Provider as _, Request, collect},
    types::{Message, MessageRole, Part, ToolResult, Transcript},
};
use forgeline_testkit::canned::Canned;
use serde_json::{Value, json};

use crate::{anthropic_requests, gemini_requests};

const ANTHROPIC: &str = concat!(
    r#"{"type":"message","role":"assistant","stop_reason":"tool_use","content":["#,
    r#"{"type":"thinking","thinking":"An ash?","signature":"PROOF-OF-A"},"#,
    r#"{"type":"text","text":"Let me see."},"#,
    r#"{"type":"tool_use","id":"toolu_1","name":"trees","input":{"at":1}}]}"#,
);

const GEMINI: &str = concat!(
    r#"data: {"candidates":[{"content":{"role":"model","parts":["#,
    r#"{"text":"An elm?","thought":true,"thoughtSignature":"PROOF-OF-G1"},"#,
    r#"{"functionCall":{"name":"trees","args":{"at":2},"id":"g2"},"thoughtSignature":"PROOF-OF-G2"}]},"#,
    r#""finishReason":"STOP"}]}"#,
    "\n\n",
);

fn result(id: &str) -> Message {
    let result = ToolResult::new(id, "trees", "two");
    Message::new(MessageRole::Tool, vec![Part::ToolResult(result)])
}

#[tokio::test]
async fn a_conversation_takes_each_vendor_only_its_own_proofs() {
    let mut history = Transcript::from(vec![Message::user("Which trees?")]);
    let answer = Canned::new(ANTHROPIC);
    let anthropic = anthropic_requests::local().transport(answer).build().unwrap();
    let chunks = anthropic.stream_completion(Request::new(history.clone())).await.unwrap();
    history.push(collect(chunks).await.unwrap().into_message());
    history.push(result("toolu_1"));

    let ask = |history: &Transcript| Request::new(history.clone());
    let contents = gemini_requests::value(&ask(&history)).await["contents"].take();
    let want = json!([
        { "text": "Let me see." },
        { "functionCall": { "id": "toolu_1", "name": "trees", "args": { "at": 1 } } },
    ]);
    assert_eq!(contents[1]["parts"], want);

    let server = Canned::new(GEMINI);
    let gemini = gemini_requests::provider(&server);
    let chunks = gemini.stream_completion(ask(&history)).await.unwrap();
    history.push(collect(chunks).await.unwrap().into_message());
    history.push(result("g2"));

    let messages = anthropic_requests::value(&ask(&history)).await["messages"].take();
    let thinking = json!({ "type": "thinking", "thinking": "An ash?", "signature": "PROOF-OF-A" });
    assert_eq!(messages[1]["content"][0], thinking);
    let calls = json!([{ "type": "tool_use", "id": "g2", "name": "trees", "input": { "at": 2 } }]);
    assert_eq!(messages[3]["content"], calls);

    let contents = gemini_requests::value(&ask(&history)).await["contents"].take();
    let want = json!([
        { "text": "An elm?", "thought": true, "thoughtSignature": "PROOF-OF-G1" },
        {
            "functionCall": { "id": "g2", "name": "trees", "args": { "at": 2 } },
            "thoughtSignature": "PROOF-OF-G2",
        },
    ]);
    assert_eq!(contents[3]["parts"], want);

    // What was written to a file and read again still knows whose proof is whose.
    let kept = serde_json::to_string(&history.iter().collect::<Vec<_>>()).unwrap();
    let read: Vec<Message> = serde_json::from_str(&kept).unwrap();
    let again: Value = anthropic_requests::value(&Request::new(read.into())).await;
    assert_eq!(again["messages"], messages);
}
