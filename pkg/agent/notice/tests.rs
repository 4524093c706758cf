//! Each name has a notice, in the form that it has on the wire.

use serde_json::json;

use super::*;
use forgeline_types::Envelope;

fn event(name: &str, data: Value) -> AgentEvent {
    AgentEvent::Custom(CustomEvent::new(name, data))
}

/// The data of each notice, as it was before notices had a type.
fn data() -> Vec<(&'static str, Value)> {
    let envelope = Envelope::new("below".into(), 1, 2, 3, AgentEvent::TurnEnd);
    vec![
        (CALL_MODE_FALLBACK, json!({ "from": "native", "to": "text", "reason": "no tools" })),
        (CALLS_IN_TEXT, json!({ "model": "m", "dialect": "forge" })),
        (
            CONTEXT_TRIMMED,
            json!({ "messages": 4, "results": 1, "tokens": 100, "tokens_before": 900 }),
        ),
        (
            CONTENT_REFUSED,
            json!({ "turn": 2, "content": "signatures", "messages": 1, "reason": "no" }),
        ),
        (
            CONTEXT_SUMMARIZED,
            json!({ "messages": 4, "requests": 2, "tokens": 100, "tokens_before": 900 }),
        ),
        (CONTEXT_SUMMARY_FAILED, json!({ "requests": 2, "error": "busy" })),
        (ANSWER_ASKED_AGAIN, json!({ "turn": 1, "ending": "empty", "reason": "no text" })),
        (ANSWER_RESTARTED, json!({ "turn": 1, "attempt": 2 })),
        (ANSWER_KEPT, json!({ "turn": 1, "calls": 2 })),
        (ANSWER_TYPED, json!({ "turn": 1 })),
        (ANSWER_CONTINUED, json!({ "turn": 1, "times": 2 })),
        (RUN_TAKEN_OVER, json!({ "takeovers": 1 })),
        (STEERED, json!({ "kind": "follow_up", "text": "and in euros" })),
        (UNDELIVERED, json!({ "texts": ["a", "b"] })),
        (BUDGET_UNMEASURED, json!({ "limit": "cost" })),
        (TOOL_SOURCE, json!({ "kind": "gone", "server": "s", "tools": ["f"], "count": 1 })),
        (
            SUB_AGENT,
            json!({ "parent_run_id": "r", "call_id": "c", "name": "n", "envelope": envelope }),
        ),
        (DEGRADED, json!({ "provider": "p", "left_out": ["seed"] })),
        (IGNORED_CHOICES, json!({ "count": 2 })),
    ]
}

#[test]
fn each_name_is_a_notice_that_is_written_as_it_was_read() {
    let data = data();
    let names: Vec<_> = data.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, Notice::NAMES, "each name has data");
    for (name, data) in data {
        let event = event(name, data);
        let notice = Notice::read(&event).unwrap_or_else(|| panic!("{name} is not read"));
        assert_eq!(notice.name(), name);
        let again = AgentEvent::from(notice);
        let written = [&event, &again].map(|it| serde_json::to_string(it).unwrap());
        assert_eq!(written[0], written[1], "{name}");
    }
}

#[test]
fn what_is_not_a_notice_of_the_library_is_not_read() {
    assert_eq!(Notice::read(&event("progress", json!({ "percent": 50 }))), None);
    assert_eq!(Notice::read(&AgentEvent::TurnEnd), None);
    for name in Notice::NAMES {
        for data in [Value::Null, json!("text"), json!([]), json!({}), json!({ "turn": "first" })] {
            assert_eq!(Notice::read(&event(name, data.clone())), None, "{name} {data}");
        }
    }
}

#[test]
fn a_field_of_a_later_version_does_not_hide_a_notice() {
    for (name, mut data) in data() {
        data["of_a_later_version"] = json!(true);
        assert!(Notice::read(&event(name, data)).is_some(), "{name}");
    }
}
