//! Requests for runs of other nodes.

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::nodes::{NodeBench, RunReader};
use serde_json::json;

use super::nodes;

/// Longest wait until a node that has lost a run knows it, and until the record of a run follows its last event.
const SOON: Duration = Duration::from_secs(30);

/// Pause before a request is sent again.
const AGAIN: Duration = Duration::from_millis(100);

/// Grants the call that a run waits for, at an address.
pub(super) fn approve(bench: &NodeBench, at: SocketAddr, run: &str, reader: &mut RunReader) {
    let asked = reader.events().iter().rev().find(|event| event.kind == "tool_approval_request");
    let id = match asked {
        Some(asked) => asked.data["approval_id"].clone(),
        None => reader.until_kind("tool_approval_request").data["approval_id"].clone(),
    };
    let answer = json!({ "approval_id": id, "decision": "grant" });
    let begun = Instant::now();
    loop {
        let reply = bench.post(at, &format!("/v1/runs/{run}/approvals"), &answer);
        // A node that has just lost the run says so for a moment.
        if reply.status != 503 || begun.elapsed() > SOON {
            // A decision that is not answered for long is accepted: it is stored.
            assert!([200, 202].contains(&reply.status), "{reply:?}");
            return;
        }
        thread::park_timeout(AGAIN);
    }
}

/// Begins a run of the demo at a node that was stopped, and returns its id.
pub(super) fn begin_woken(bench: &NodeBench, at: SocketAddr) -> String {
    let asked = json!({ "agent": "demo", "input": "What is 6*7?" });
    let begun = Instant::now();
    loop {
        let reply = bench.post(at, "/v1/runs", &asked);
        // A node that has just lost runs says so for a moment.
        if reply.status != 503 || begun.elapsed() > SOON {
            assert_eq!(reply.status, 202, "{reply:?}");
            return reply.json()["run_id"].as_str().unwrap().to_owned();
        }
        thread::park_timeout(AGAIN);
    }
}

#[test]
fn a_call_is_approved_at_another_node() {
    let Some(bench) = nodes(2) else { return };
    let run = bench.begin(bench.address(0), "demo", "Call notes.keep with \"Buy milk.\"");
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    approve(&bench, bench.address(1), &run, &mut reader);
    reader.until_end();
    assert!(reader.text().contains("Kept as note 1."), "{}", reader.text());
    assert_eq!(reader.count("tool_result"), 1, "{:?}", reader.events());
}

#[test]
fn a_call_at_the_client_is_answered_at_another_node() {
    let Some(bench) = nodes(2) else { return };
    let run = bench.begin(bench.address(0), "demo", "Use ask_user: \"Which colour?\"");
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    let asked = reader.until_kind("client_tool_request");
    let answer =
        json!({ "client_call_id": asked.data["client_call_id"], "result": { "content": "green" } });
    let reply = bench.post(bench.address(1), &format!("/v1/runs/{run}/tool-results"), &answer);
    assert_eq!(reply.status, 200, "{reply:?}");
    reader.until_end();
    assert!(reader.text().contains("green"), "{}", reader.text());
}

#[test]
fn a_run_is_steered_and_cancelled_at_another_node() {
    let Some(bench) = nodes(2) else { return };
    let run = bench.begin(bench.address(0), "paced", "write 6000 words, one each 10 ms");
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    reader.until_kind("message_content");
    let path = |what: &str| format!("/v1/runs/{run}/{what}");
    let steer = json!({ "input": "write 3 words", "when": "now" });
    let reply = bench.post(bench.address(1), &path("inputs"), &steer);
    assert!([200, 202].contains(&reply.status), "{reply:?}");
    reader.until_end();
    assert_eq!(bench.model().requests("write 3 words"), 1, "{}", reader.text());

    let run = bench.begin(bench.address(0), "paced", "write 6001 words, one each 10 ms");
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    reader.until_kind("message_content");
    let reply = bench.post(bench.address(1), &format!("/v1/runs/{run}/cancel"), &json!({}));
    assert!([200, 202].contains(&reply.status), "{reply:?}");
    reader.until_end();
    // The record of a run follows the last of its events.
    let status = || bench.get(bench.address(0), &format!("/v1/runs/{run}")).json();
    let since = Instant::now();
    while status()["status"] == "running" && since.elapsed() < SOON {
        thread::park_timeout(Duration::from_millis(5));
    }
    assert_eq!(status()["status"], "cancelled", "{}", status());
}

#[test]
fn a_conversation_continues_on_another_node() {
    let Some(bench) = nodes(2) else { return };
    let [first, second] = [0, 1].map(|at| bench.address(at));
    let begun = bench.post(first, "/v1/runs", &json!({ "agent": "demo", "input": "What is 6*7?" }));
    let begun = begun.json();
    let id = |it: &serde_json::Value, name: &str| it[name].as_str().unwrap().to_owned();
    bench.reader(vec![second], &id(&begun, "run_id")).until_end();
    let conversation = id(&begun, "conversation_id");
    for (at, input) in [(second, "What is 2*3?"), (first, "What is 3*4?"), (second, "What is 4*5?")]
    {
        let next = json!({ "agent": "demo", "input": input, "conversation_id": conversation });
        let reply = bench.post(at, "/v1/runs", &next);
        assert_eq!(reply.status, 202, "{reply:?}");
        bench.reader(vec![at], &id(&reply.json(), "run_id")).until_end();
    }
    let pages = [first, second].map(|at| {
        let page = bench.get(at, &format!("/v1/conversations/{conversation}"));
        page.json()["page"]["messages"].clone()
    });
    assert_eq!(pages[0], pages[1]);
    let said = pages[0].to_string();
    for answer in ["6*7 = 42", "2*3 = 6", "3*4 = 12", "4*5 = 20"] {
        assert_eq!(said.matches(answer).count(), 1, "{answer}: {said}");
    }
}

/// Traces 21 and 24 of the model: one row, one answer, whichever node gets the request.
#[test]
fn an_approval_that_is_sent_to_both_nodes_counts_once() {
    let Some(bench) = nodes(2) else { return };
    let run = bench.begin(bench.address(0), "demo", "Call notes.keep with \"Buy milk.\"");
    let mut reader = bench.reader(vec![bench.address(0)], &run);
    let asked = reader.until_kind("tool_approval_request");
    let answer = json!({ "approval_id": asked.data["approval_id"], "decision": "grant" });
    let path = format!("/v1/runs/{run}/approvals");
    let replies = std::thread::scope(|threads| {
        let sent = [0, 1, 0, 1].map(|at| {
            let (answer, path, bench) = (&answer, &path, &bench);
            threads.spawn(move || bench.post(bench.address(at), path, answer).status)
        });
        sent.map(|it| it.join().unwrap())
    });
    assert!(replies.contains(&200), "{replies:?}");
    assert!(replies.iter().all(|status| [200, 404, 409].contains(status)), "{replies:?}");
    reader.until_end();
    assert!(reader.text().contains("Kept as note 1."), "{}", reader.text());
}
