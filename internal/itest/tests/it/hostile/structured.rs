//! Answers bound to a schema from servers that do not keep to it.

use std::sync::Arc;

use forgeline::{
    llm::{
        AnswerSchema, ProviderError, Request, RetryPolicy, StructuredExt as _, StructuredMethod,
        TimeoutKind, transport::Transport,
    },
    types::ErrorCode,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    SECOND, WIRES, Wire,
    scenario::times,
    server::{Body, End, Server, ok},
};

/// How an answer must end: a value, words about what is wrong with it, or a failure of the stream whose text is kept.
#[derive(Clone)]
enum Ends {
    Is(Value),
    Unfit(&'static str),
    Broken(ErrorCode),
    /// Either, but soon.
    Somehow,
}
use Ends::{Broken, Is, Somehow, Unfit};

async fn ask(
    wire: &Wire,
    body: Body,
    method: StructuredMethod,
) -> Result<(Value, String), ProviderError> {
    let transport: Arc<dyn Transport> = Server::new([ok(body)]);
    let provider = wire.provider("http://h", &move |mut setup| {
        setup.transport = Some(Arc::clone(&transport));
        (setup.retry, setup.timeouts) = (RetryPolicy::NONE, times());
        setup
    });
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"], "additionalProperties": false });
    let schema = AnswerSchema::new(schema).strict(false).method(method).answer_repairs(0);
    let answer = provider.complete_json(Request::prompt("How many?"), schema).await?;
    Ok((answer.value, answer.json.as_str().to_owned()))
}

fn check(name: &str, ends: &Ends, got: Result<(Value, String), ProviderError>) {
    match (ends, got) {
        (Is(want), Ok((value, _))) => assert_eq!(&value, want, "{name}"),
        (Unfit(words), Err(ProviderError::InvalidAnswer { problem, .. })) => {
            assert!(problem.contains(words) && problem.len() < 1000, "{name}: {problem}");
        }
        (Broken(code), Err(error)) => {
            assert_eq!(error.code(), *code, "{name}: {error:?}");
            let is_kept = matches!(&error, ProviderError::Aborted { partial, .. } if partial.text.starts_with("{\"n\":1"));
            assert!(is_kept, "{name}: {error:?}");
        }
        (Somehow, _) => {}
        (_, got) => panic!("{name}: {got:?}"),
    }
}

// Found: R6, V17
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_what_was_asked_for_is_said_to_be_none() {
    let (open, objects) = ("[".repeat(50_000), "{\"n\":".repeat(20_000));
    let (braces, digits) = ("{ ".repeat(20_000), format!("{{\"n\":{}}}", "9".repeat(100_000)));
    #[rustfmt::skip]
    let texts: Vec<(&str, &str, Ends)> = vec![
        ("the value",             r#"{"n":1}"#,                     Is(json!({ "n": 1 }))),
        ("blanks around it",      " \n {\"n\" : 1}\n\n",           Is(json!({ "n": 1 }))),
        ("in a fence",            "```json\n{\"n\":1}\n```",       Is(json!({ "n": 1 }))),
        ("behind words",          "Here it is: {\"n\":1}",          Is(json!({ "n": 1 }))),
        ("nothing",               "",                               Unfit("")),
        ("blanks",                "  \n ",                          Unfit("")),
        ("prose",                 "No.",                            Unfit("")),
        ("cut",                   r#"{"n":"#,                       Unfit("")),
        ("cut in a string",       r#"{"n":"a"#,                     Unfit("")),
        ("closed twice",          r#"{"n":1}}"#,                    Somehow),
        ("two values",            r#"{"n":1}{"n":2}"#,              Somehow),
        ("a key twice",           r#"{"n":1,"n":2}"#,               Somehow),
        ("a number too large",    r#"{"n":1e999}"#,                 Somehow),
        ("a lone half of a pair", "{\"n\":\"\\ud83d\"}",           Somehow),
        ("a NUL",                 "{\"n\":\"\\u0000\"}",           Somehow),
        ("brackets, very deep",   &open,                            Unfit("")),
        ("objects, very deep",    &objects,                         Unfit("")),
        ("braces without end",    &braces,                          Unfit("")),
        ("a very long number",    &digits,                          Somehow),
        ("another language",      "<n>1</n>",                       Unfit("")),
    ];
    for wire in WIRES {
        for (case, text, ends) in &texts {
            let name = format!("{}, {case}", wire.name);
            let escaped = serde_json::to_string(text).unwrap();
            let delta = wire.delta(escaped.trim_start_matches('"').strip_suffix('"').unwrap_or(""));
            let body = format!("{}{delta}{}", wire.begin, wire.end);
            let start = Instant::now();
            let whole = ask(wire, Body::new(&body), StructuredMethod::Prompt).await;
            let known = whole.as_ref().ok().cloned();
            check(&name, ends, whole);
            if body.len() < 4096 {
                let cut =
                    ask(wire, Body::bytewise(body.as_bytes()), StructuredMethod::Prompt).await;
                assert_eq!(cut.as_ref().ok().cloned(), known, "{name}");
                check(&name, ends, cut);
            }
            assert!(start.elapsed() < SECOND, "{name}");
        }
        // What had arrived is kept when the stream fails.
        let delta = format!("{}{}", wire.begin, wire.delta(r#"{\"n\":1"#));
        let forever = Body::new(&delta).again(wire.delta(" "), 1 << 24).every(SECOND);
        #[rustfmt::skip]
        let bodies = [
            ("breaks",      Body::new(&delta).end(End::Breaks), ErrorCode::Connect),
            ("stalls",      Body::new(&delta).end(End::Stalls), ErrorCode::Timeout),
            ("ends early",  Body::new(&delta),                  ErrorCode::EndedEarly),
            ("blanks for ever", forever,                       ErrorCode::Timeout),
        ];
        for (case, body, code) in bodies {
            let got = ask(wire, body, StructuredMethod::Prompt).await;
            check(&format!("{}, {case}", wire.name), &Broken(code), got);
        }
    }
}

// Found: V17
#[tokio::test(start_paused = true)]
async fn a_call_that_was_asked_for_is_held_to_the_same() {
    #[rustfmt::skip]
    let calls: [(&str, &str, &str, Ends); 3] = [
        ("the value",     "structured_response", r#"{"n":1}"#, Is(json!({ "n": 1 }))),
        ("another tool",  "rm",                  r#"{"n":1}"#, Somehow),
        ("no arguments",  "structured_response", "{}",         Somehow),
    ];
    // Ollama cannot make a model call a tool, and says so before anything is sent.
    for wire in WIRES.iter().filter(|wire| wire.name != "ollama") {
        for (case, tool, arguments, ends) in &calls {
            let name = format!("{}, {case}", wire.name);
            let call = wire.call("1", "c", tool, arguments);
            let body = format!("{}{call}{}", wire.begin, wire.end);
            let got = ask(wire, Body::new(&body), StructuredMethod::ForcedTool).await;
            check(&name, ends, got);
        }
        // Neither is an answer: words beside the call that was asked for, or a cut one.
        for body in [
            format!("{}{}{}", wire.begin, wire.delta("No."), wire.end),
            format!("{}{}", wire.begin, wire.end),
        ] {
            let got = ask(wire, Body::new(&body), StructuredMethod::ForcedTool).await;
            let is_unfit = matches!(got, Err(ProviderError::InvalidAnswer { .. }));
            assert!(is_unfit, "{}: {got:?}", wire.name);
        }
        let silent = ask(wire, Body::new("").end(End::Stalls), StructuredMethod::ForcedTool).await;
        let is_late =
            matches!(silent, Err(ProviderError::Timeout { which: TimeoutKind::FirstByte, .. }));
        assert!(is_late, "{}: {silent:?}", wire.name);
    }
}
