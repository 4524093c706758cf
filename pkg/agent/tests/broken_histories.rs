//! Stored conversations that someone has broken.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{whole::assert_history_is_whole, *};
use crate::{
    journal::MemoryJournal,
    memory::{ConversationMemory, repaired},
};
use forgeline_types::{
    ErrorCode, Message,
    MessageRole::{self, Assistant, Tool, User},
    Part, ToolCall, ToolResult, Transcript,
};

fn call(id: &str) -> Part {
    Part::ToolCall(ToolCall::new(id, "echo", json!({ "text": id })))
}

fn result(id: &str) -> Part {
    Part::ToolResult(ToolResult::new(id, "echo", format!("of {id}")))
}

fn text(text: &str) -> Part {
    Part::text(text.to_owned())
}

fn thinking() -> Part {
    Part::thinking("Hm.", None)
}

type Messages = Vec<(MessageRole, Vec<Part>)>;

fn transcript(messages: Messages) -> Transcript {
    messages.into_iter().map(|(role, parts)| Message::new(role, parts)).collect()
}

/// A message in short, such as `a: Well. +c1`.
fn brief(message: &Message) -> String {
    let role = match message.role {
        User => "u",
        Assistant => "a",
        Tool => "t",
        MessageRole::System => "s",
        _ => "s",
    };
    let parts = message.parts.iter().map(|part| match part {
        Part::Text { text, .. } => text.clone(),
        Part::ToolCall(call) => format!("+{} {}", call.id, call.arguments_raw),
        Part::ToolResult(result) if result.is_error => format!("?{}", result.call_id),
        Part::ToolResult(result) => format!("={} {}", result.call_id, result.content),
        other => format!("{other:?}"),
    });
    format!("{role}: {}", parts.collect::<Vec<_>>().join(" "))
}

/// Two calls, and their results.
const CALLS: &str = r#"a: +c1 {"text":"c1"} +c2 {"text":"c2"}"#;
const RESULTS: &str = "t: =c1 of c1 =c2 of c2";

/// Each with its name, what is stored and the result.
#[rustfmt::skip]
fn cases() -> Vec<(&'static str, Messages, Vec<&'static str>)> {
    let user = || (User, vec![text("Do it.")]);
    let ends = || (Assistant, vec![text("Done.")]);
    let calls = || (Assistant, vec![call("c1"), call("c2")]);
    let mut unreadable = ToolCall::new("c1", "echo", json!({}));
    (unreadable.arguments_raw, unreadable.arguments) = ("{\"te".to_owned(), None);
    vec![
        ("a result without a call",
            vec![user(), (Tool, vec![result("c9")]), ends()],
            vec!["u: Do it.", "a: Done."]),
        ("a result of no call among others",
            vec![user(), calls(), (Tool, vec![result("c1"), result("c9"), result("c2"), result("c2")]), ends()],
            vec!["u: Do it.", CALLS, RESULTS, "a: Done."]),
        ("calls without results",
            vec![user(), calls(), ends()],
            vec!["u: Do it.", CALLS, "t: ?c1 ?c2", "a: Done."]),
        ("a call without its result",
            vec![user(), calls(), (Tool, vec![result("c2")]), (User, vec![text("Well?")])],
            vec!["u: Do it.", CALLS, "t: ?c1 =c2 of c2", "u: Well?"]),
        ("calls without results at the end",
            vec![user(), calls()],
            vec!["u: Do it.", CALLS, "t: ?c1 ?c2"]),
        ("results in another order, in messages of their own, with an empty one between",
            vec![user(), calls(), (Tool, vec![result("c2")]), (Tool, vec![]), (Tool, vec![result("c1")]), ends()],
            vec!["u: Do it.", CALLS, RESULTS, "a: Done."]),
        ("two answers in a row",
            vec![user(), (Assistant, vec![text("Well,")]), ends()],
            vec!["u: Do it.", "a: Well, Done."]),
        ("two answers in a row, the second with calls",
            vec![user(), ends(), calls(), (Tool, vec![result("c1"), result("c2")]), ends()],
            vec!["u: Do it.", r#"a: Done. +c1 {"text":"c1"} +c2 {"text":"c2"}"#, RESULTS, "a: Done."]),
        ("empty messages",
            vec![(User, vec![]), user(), (Assistant, vec![text(" \n")]), (Assistant, vec![thinking()]), (Tool, vec![]), ends()],
            vec!["u: Do it.", "a: Done."]),
        ("calls and results of the wrong role",
            vec![(User, vec![text("Do it."), result("c1"), call("c2")]), (Assistant, vec![text("Done."), result("c3")]), (Tool, vec![text("x")])],
            vec!["u: Do it.", "a: Done."]),
        ("arguments that are no object",
            vec![user(), (Assistant, vec![Part::ToolCall(unreadable)]), (Tool, vec![result("c1")]), ends()],
            vec!["u: Do it.", "a: +c1 {}", "t: =c1 of c1", "a: Done."]),
        ("a whole one, whose calls are text",
            vec![user(), (Assistant, vec![text("<tool>…")]), (Tool, vec![result("c1")]), ends()],
            vec!["u: Do it.", "a: <tool>…", "t: =c1 of c1", "a: Done."]),
        ("a whole one",
            vec![user(), calls(), (Tool, vec![result("c1"), result("c2")]), ends(), user()],
            vec!["u: Do it.", CALLS, RESULTS, "a: Done.", "u: Do it."]),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_broken_conversation_is_repaired_and_every_vendor_takes_it() {
    for (name, stored, want) in cases() {
        let stored = transcript(stored);
        let whole = repaired(&stored);
        assert_eq!(whole.iter().map(|it| brief(it)).collect::<Vec<_>>(), want, "{name}");
        if name.starts_with("a whole one") {
            let is_same = |(one, other)| std::sync::Arc::ptr_eq(one, other);
            assert!(whole.iter().zip(&stored).all(is_same), "{name}: it comes back as it is");
        }
        assert_eq!(repaired(&whole), whole, "{name}: it is whole now");
        let provider = ScriptedProvider::new([ScriptedTurn::new().text("Good.")]);
        let agent = builder(&provider)
            .memory(ConversationMemory::from(stored))
            .build()
            .unwrap()
            .conversation();
        agent.run("Go on.").await.unwrap();
        assert_history_is_whole(&agent);
        let sent = &provider.requests()[0].messages;
        assert_eq!(sent.len(), want.len() + 1, "{name}");
    }
}

/// A line of a journal: the text of its record, and those of the messages beside it.
#[derive(Clone, Deserialize)]
struct RawLine {
    record: Box<RawValue>,
    #[serde(default)]
    messages: Vec<Box<RawValue>>,
}

impl RawLine {
    /// Returns the line with the number `at`, after lines with this digest, and its digest.
    fn write(&self, at: usize, before: u64) -> (String, u64) {
        let Self { record, messages } = self;
        let before = [before.to_le_bytes(), (at as u64).to_le_bytes()];
        let texts = std::iter::once(record).chain(messages).flat_map(|text| text.get().bytes());
        let bytes = before.as_flattened().iter().copied().chain(texts);
        let digest = bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let list = serde_json::to_string(messages).unwrap();
        let list =
            if messages.is_empty() { String::new() } else { format!(r#","messages":{list}"#) };
        (format!(r#"{{"n":{at},"digest":"{digest:016x}","record":{record}{list}}}"#), digest)
    }
}

/// The lines of a journal of two runs, with digests that fit; `change` changes them.
async fn journal_of(change: impl Fn(usize, RawLine) -> RawLine) -> MemoryJournal {
    let journal = MemoryJournal::default();
    let turns = [
        ScriptedTurn::new().call("echo", json!({ "text": "one" })),
        ScriptedTurn::new().text("Done."),
        ScriptedTurn::new().text("Again."),
    ];
    let agent = builder(&ScriptedProvider::new(turns))
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal.clone());
    agent.run("Do it.").await.unwrap();
    agent.run("Again.").await.unwrap();
    let (mut own, mut digest, mut lines) = (0_u64, 0_u64, Vec::new());
    for (at, line) in journal.lines().into_iter().enumerate() {
        let written: RawLine = serde_json::from_str(&line).unwrap();
        let (again, after) = written.write(at, own);
        assert_eq!(again, line, "the line as it was written");
        own = after;
        let (line, after) = change(at, written).write(at, digest);
        digest = after;
        lines.push(line);
    }
    MemoryJournal::from(lines)
}

#[tokio::test(start_paused = true)]
async fn a_broken_journal_is_repaired_or_refused_with_words() {
    let whole = journal_of(|_, line| line).await;
    let count = whole.lines().len();
    let resumed = |journal: MemoryJournal| async move {
        let provider = ScriptedProvider::new([ScriptedTurn::new().text("Good.")]);
        let agent = builder(&provider).build().unwrap().conversation().with_journal(journal);
        agent.resume().await.map(|it| (agent, it.is_none()))
    };
    for at in 0..count {
        // An unknown record in the middle.
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let unknown = |own: usize, line: RawLine| {
            let record = raw(r#"{"paused":{"at":1}}"#);
            if own == at { RawLine { record, ..line } } else { line }
        };
        let error = resumed(journal_of(unknown).await).await.unwrap_err().error;
        assert_eq!(error.code, ErrorCode::Journal);
        let want =
            format!("line {} of the journal is not a record that this library knows", at + 1);
        assert!(error.message.starts_with(&want), "{error}");
        // Records whose messages are gone: calls without results, results without calls, and less.
        let emptied = |has_link: bool| {
            move |own: usize, line: RawLine| {
                let mut record: Map<String, Value> =
                    serde_json::from_str(line.record.get()).unwrap();
                let took = record.get_mut("took").filter(|_| own == at);
                let Some(Value::Object(took)) = took else { return line };
                took.insert("messages".to_owned(), 0.into());
                if !has_link {
                    took.remove("answer");
                }
                let record = raw(&serde_json::to_string(&record).unwrap());
                RawLine { record, messages: Vec::new() }
            }
        };
        let is_answer = whole.lines()[at].contains(r#""answer":{"at""#);
        let with_link = resumed(journal_of(emptied(true)).await).await;
        assert_eq!(with_link.is_err(), is_answer, "an answer without its message, at {at}");
        let emptied = emptied(false);
        let (agent, is_over) = resumed(journal_of(emptied).await).await.unwrap();
        assert!(is_over);
        agent.run("Go on.").await.unwrap();
        assert_history_is_whole(&agent);
    }
}
