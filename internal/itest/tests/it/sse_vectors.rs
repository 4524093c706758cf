//! The SSE conformance vectors of the collection of recorded bodies.

use forgeline::llm::sse::SseDecoder;
use forgeline_testkit::recorded;
use serde_json::{Value, json};

#[test]
fn every_vector_passes_at_every_chunk_size() {
    let Some(folder) = recorded::folder() else { return };
    let vectors = recorded::json(&folder.join("sse-conformance/vectors.json"));
    let vectors = vectors.as_array().unwrap();
    for vector in vectors {
        let body = recorded::base64(vector["b64"].as_str().unwrap().as_bytes());
        for size in [1, 2, 3, 4, 5, 6, 7, 64, body.len().max(1)] {
            let mut decoder = SseDecoder::default();
            let mut events: Vec<Value> = Vec::new();
            for mut chunk in body.chunks(size) {
                while let Some(event) = decoder.next_event(&mut chunk).unwrap() {
                    events
                        .push(json!({ "event": event.event, "data": event.data, "id": event.id }));
                }
            }
            assert_eq!(json!(events), vector["expect"], "{} in {size}s", vector["name"]);
        }
    }
    forgeline_testkit::say(format!("read {} vectors", vectors.len()));
    assert!(vectors.len() >= 42);
}
