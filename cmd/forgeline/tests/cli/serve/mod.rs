//! `forgeline serve` from outside.

mod checked;
mod clients;
mod curl;
mod hostile;
mod http;
mod oidc;
mod own_files;
mod page;
#[cfg(feature = "postgres")]
mod postgres;
mod proxies;
mod settings;
mod signals;
mod started;

use std::time::{Duration, Instant};

use serde_json::json;

use self::started::Started;
use crate::process::run;

#[test]
fn the_demo_is_served_on_the_address_that_is_printed() {
    let serve = Started::demo();
    assert!(serve.link.starts_with("http://127.0.0.1:"), "{}", serve.link);
    let agents = serve.get("/v1/agents");
    assert_eq!((agents.status, &agents.json()["agents"][0]["name"]), (200, &json!("demo")));
    let run = serve.begin("What is 6*7?");
    assert!(serve.answer(&run).contains("6*7 = 42"));
    assert_eq!(serve.end("-TERM"), Some(0));
}

#[test]
fn what_the_demo_asks_is_answered_over_the_network() {
    let serve = Started::demo();
    let run = serve.begin("Call notes.keep with \"Buy milk.\"");
    let asked = serve.until(&run, "tool_approval_request");
    let answer = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
    assert_eq!(serve.post(&format!("/v1/runs/{run}/approvals"), &answer).status, 200);
    assert!(serve.answer(&run).contains("Kept as note 1."));
    let run = serve.begin("Use ask_user: \"Which colour?\"");
    let asked = serve.until(&run, "client_tool_request");
    assert_eq!(asked["arguments"], json!({ "question": "Which colour?" }));
    let answer =
        json!({ "client_call_id": asked["client_call_id"], "result": { "content": "green" } });
    assert_eq!(serve.post(&format!("/v1/runs/{run}/tool-results"), &answer).status, 200);
    assert!(serve.answer(&run).contains("green"));
}

#[test]
fn a_signal_lets_runs_end_and_a_second_ends_the_program_at_once() {
    // A run that waits for a person does not end by itself.
    for (signals, want) in [(1, 0), (2, 130)] {
        let mut serve = Started::demo();
        let run = serve.begin("Call notes.keep with \"Buy milk.\"");
        let asked = serve.until(&run, "tool_approval_request");
        let mut events = serve.open(&format!("/v1/runs/{run}/events"));
        serve.signal("-INT");
        serve.says("shutting down");
        // Rows: N-64
        let ready = serve.get("/ready");
        assert_eq!((ready.status, &ready.json()["status"]), (503, &json!("ending")));
        let refused = serve.post("/v1/runs", &json!({ "input": "One more." }));
        assert_eq!((refused.status, refused.header("retry-after").is_some()), (503, true));
        if signals == 2 {
            serve.signal("-INT");
        } else {
            let kept = &mut serve.kept;
            let answer = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
            kept.send("POST", &format!("/v1/runs/{run}/approvals"), Some(&answer));
            assert!(events.rest().contains("event: run_end\n"));
        }
        let begun = Instant::now();
        assert_eq!(serve.ended(), Some(want));
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}

#[cfg(not(feature = "postgres"))]
#[test]
fn a_program_without_postgres_says_how_to_install_one_that_has_it() {
    let flag = ["--postgres", "postgres://ann:planted@localhost/app"];
    for command in [&["serve", "--provider", "demo"][..], &["serve", "--check"], &["erase", "ann"]]
    {
        let outcome = run(&[command, &flag].concat(), b"");
        let want = "cargo install --path cmd/forgeline --features postgres";
        assert!(outcome.stderr.contains(want) && outcome.code > Some(0), "{outcome:?}");
        assert!(!outcome.stderr.contains("planted"), "{outcome:?}");
    }
}

#[test]
fn other_machines_need_tokens() {
    let outcome = run(&["serve", "--provider", "demo", "--listen", "0.0.0.0:0"], b"");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("--tokens FILE"), "{outcome:?}");
}
