//! Bodies that no server should send: every recorded body, changed in many ways, and bodies that open
//! more than anybody closes. Nothing panics, cuts do not matter, a missing end is always noticed.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use forgeline::{
    llm::{
        Progress, Protocol, Provider as _, ProviderError, Request, RetryPolicy, StreamChunk,
        Timeouts, collect,
        transport::{HttpRequest, HttpResponse, Transport, TransportError},
    },
    testing::replay::ReplayProvider,
    types::ErrorCode,
};
use forgeline_testkit::recorded::{bodies_with_expectation, cut};
use futures_util::{StreamExt as _, future::BoxFuture};
use serde_json::{Value, json};

use super::wires::WIRES;

/// How often each recorded body is changed; `FORGELINE_ATTACKS` says it otherwise.
const ATTACKS: usize = 6;

/// Bodies longer than this are not read byte by byte.
const BYTEWISE: usize = 12 << 10;

/// The protocols, and what the events that end an answer contain.
#[rustfmt::skip]
const ENDS: [(Protocol, &[&str]); 7] = [
    (Protocol::OpenAiChat,      &["finish_reason", "[DONE]"]),
    (Protocol::Anthropic,       &["message_stop"]),
    (Protocol::OpenAiResponses, &["response.completed", "response.incomplete", "response.failed", "response.done", "response.cancelled"]),
    (Protocol::Gemini,          &["finishReason"]),
    (Protocol::Ollama,          &["\"done\":true", "\"done\": true"]),
    (Protocol::OllamaGenerate,  &["\"done\":true", "\"done\": true"]),
    (Protocol::Cohere,          &["message-end"]),
];

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 when there is none.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % (end.max(1) as u64)).unwrap()
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// What a decoder made of a body: its chunks, how far it came, its error.
#[derive(Debug)]
struct Read(Vec<StreamChunk>, Progress, Option<ProviderError>);

impl PartialEq for Read {
    fn eq(&self, other: &Self) -> bool {
        let error = |read: &Self| format!("{:?}", read.2);
        self.0 == other.0 && self.1 == other.1 && error(self) == error(other)
    }
}

fn decode<'a>(protocol: Protocol, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut decoder = protocol.decoder();
    let mut chunks = Vec::new();
    let mut error = None;
    for piece in pieces {
        error = error.or_else(|| decoder.push(piece, &mut |chunk| chunks.push(chunk)).err());
    }
    let error = error.or_else(|| decoder.finish(&mut |chunk| chunks.push(chunk)).err());
    Read(chunks, decoder.progress(), error)
}

/// The events of a body with what ends them; a body that is no stream is one.
fn events(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body).into_owned();
    let separator = match () {
        () if text.contains("\r\n\r\n") => "\r\n\r\n",
        () if text.contains("data:") => "\n\n",
        () => "\n",
    };
    text.split_inclusive(separator).map(str::to_owned).collect()
}

/// The body with blanks before the JSON of events, so that none repeats the one before it.
fn without_repeats(body: &[u8]) -> Vec<u8> {
    let (mut padded, mut blanks) = (Vec::new(), 0);
    for line in body.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        let field = if line.starts_with(b"data:") { b"data:".len() } else { 0 };
        let (field, rest) = line.split_at(field);
        padded.extend_from_slice(field);
        if rest.trim_ascii_start().starts_with(b"{") {
            blanks = (blanks + 1) % 3;
            padded.extend(std::iter::repeat_n(b' ', blanks));
        }
        padded.extend_from_slice(rest);
    }
    padded
}

/// What a changed value becomes; the words in `~` become text that no JSON writer writes.
fn strange(dice: &mut Dice) -> Value {
    match dice.below(14) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(u32::MAX),
        4 => json!(u64::MAX),
        5 => json!(1.5e300),
        6 => json!(""),
        7 => json!({}),
        8 => json!([]),
        9 => json!([[null, {}], "x"]),
        10 => json!("\u{0}\u{feff}\r\n\u{2028}\"\\"),
        11 => json!("~high~"),
        12 => json!("~low~"),
        _ => json!("~deep~"),
    }
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(members) => members.iter().map(nodes).sum(),
        Value::Object(fields) => fields.values().map(nodes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Changes the node number `at`, counted in depth first order.
fn change(value: &mut Value, at: &mut usize, dice: &mut Dice) {
    if *at == 0 {
        *at = usize::MAX;
        change_here(value, dice);
        return;
    }
    *at -= 1;
    match value {
        Value::Array(members) => members.iter_mut().for_each(|member| {
            if *at != usize::MAX {
                change(member, at, dice);
            }
        }),
        Value::Object(fields) => fields.values_mut().for_each(|member| {
            if *at != usize::MAX {
                change(member, at, dice);
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn change_here(value: &mut Value, dice: &mut Dice) {
    let how = dice.below(6);
    match value {
        Value::Object(fields) if how < 5 && !fields.is_empty() => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = dice.pick(&keys).clone();
            let Some(member) = fields.get(&key).cloned() else { return };
            match how {
                0 => drop(fields.remove(&key)),
                1 => drop(fields.insert(format!("~twice~{key}"), strange(dice))),
                2 => drop(fields.insert(dice.pick(&keys).clone(), member)),
                3 => drop(fields.insert("error".to_owned(), strange(dice))),
                _ => drop(fields.insert(key, strange(dice))),
            }
        }
        Value::Array(members) if how < 4 && !members.is_empty() => {
            let (one, other) = (dice.below(members.len()), dice.below(members.len()));
            match how {
                0 => drop(members.remove(one)),
                1 => members.push(members[one].clone()),
                2 => members.swap(one, other),
                _ => members[one] = strange(dice),
            }
        }
        Value::Number(number) if how < 3 => {
            *value = json!(number.as_u64().unwrap_or(0).wrapping_add(dice.roll() % 3));
        }
        Value::String(text) if how < 3 => {
            *value = match how {
                0 => json!(format!("{text}_unknown")),
                1 => json!(format!("{text}~high~")),
                _ => json!(format!("~low~{text}")),
            };
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => *value = strange(dice),
    }
}

/// Changes the JSON of an event.
fn change_json(event: &str, dice: &mut Dice) -> String {
    let Some(start) = event.find(['{', '[']) else { return event.to_owned() };
    let (head, rest) = event.split_at(start);
    let end = rest.rfind(['}', ']']).map_or(rest.len(), |end| end + 1);
    let (json, tail) = rest.split_at(end);
    let Ok(mut value) = serde_json::from_str::<Value>(json) else { return event.to_owned() };
    let mut at = dice.below(nodes(&value));
    change(&mut value, &mut at, dice);
    let json = value.to_string().replace("~high~", "\\ud83d").replace("~low~", "\\ude00");
    let json = json.replace("\"~deep~\"", &format!("{}1{}", "[".repeat(9999), "]".repeat(9999)));
    format!("{head}{}{tail}", json.replace("~twice~", ""))
}

/// A changed body.
fn attack(body: &[u8], others: &[String], dice: &mut Dice) -> Vec<u8> {
    let mut list = events(body);
    for _ in 0..=dice.below(4) {
        let (one, other) = (dice.below(list.len()), dice.below(list.len()));
        match dice.below(16) {
            _ if list.is_empty() => {}
            0 => drop(list.remove(one)),
            1 => list.insert(other, list[one].clone()),
            2 => list.swap(one, other),
            3 => list.truncate(one + 1),
            4 => list.push(list[one].clone()),
            5 => list.insert(one, dice.pick(others).clone()),
            6 => list.extend_from_within(..),
            7 => list[one] = list[one].replace('\n', "\r\n"),
            8 => list[one] = list[one].replace('\n', "\r"),
            _ => list[one] = change_json(&list[one], dice),
        }
    }
    let mut body = list.concat().into_bytes();
    let at = dice.below(body.len());
    match dice.below(8) {
        _ if body.is_empty() => {}
        0 => body.truncate(at),
        1 => body[at] ^= 1 << dice.below(8),
        2 => body[at] = 0,
        3 => body.splice(at..at, *b"\xEF\xBB\xBF").for_each(drop),
        4 => body.splice(0..0, *b"\xEF\xBB\xBF").for_each(drop),
        5 => body.splice(at..at, *b"\xF0\x9F\x98\n").for_each(drop),
        _ => {}
    }
    body
}

/// What holds of every body.
fn check(protocol: Protocol, body: &[u8], dice: &mut Dice) {
    let whole = decode(protocol, [body]);
    if body.len() <= BYTEWISE {
        assert!(decode(protocol, body.chunks(1)) == whole, "cuts matter");
    }
    let sizes: Vec<usize> = (0..64).map(|_| dice.below(body.len() / 8 + 2)).collect();
    assert!(decode(protocol, cut(body, &sizes)) == whole, "cuts matter: {sizes:?}");
    let parsed = decode(protocol, [without_repeats(body).as_slice()]);
    let facts = |read: &Read| (read.1, read.2.as_ref().map(std::mem::discriminant));
    assert!(
        facts(&parsed) == facts(&whole),
        "{:?} if each event is parsed, not {:?}",
        facts(&parsed),
        facts(&whole)
    );
    let differ = parsed.0.iter().zip(&whole.0).find(|(parsed, read)| parsed != read);
    assert!(parsed.0 == whole.0, "a repeated event is read otherwise than parsed: {differ:?}");
    let Read(chunks, progress, error) = whole;
    let mut calls = 0;
    for delta in chunks.iter().flat_map(|chunk| &chunk.tool_calls) {
        assert!(delta.index <= calls, "call {} comes after {calls}", delta.index);
        calls = calls.max(delta.index + 1);
    }
    let is_over = chunks.iter().any(|chunk| chunk.finished);
    assert!(is_over || error.is_some(), "success without an end");
    assert!(error.is_some() || matches!(progress, Progress::Complete | Progress::Done));
}

fn attacks() -> usize {
    std::env::var("FORGELINE_ATTACKS").ok().and_then(|text| text.parse().ok()).unwrap_or(ATTACKS)
}

#[test]
fn changed_bodies_break_no_decoder() {
    let mut broken = Vec::new();
    for (protocol, _) in ENDS {
        let Some(bodies) = bodies_with_expectation(protocol) else { return };
        let others: Vec<String> =
            bodies.iter().flat_map(|recorded| events(&recorded.bytes)).collect();
        for recorded in &bodies {
            for seed in 0..attacks() as u64 {
                let mut dice = Dice(seed);
                let body = attack(&recorded.bytes, &others, &mut dice);
                let checked = catch_unwind(AssertUnwindSafe(|| check(protocol, &body, &mut dice)));
                if let Err(panic) = checked {
                    let panic = panic.downcast::<String>().map_or_else(
                        |panic| {
                            panic
                                .downcast::<&str>()
                                .map_or_else(|_| String::new(), |it| (*it).to_owned())
                        },
                        |panic| *panic,
                    );
                    broken.push(format!("{} changed by {seed}: {panic}", recorded.name));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn an_answer_without_its_end_is_no_success() {
    for (protocol, ends) in ENDS {
        let Some(bodies) = bodies_with_expectation(protocol) else { return };
        let is_end = |event: &String| ends.iter().any(|end| event.contains(end));
        for recorded in bodies {
            let list = events(&recorded.bytes);
            let open: String = list
                .iter()
                .filter(|event| !is_null_reason(event) || !is_end(event))
                .filter(|event| is_null_reason(event) || !is_end(event))
                .cloned()
                .collect();
            assert!(decode(protocol, [open.as_bytes()]).2.is_some(), "{}: no end", recorded.name);
            let first = list.iter().position(|event| is_end(event) && !is_null_reason(event));
            let before: usize = list.iter().take(first.unwrap_or(0)).map(String::len).sum();
            let mut dice = Dice(before as u64);
            for _ in 0..8 {
                let cut = dice.below(before + 1);
                let body = recorded.bytes.get(..cut).unwrap_or_default();
                assert!(decode(protocol, [body]).2.is_some(), "{}: cut at {cut}", recorded.name);
            }
        }
    }
}

/// Whether the event says that there is no reason to finish yet.
fn is_null_reason(event: &str) -> bool {
    let mut words = event
        .match_indices("finish_reason")
        .map(|(at, word)| event.get(at + word.len()..).unwrap_or_default());
    event.contains("finish_reason")
        && words.all(|rest| {
            let rest = rest.trim_start_matches(['"', ':', ' ']);
            rest.starts_with("null") || rest.is_empty() || rest.starts_with(',')
        })
}

#[tokio::test]
async fn collecting_agrees_with_the_decoder() {
    for (protocol, _) in ENDS {
        let Some(bodies) = bodies_with_expectation(protocol) else { return };
        for (recorded, seed) in bodies.iter().zip(1000..) {
            let body = attack(&recorded.bytes, &[String::from("\n")], &mut Dice(seed));
            let decoded = decode(protocol, [body.as_slice()]).2;
            let provider = ReplayProvider::new([body]).protocol(protocol);
            let collected = match provider.stream_completion(Request::default()).await {
                Ok(stream) => collect(stream).await.err(),
                Err(error) => Some(error),
            };
            // What the server reported counts more than what cannot be read after it.
            let code = |error: Option<ProviderError>| error.map(|error| error.code());
            let is_error = [&collected, &decoded].map(Option::is_some);
            assert_eq!(is_error[0], is_error[1], "{}, {seed}", recorded.name);
            if decoded.as_ref().is_none_or(|error| error.code() != ErrorCode::Decode) {
                assert_eq!(code(collected), code(decoded), "{}, {seed}", recorded.name);
            }
        }
    }
}

struct Nobody;

impl Transport for Nobody {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let error = TransportError::connect("h", "refused");
        Box::pin(async { Err(error) })
    }
}

#[tokio::test(start_paused = true)]
async fn times_without_end_are_no_times_at_all() {
    let (longest, hour) = (Duration::MAX, Duration::from_hours(1));
    for wire in WIRES {
        for (first, most, total) in
            [(longest, longest, longest), (longest, longest, hour), (hour, Duration::ZERO, longest)]
        {
            let provider = wire.provider("http://h", &move |mut setup| {
                setup.transport = Some(Arc::new(Nobody));
                setup.timeouts = Timeouts::NONE.first_byte(longest).idle(longest).total(total);
                setup.retry = RetryPolicy::default()
                    .max_attempts(u32::MAX)
                    .initial_delay(first)
                    .max_delay(most)
                    .max_server_delay(longest);
                setup
            });
            let answer = async {
                let mut chunks = provider.stream_completion(Request::prompt("x")).await?;
                while let Some(chunk) = chunks.next().await {
                    chunk?;
                }
                Ok::<_, ProviderError>(())
            };
            // Either the wait goes on, or it is known to end too late.
            let ended = tokio::time::timeout(100 * hour, answer).await;
            let is_late = matches!(ended, Ok(Err(ProviderError::Timeout { .. })));
            assert!(is_late == (total == hour), "{}: {ended:?}", wire.name);
        }
    }
}

fn sse(event: &str) -> String {
    format!("data: {event}\n\n")
}

/// Makes the event of a number.
type Event<'e> = &'e dyn Fn(usize) -> String;

#[test]
fn what_is_opened_and_never_closed_has_a_limit() {
    let n = 20_000;
    #[rustfmt::skip]
    let cases: [(&str, Protocol, Event<'_>); 6] = [
        ("blocks", Protocol::Anthropic, &|at| sse(&format!(r#"{{"type":"content_block_start","index":{at},"content_block":{{"type":"new","a":1}}}}"#))),
        ("calls", Protocol::Anthropic, &|at| sse(&format!(r#"{{"type":"content_block_start","index":{at},"content_block":{{"type":"tool_use","id":"i{at}","name":"n"}}}}"#))),
        ("items", Protocol::OpenAiResponses, &|at| sse(&format!(r#"{{"type":"response.output_item.added","output_index":{at},"item":{{"type":"function_call","id":"i{at}"}}}}"#))),
        ("calls by id", Protocol::OpenAiChat, &|at| sse(&format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"id":"i{at}","function":{{"name":"n","arguments":"{{"}}}}]}}}}]}}"#))),
        ("calls by index", Protocol::OpenAiChat, &|at| sse(&format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{at},"function":{{"name":"n"}}}}]}}}}]}}"#))),
        ("calls", Protocol::Cohere, &|at| sse(&format!(r#"{{"type":"tool-call-start","index":{at},"delta":{{"message":{{"tool_calls":{{"id":"i{at}"}}}}}}}}"#))),
    ];
    for (what, protocol, event) in cases {
        let body: String = (0..n).map(event).collect();
        let Read(chunks, _, error) = decode(protocol, [body.as_bytes()]);
        let error = error.unwrap();
        assert_eq!(error.code(), ErrorCode::Decode, "{protocol}, {what}: {error:?}");
        assert!(chunks.len() < n / 2, "{protocol}, {what}: {}", chunks.len());
    }
}

/// Events of a megabyte or more whose reading takes as long as they are, not its square.
#[test]
fn a_large_event_is_read_once() {
    let n = 200_000;
    let list = |member: &dyn Fn(usize) -> String| (0..n).map(member).collect::<Vec<_>>().join(",");
    let keys = list(&|at| format!("\"k{at}\":1"));
    let halves = r"\ud83d".repeat(n);
    #[rustfmt::skip]
    let cases = [
        ("wrapped answers", Protocol::Gemini, format!("{}1{}", "{\"response\":".repeat(n), "}".repeat(n))),
        ("sources named again and again", Protocol::Gemini, format!(
            r#"{{"candidates":[{{"groundingMetadata":{{"groundingChunks":[{{"web":{{"uri":"u"}}}}],"groundingSupports":[{{"groundingChunkIndices":[{}]}}]}}}}]}}"#, list(&|_| "0".to_owned()))),
        ("many sources of one passage", Protocol::Gemini, format!(
            r#"{{"candidates":[{{"groundingMetadata":{{"groundingChunks":[{}],"groundingSupports":[{{"groundingChunkIndices":[{}]}}]}}}}]}}"#, list(&|_| "{}".to_owned()), list(&|at| at.to_string()))),
        ("many sources of one passage", Protocol::Cohere, format!(
            r#"{{"type":"citation-start","delta":{{"message":{{"citations":{{"sources":[{}]}}}}}}}}"#, list(&|_| "{}".to_owned()))),
        ("many members", Protocol::Anthropic, format!(r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"new",{keys}}}}}"#)),
        ("many members of usage", Protocol::Anthropic, format!(r#"{{"type":"message_delta","usage":{{{keys}}}}}"#)),
        ("many members of an event", Protocol::Anthropic, format!(r#"{{"type":"message_delta",{keys}}}"#)),
        ("many items at the end", Protocol::OpenAiResponses, format!(
            r#"{{"type":"response.completed","response":{{"output":[{}]}}}}"#, list(&|_| r#"{"type":"new"}"#.to_owned()))),
        ("many calls at once", Protocol::OpenAiChat, format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{}]}}}}]}}"#, list(&|at| format!(r#"{{"id":"{at}"}}"#)))),
        ("half characters", Protocol::Ollama, format!("\n{{\"message\":{{\"content\":\"{halves}\"}}}}\n")),
        ("half characters", Protocol::OpenAiChat, format!(r#"{{"choices":[{{"delta":{{"content":"{halves}"}}}}]}}"#)),
        ("half characters", Protocol::Gemini, format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{halves}"}}]}}}}]}}"#)),
    ];
    for (what, protocol, event) in cases {
        let start = std::time::Instant::now();
        let Read(chunks, ..) = decode(protocol, [sse(&event).as_bytes()]);
        let took = start.elapsed();
        // Squares take minutes; unoptimised builds on busy machines take seconds.
        assert!(took.as_secs() < 20, "{protocol}, {what}: {took:?}");
        let items: usize = chunks
            .iter()
            .flat_map(|chunk| &chunk.details)
            .map(|details| details.events.len())
            .sum();
        assert!(items <= n, "{protocol}, {what}: {items} items");
    }
}
