//! Gemini: an answer goes back as it came, its signatures where they were.

use forgeline::{
    llm::{Protocol, Provider as _, Request, collect},
    types::{Citation, ItemKind, Json, Message, MessageRole, Part, ProviderItem, Transcript},
};
use forgeline_testkit::{canned::Canned, recorded};
use serde_json::{Value, json};

use crate::gemini_requests::{provider, value};

fn item(kind: ItemKind, raw: &Value) -> Part {
    Part::ProviderItem(ProviderItem::new("gemini", kind, Json::from(raw)))
}

/// The parts that the next request says for an answer.
async fn goes_back(answer: &[u8]) -> Value {
    let server = Canned::new(answer.to_vec());
    let answer = provider(&server).stream_completion(Request::prompt("x")).await.unwrap();
    let message = collect(answer).await.unwrap().into_message();
    let history = Transcript::from(vec![Message::user("x"), message, Message::user("y")]);
    value(&Request::new(history)).await["contents"].take()
}

#[tokio::test]
async fn signatures_go_back_on_the_parts_that_had_them() {
    #[rustfmt::skip]
    let cases = [
        ("on the first of two calls", r#"{"functionCall":{"name":"f","args":{"a":1},"id":"x"},"thoughtSignature":"S"},{"functionCall":{"name":"g","args":{}}}"#,
            json!([{ "functionCall": { "name": "f", "args": { "a": 1 }, "id": "x" }, "thoughtSignature": "S" }, { "functionCall": { "name": "g", "args": {} } }])),
        ("on each of two calls",      r#"{"functionCall":{"name":"f"},"thoughtSignature":"S"},{"functionCall":{"name":"f"},"thoughtSignature":"T"}"#,
            json!([{ "functionCall": { "name": "f", "args": {} }, "thoughtSignature": "S" }, { "functionCall": { "name": "f", "args": {} }, "thoughtSignature": "T" }])),
        ("on a thought",              r#"{"text":"hm","thought":true,"thoughtSignature":"S"},{"text":"a"}"#,
            json!([{ "text": "hm", "thought": true, "thoughtSignature": "S" }, { "text": "a" }])),
        ("on a text",                 r#"{"text":"hm","thought":true},{"text":"a"},{"text":"b","thoughtSignature":"S"},{"text":"c"}"#,
            json!([{ "text": "ab", "thoughtSignature": "S" }, { "text": "c" }])),
        ("on an empty text",          r#"{"text":"a"},{"text":"","thoughtSignature":"S"}"#,
            json!([{ "text": "a" }, { "text": "", "thoughtSignature": "S" }])),
        ("on an empty text behind a thought", r#"{"text":"hm","thought":true},{"text":"","thoughtSignature":"S"}"#,
            json!([{ "text": "", "thoughtSignature": "S" }])),
        ("on code",                   r#"{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"S"},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},{"text":"a"}"#,
            json!([{ "executableCode": { "language": "PYTHON", "code": "1" }, "thoughtSignature": "S" }, { "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": "1" } }, { "text": "a" }])),
        ("on a picture",              r#"{"inlineData":{"mimeType":"image/png","data":"AA=="},"thoughtSignature":"S"}"#,
            json!([{ "inlineData": { "mimeType": "image/png", "data": "AA==" }, "thoughtSignature": "S" }])),
        ("on a part of the future",   r#"{"hologram":{"x":1},"thoughtSignature":"S"}"#,
            json!([{ "hologram": { "x": 1 }, "thoughtSignature": "S" }])),
    ];
    for (name, parts, want) in cases {
        let whole = format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}],\"role\":\"model\"}},\"finishReason\":\"STOP\",\"groundingMetadata\":{{\"groundingChunks\":[{{\"web\":{{\"uri\":\"u\"}}}}]}},\"finishMessage\":\"x\"}}]}}\r\n\r\n"
        );
        let contents = goes_back(whole.as_bytes()).await;
        assert_eq!(contents[1], json!({ "role": "model", "parts": want }), "{name}");
    }
}

#[tokio::test]
async fn recorded_answers_go_back_part_for_part() {
    let Some(bodies) = recorded::bodies_with_expectation(Protocol::Gemini) else { return };
    let mut signatures = 0;
    for recorded in bodies {
        let mut want: Vec<Value> = Vec::new();
        let body = String::from_utf8(recorded.bytes.clone()).unwrap();
        for data in body.lines().filter_map(|line| line.strip_prefix("data:")) {
            let event: Value = serde_json::from_str(data).unwrap();
            let parts = event["candidates"][0]["content"]["parts"].as_array().cloned();
            for part in parts.into_iter().flatten() {
                let is_signed = part.get("thoughtSignature").is_some();
                signatures += usize::from(is_signed);
                if !is_signed && (part["thought"] == true || part["text"] == "") {
                    continue;
                }
                let is_text = |part: &Value| part.as_object().unwrap().keys().eq(["text"]);
                match want.last_mut() {
                    Some(last) if is_text(last) && is_text(&part) => {
                        let joined = last["text"].as_str().unwrap().to_owned()
                            + part["text"].as_str().unwrap();
                        last["text"] = json!(joined);
                    }
                    _ => want.push(part),
                }
            }
        }
        let contents = goes_back(&recorded.bytes).await;
        assert_eq!(contents[1]["parts"], json!(want), "{}", recorded.name);
        assert_eq!(contents.as_array().unwrap().len(), 3);
    }
    assert!(signatures >= 3, "{signatures}");
}

#[tokio::test]
async fn items_of_others_and_facts_about_an_answer_stay_here() {
    let foreign =
        ProviderItem::new("anthropic", ItemKind::Reasoning, Json::from(json!({ "a": 1 })));
    let fact = ItemKind::other("groundingMetadata");
    let proof = json!({ "thoughtSignature": "S" });
    let parts = vec![
        Part::ProviderItem(foreign),
        item(fact, &json!({ "webSearchQueries": [] })),
        item(ItemKind::Citation(Citation::default()), &json!({})),
        item(ItemKind::Reasoning, &proof),
        Part::text("a"),
    ];
    let nothing = Message::new(MessageRole::Assistant, vec![Part::text(String::new())]);
    let history = Transcript::from(vec![nothing, Message::new(MessageRole::Assistant, parts)]);
    let contents = value(&Request::new(history)).await["contents"].take();
    let want = json!([{ "text": "", "thoughtSignature": "S" }, { "text": "a" }]);
    assert_eq!(contents[0]["parts"], want, "a proof whose words are gone is alone");
}
