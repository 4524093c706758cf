//! Contents: events that are framed well and say what no server should.

use forgeline::{llm::RetryPolicy, types::ErrorCode};
use serde_json::{Value, json};

use super::{
    WIRES, Wire, begun,
    scenario::{Scenario, one, play, several, whole},
    server::{Body, ok},
};

/// A word, and an error of this value after it.
fn errors() -> Vec<Scenario> {
    let row = |name: &str, value: String| {
        one(format!("an error behind a word: {name}"), move |wire| {
            ok(Body::new(format!("{}{}{}", begun(wire), wire.error(&value), wire.end)))
        })
    };
    let text = |text: &str| text.to_owned();
    let long = json!({ "message": "x".repeat(100_000) }).to_string();
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    // Where the event has a name, it is an error whatever its value; else `error` must say something.
    let named = |row: Scenario| {
        row.fails_on(ErrorCode::InStream, &["cohere", "openai-responses", "anthropic"])
    };
    let failing = |row: Scenario| row.fails(ErrorCode::InStream);
    vec![
        failing(row("a message", text(r#"{"message":"it broke"}"#))).says("it broke"),
        failing(row("a text", text(r#""it broke""#))).says("it broke"),
        failing(row("a number", text("5"))),
        named(row("null", text("null"))),
        named(row("an empty object", text("{}"))),
        named(row("an empty text", text("\"\""))),
        failing(row("a list", text(r#"[{"message":"it broke"}]"#))),
        failing(row("nested", text(r#"{"error":{"error":{"message":"it broke"}}}"#))),
        failing(row("long", long)),
        failing(row("deep", deep)),
        failing(row(
            "of the wrong types",
            text(r#"{"message":[{}],"code":{},"type":7,"status":null}"#),
        )),
        several("an error before any word", |wire| {
            let body = format!("{}{}", wire.begin, wire.error(r#"{"message":"it broke"}"#));
            vec![ok(Body::new(body)); 3]
        })
        .fails(ErrorCode::InStream)
        .nothing()
        .asks(3)
        .takes(1..=1),
        several("an error, then an answer", |wire| {
            let error = wire.error(r#"{"message":"overloaded"}"#);
            vec![ok(Body::new(format!("{}{error}", wire.begin))), ok(Body::new(whole(wire)))]
        })
        .asks(2),
        one("an error that blames the request", |wire| {
            ok(Body::new(
                wire.error(r#"{"type":"invalid_request_error","message":"no such model"}"#),
            ))
        })
        .fails(ErrorCode::InvalidRequest)
        .nothing()
        .says("no such model"),
        one("an error behind the end", |wire| {
            ok(Body::new(format!("{}{}", whole(wire), wire.error(r#"{"message":"too late"}"#))))
        })
        // These are read to the end of the body, for the bytes after the finish.
        .fails_on(ErrorCode::InStream, &["gemini", "cohere"]),
        one("two errors", |wire| {
            let errors =
                ["first", "second"].map(|word| wire.error(&json!({ "message": word }).to_string()));
            ok(Body::new(format!("{}{}", begun(wire), errors.concat())))
        })
        .fails(ErrorCode::InStream)
        .says("first"),
        one("an error and words after it", |wire| {
            ok(Body::new(format!(
                "{}{}{}",
                begun(wire),
                wire.error(r#"{"message":"no"}"#),
                wire.delta("x")
            )))
        })
        .fails(ErrorCode::InStream)
        .text("keptx"),
    ]
}

/// JSON that is odd in itself.
fn values() -> Vec<Scenario> {
    let event = |wire: &Wire, json: &str| {
        if wire.is_lines() { format!("{json}\n") } else { format!("data: {json}\n\n") }
    };
    let between = move |name: &str, json: String| {
        one(format!("an event of {name}"), move |wire| {
            ok(Body::new(format!("{}{}{}", begun(wire), event(wire, &json), wire.end)))
        })
    };
    let broken = |row: Scenario| row.fails(ErrorCode::Decode);
    // Anthropic's events are known by their names; one without a name is passed over.
    let unnamed = |row: Scenario| {
        row.fails_on(
            ErrorCode::Decode,
            &["openai", "gemini", "cohere", "ollama", "openai-responses"],
        )
    };
    // Gemini's may be lists of answers.
    let listed = |row: Scenario| {
        row.fails_on(ErrorCode::Decode, &["openai", "cohere", "ollama", "openai-responses"])
    };
    let deep =
        |open: &str, close: &str| format!("{}1{}", open.repeat(50_000), close.repeat(50_000));
    let member = |json: &str| format!(r#"{{"type":"new","new":{json}}}"#);
    vec![
        unnamed(between("null", "null".into())),
        unnamed(between("a number", "5".into())),
        unnamed(between("a text", "\"x\"".into())),
        listed(between("a list", "[]".into())),
        between("nothing", "{}".into()),
        broken(between("half an object", "{\"type\":".into())),
        broken(between("two objects", "{}{}".into())),
        broken(between("words", "not JSON".into())),
        unnamed(between("a deep list", deep("[", "]"))),
        between("a deep object", deep("{\"a\":", "}")),
        between("a deep member", member(&deep("[", "]"))),
        between("a number of a thousand digits", member(&"9".repeat(1000))),
        between("a number without bounds", member("1e999999")),
        broken(between("no number", member("NaN"))),
        between("the same member twice", r#"{"type":"new","type":5,"type":null}"#.into()),
        between("a long name", format!("{{\"{}\":1}}", "k".repeat(100_000))),
        between("many members", {
            let members: Vec<String> = (0..10_000).map(|at| format!("\"k{at}\":1")).collect();
            format!("{{{}}}", members.join(","))
        }),
        between("half a character", r#"{"type":"new","x":"\ud83d"}"#.into()),
        broken(between("an escape that is none", r#"{"type":"new","x":"\u12"}"#.into())),
        broken(between("a comment", "{/* no */}".into())),
        one("a word in half characters", |wire| {
            let halves = format!("{}{}", wire.delta(r"ke\ud83d"), wire.delta(r"\ude00pt"));
            ok(Body::new(format!("{}{halves}{}", wire.begin, wire.end)))
        })
        .text("ke😀pt"),
        one("a word of control characters", |wire| {
            ok(Body::new(format!(
                "{}{}{}",
                wire.begin,
                wire.delta(r"k\u0000\u001b\u009b"),
                wire.end
            )))
        })
        .text("k\0\u{1b}\u{9b}"),
        one("a word that closes what was not open", |wire| {
            ok(Body::new(format!(
                "{}{}{}",
                wire.begin,
                wire.delta("kept</tool></think>"),
                wire.end
            )))
        })
        // Models of open weights write thinking in tags; the first closer of one that was never opened is
        // theirs.
        .text("kept</tool>")
        .text_on("kept</tool></think>", &["gemini", "cohere", "anthropic"]),
    ]
}

/// Calls without measure.
fn calls() -> Vec<Scenario> {
    let call = |name: &str, at: &'static str, id: String, tool: String, arguments: String| {
        one(format!("a call with {name}"), move |wire| {
            let call = wire.call(at, &id, &tool, &arguments);
            ok(Body::new(format!("{}{call}{}", begun(wire), wire.end)))
        })
        .max_bytes(32 << 20)
    };
    let s = |text: &str| text.to_owned();
    let long = |length: usize| "n".repeat(length);
    let big = json!({ "a": "x".repeat(5 << 20) }).to_string();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(500), "]".repeat(500));
    let mut table = vec![
        call("an empty name", "1", s("c"), s(""), s("{}")),
        call("a blank name", "1", s("c"), s("   "), s("{}")),
        call("a name of control characters", "1", s("c"), s(r"\u0000\u001b"), s("{}")),
        call("a name of two megabytes", "1", s("c"), long(2 << 20), s("{}")),
        call("an id of two megabytes", "1", long(2 << 20), s("f"), s("{}")),
        call("no id", "1", s(""), s("f"), s("{}")),
        call("arguments of five megabytes", "1", s("c"), s("f"), big),
        call("deep arguments", "1", s("c"), s("f"), deep),
        call("arguments that are a list", "1", s("c"), s("f"), s("[1]")),
        call("arguments that are a number", "1", s("c"), s("f"), s("7")),
        call("arguments that are null", "1", s("c"), s("f"), s("null")),
    ];
    for at in
        ["4294967295", "4294967296", "18446744073709551616", "-1", "1.5", "\"1\"", "null", "[]"]
    {
        let row = call(&format!("the number {at}"), at, s("c"), s("f"), s("{}"));
        // There the number must be one; elsewhere it only tells calls apart.
        let row = if at == "\"1\"" {
            row.fails_on(ErrorCode::Decode, &["openai-responses"])
        } else {
            row
        };
        table.push(row);
    }
    for n in [100, 1_000, 3_000, 20_000] {
        let row = one(format!("{n} calls"), move |wire| {
            let calls: String = (1..=n)
                .map(|at| wire.call(&at.to_string(), &format!("c{at}"), "f", "{}"))
                .collect();
            ok(Body::new(format!("{}{calls}{}", begun(wire), wire.end)))
        });
        let row = row.max_bytes(32 << 20);
        // Where calls are open side by side, there is a limit of them.
        table.push(match n {
            0..=1_000 => row,
            1_001..=3_000 => row.fails_on(ErrorCode::Decode, &["openai", "cohere"]),
            _ => row.fails_on(ErrorCode::Decode, &["openai", "cohere", "openai-responses"]),
        });
    }
    table
}

/// Puts `value` in the place number `at` of a tree, counted in depth first order.
fn put(tree: &mut Value, at: &mut usize, value: &Value) -> bool {
    if *at == 0 {
        tree.clone_from(value);
        return true;
    }
    *at -= 1;
    match tree {
        Value::Array(members) => members.iter_mut().any(|member| put(member, at, value)),
        Value::Object(members) => members.values_mut().any(|member| put(member, at, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// An event with `value` in one place; `None` when there are no more places.
fn changed(event: &str, at: usize, value: &Value) -> Option<String> {
    let start = event.find('{')?;
    let end = event.rfind('}')? + 1;
    let (head, json, tail) = (event.get(..start)?, event.get(start..end)?, event.get(end..)?);
    let mut tree = serde_json::from_str(json).ok()?;
    let mut left = at;
    put(&mut tree, &mut left, value).then(|| format!("{head}{tree}{tail}"))
}

/// The bodies of an answer and a call in which one member is `value`.
fn bodies_with(wire: &Wire, value: &Value) -> Vec<String> {
    let call = wire.call("1", "c", "f", "{\"a\":1}");
    let events = [wire.begin, &wire.delta("kept"), &call, wire.end].concat().replace("\r\n", "\n");
    let separator = if wire.is_lines() { "\n" } else { "\n\n" };
    let events: Vec<&str> = events.split_inclusive(separator).collect();
    let mut bodies = Vec::new();
    for (number, event) in events.iter().enumerate() {
        let (before, behind) = (events[..number].concat(), events[number + 1..].concat());
        let changed = (0..).map_while(|at| changed(event, at, value));
        bodies.extend(changed.map(|event| format!("{before}{event}{behind}")));
    }
    bodies
}

// Every place of every event: the member that is hit says whether the answer can go on, so that both
// endings are right here; what must hold is checked with either.
// Found: R12
#[tokio::test(start_paused = true)]
async fn no_type_of_no_member_of_no_event_breaks_anything() {
    #[rustfmt::skip]
    let values = [
        json!(null), json!(true), json!(-1), json!(1.5e300), json!(u64::MAX), json!(""), json!("x"),
        json!([]), json!({}), json!([[null, {}], "x"]), json!({ "type": {}, "error": [] }),
    ];
    for wire in WIRES {
        let mut count = 0;
        for body in values.iter().flat_map(|value| bodies_with(wire, value)) {
            let name = format!("a value of another type in {body}");
            let scenario = one(name, move |_| ok(Body::new(&body)));
            scenario.ends_somehow().retry(RetryPolicy::NONE).play(wire).await;
            count += 1;
        }
        assert!(count >= 150, "{}: {count}", wire.name);
    }
}

// Found: R6, R12
#[tokio::test(start_paused = true)]
async fn whatever_the_events_say_the_answer_is_typed_and_in_bounds() {
    let mut table = errors();
    table.extend(values());
    table.extend(calls());
    assert!(play(&table).await >= 60);
}
