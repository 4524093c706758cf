//! Runs that are put away and resumed.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tokio::time::{Instant, timeout};

use super::*;
use crate::{
    RunOutcome,
    journal::{
        FileJournal, Journal, JournalEntry, JournalError, JournalFuture, JournalLine, MemoryJournal,
    },
    notice::ANSWER_RESTARTED,
};
use forgeline_types::{ErrorCode, Message, Transcript};

/// A conversation with calls that run beside each other, one that fails and an unknown tool.
fn turns() -> Vec<ScriptedTurn> {
    vec![
        ScriptedTurn::new()
            .thinking("Hm.")
            .text("Let me see.")
            .call("add", json!({ "text": "one" }))
            .call("add", json!({ "text": "two" })),
        ScriptedTurn::new().call("nope", json!({})).call("add", json!({})),
        ScriptedTurn::new().text("It is ").text("done."),
    ]
}

/// An agent whose tool counts its calls.
fn agent_of(
    turns: impl IntoIterator<Item = ScriptedTurn>,
    journal: impl Journal + 'static,
    is_idempotent: bool,
) -> (Conversation, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let runs = Arc::clone(&count);
    let tool = tool_fn("add", "Adds a line.", move |context: ToolContext, echo: Echo| {
        runs.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::task::yield_now().await;
            format!("{} {}", echo.text, context.idempotency_key().len() > 10)
        }
    });
    let tool = if is_idempotent { tool.idempotent() } else { tool };
    let builder = Agent::builder(ScriptedProvider::new(turns)).tool(tool);
    (builder.system("Be brief.").build().unwrap().conversation().with_journal(journal), count)
}

async fn whole() -> (RunOutcome, Vec<String>, Transcript) {
    let journal = MemoryJournal::default();
    let (agent, _) = agent_of(turns(), journal.clone(), true);
    let outcome = agent.run("Do it.").await.unwrap();
    (outcome, journal.lines(), agent.transcript())
}

pub(super) fn answers(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.contains("\"answered\"")).count()
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_put_away_at_any_line_ends_as_if_nothing_had_happened() {
    let (want, lines, transcript) = whole().await;
    assert!(lines.len() > 6, "{lines:#?}");
    for is_idempotent in [true, false] {
        for count in 1..=lines.len() {
            let kept = &lines[..count];
            let journal = MemoryJournal::from(kept.to_vec());
            let rest = turns().split_off(answers(kept));
            let (agent, runs) = agent_of(rest, journal.clone(), true);
            if !is_idempotent {
                let (other, _) = agent_of([], journal, false);
                let error = other.resume().await;
                let is_over = count == lines.len();
                assert_eq!(error.is_ok(), is_over, "another agent, at line {count}");
                continue;
            }
            let resumed = agent.resume().await.unwrap();
            assert_eq!(resumed.is_none(), count == lines.len(), "at line {count}");
            if let Some(outcome) = resumed {
                assert_eq!(outcome.text, want.text, "at line {count}");
                assert_eq!(outcome.reason, want.reason);
                assert_eq!((outcome.turns, &outcome.run_id), (want.turns, &want.run_id));
                assert_eq!(outcome.messages, want.messages, "at line {count}");
            }
            assert_eq!(agent.transcript(), transcript, "at line {count}");
            assert!(runs.load(Ordering::SeqCst) <= 2);
            let again = MemoryJournal::from(journal.lines());
            let (agent, _) = agent_of([], again, true);
            assert_eq!(agent.resume().await.unwrap().map(|it| it.text), None, "it is over");
            assert_eq!(agent.transcript(), transcript, "at line {count}");
        }
    }
}

// Covers: T-47
#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_run_does_not_run_again_unless_it_says_so() {
    for (is_idempotent, want) in [(true, "one true"), (false, "This call was interrupted")] {
        let journal = MemoryJournal::default();
        let (agent, _) = agent_of(turns(), journal.clone(), is_idempotent);
        let mut stream = agent.run_stream("Do it.");
        while let Some(envelope) = stream.next().await {
            if matches!(envelope.event, AgentEvent::ToolCall(_)) {
                break;
            }
        }
        drop(stream);
        let lines = journal.lines();
        assert_eq!(answers(&lines), 1);
        let (agent, runs) = agent_of(turns().split_off(1), journal, is_idempotent);
        let outcome = agent.resume().await.unwrap().unwrap();
        let results: Vec<_> = outcome.messages[2].tool_results().collect();
        assert!(results[0].content.starts_with(want), "{results:?}");
        assert_eq!(runs.load(Ordering::SeqCst), if is_idempotent { 2 } else { 0 });
        assert_eq!(outcome.text, "It is done.");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_under_way_is_asked_for_again_and_its_deltas_are_withdrawn() {
    let journal = MemoryJournal::default();
    let turn = ScriptedTurn::new().text("Once upon").hang();
    let (agent, _) = agent_of([turn], journal.clone(), true);
    assert!(timeout(SOON, agent.run("Tell me a story.")).await.is_err(), "it hangs");
    let (agent, _) = agent_of([ScriptedTurn::new().text("Once.")], journal.clone(), true);
    let mut stream = agent.resume_stream().await.unwrap().unwrap();
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        events.push(envelope);
    }
    assert_whole(&events);
    let restarted = format!("{ANSWER_RESTARTED} {}", json!({ "turn": 1, "attempt": 1 }));
    assert_eq!(kinds(&events)[..2], ["busy true".to_owned(), restarted]);
    assert_eq!(stream.outcome().await.unwrap().text, "Once.");
    agent.run("More.").await.unwrap_err();
    let (agent, _) = agent_of([], journal, true);
    assert!(agent.resume().await.unwrap().is_none());
    assert_eq!(agent.transcript().len(), 3, "the second run failed after its input");
}

// Covers: T-67
#[tokio::test(start_paused = true)]
async fn an_edited_journal_is_refused_at_every_byte() {
    let (_, lines, _) = whole().await;
    let lines = &lines[..3];
    for (at, line) in lines.iter().enumerate() {
        for byte in 0..line.len() {
            let mut bytes = line.clone().into_bytes();
            bytes[byte] ^= 1;
            let Ok(edited) = String::from_utf8(bytes) else { continue };
            let mut lines = lines.to_vec();
            lines[at] = edited;
            let (agent, _) = agent_of([], MemoryJournal::from(lines), true);
            let error = agent.resume().await.unwrap_err().error;
            assert_eq!(error.code, ErrorCode::Journal, "byte {byte} of line {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_cannot_be_gone_on_with_says_why() {
    let (_, lines, _) = whole().await;
    let open = || lines[..2].to_vec();
    let mut lost = open();
    lost.remove(0);
    #[rustfmt::skip]
    let cases = [
        ("a lost line", lost,
            "line 1 of the journal, or the one before it, was edited, damaged or lost; use an untouched copy"),
    ];
    for (name, lines, want) in cases {
        let (agent, _) = agent_of([], MemoryJournal::from(lines), true);
        assert_eq!(agent.resume().await.unwrap_err().to_string(), want, "{name}");
    }
    let (agent, _) = agent_of([], MemoryJournal::from(open()), false);
    let error = agent.resume().await.unwrap_err();
    assert!(error.to_string().contains("with other tools: `add` has changed"), "{error}");
    let (agent, _) = agent_of(turns(), MemoryJournal::from(open()), true);
    let error = agent.run("Go.").await.unwrap_err();
    assert!(error.to_string().contains("call `resume` first"), "{error}");
    assert!(agent.transcript().is_empty());
    let agent = Agent::builder(ScriptedProvider::new([])).build().unwrap().conversation();
    let error = agent.resume().await.unwrap_err();
    assert!(error.to_string().contains("has no journal"), "{error}");
}

/// Returns the first line of a journal with another record.
fn first_line(record: &str) -> String {
    with_line(Vec::new(), record).remove(0)
}

/// Adds a line with a record to those of a journal.
pub(super) fn with_line(lines: Vec<String>, record: &str) -> Vec<String> {
    with_messages(lines, record, &[])
}

/// Adds a line with a record and the messages that it added to those of a journal.
fn with_messages(mut lines: Vec<String>, record: &str, messages: &[&str]) -> Vec<String> {
    let last: Option<Value> = lines.last().map(|last| serde_json::from_str(last).unwrap());
    let before =
        last.map_or(0, |last| u64::from_str_radix(last["digest"].as_str().unwrap(), 16).unwrap());
    let number = lines.len() as u64;
    let bytes = [before.to_le_bytes(), number.to_le_bytes()].concat();
    let texts = std::iter::once(&record).chain(messages).flat_map(|text| text.as_bytes());
    let digest = bytes.iter().chain(texts).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let beside = if messages.is_empty() {
        String::new()
    } else {
        format!(r#","messages":[{}]"#, messages.join(","))
    };
    lines.push(format!(r#"{{"n":{number},"digest":"{digest:016x}","record":{record}{beside}}}"#));
    lines
}

#[tokio::test(start_paused = true)]
async fn a_journal_of_another_version_is_refused_by_its_name() {
    let (_, lines, _) = whole().await;
    let (_, record) = lines[0].split_once(r#""record":"#).unwrap();
    let record = record.strip_suffix('}').unwrap();
    assert_eq!(first_line(record), lines[0], "the line as it was written");
    let of = |version: &str| record.replacen(r#""version":7"#, version, 1);
    let cases = [
        (
            of(r#""version":99,"more":true"#),
            "line 1 of the journal has version 99, and this library reads 7",
        ),
        (of(r#""version":8"#), "line 1 of the journal has version 8, and this library reads 7"),
        (of(r#""version":3"#), "line 1 of the journal has version 3, and this library reads 7"),
        (
            of(r#""version":0,"old":1"#),
            "line 1 of the journal has version 0, and this library reads 7",
        ),
        (
            r#"{"forgotten":{}}"#.to_owned(),
            "line 1 of the journal is not a record that this library knows",
        ),
    ];
    for (record, want) in cases {
        let (agent, _) = agent_of([], MemoryJournal::from(vec![first_line(&record)]), true);
        let error = agent.resume().await.unwrap_err();
        assert!(error.to_string().starts_with(want), "{error}");
    }
    for version in 4..=7 {
        let record = of(&format!(r#""version":{version}"#));
        let (agent, _) = agent_of(turns(), MemoryJournal::from(vec![first_line(&record)]), true);
        let outcome = agent.resume().await.unwrap().expect("it is open");
        assert_eq!(outcome.text, "It is done.", "version {version} is read");
    }
}

/// A line of a journal as it is stored.
#[derive(Deserialize)]
struct Stored<'a> {
    #[serde(borrow)]
    record: &'a serde_json::value::RawValue,
    #[serde(borrow, default)]
    messages: Vec<&'a serde_json::value::RawValue>,
}

/// Returns the lines with their records changed.
fn with_records(lines: &[String], change: impl Fn(usize, &str) -> String) -> Vec<String> {
    let mut changed = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let Stored { record, messages } = serde_json::from_str(line).unwrap();
        let messages: Vec<_> = messages.iter().map(|it| it.get()).collect();
        changed = with_messages(changed, &change(number, record.get()), &messages);
    }
    changed
}

/// Returns the lines as a library with this version of the journal has written them.
pub(super) fn of_version(lines: &[String], version: u32) -> Vec<String> {
    let version = format!(r#""version":{version}"#);
    with_records(lines, |_, record| record.replacen(r#""version":7"#, &version, 1))
}

/// Returns the lines with the recorded end of one of them turned over.
fn with_other_end(lines: &[String], at: usize) -> Vec<String> {
    with_records(lines, |number, record| {
        let (is, other) = (r#""done":true"#, r#""done":false"#);
        let (is, other) = if record.contains(is) { (is, other) } else { (other, is) };
        if number == at { record.replacen(is, other, 1) } else { record.to_owned() }
    })
}

#[tokio::test(start_paused = true)]
async fn a_recorded_end_that_the_run_has_not_come_to_is_refused() {
    let journal = MemoryJournal::default();
    let (agent, _) = agent_of([ScriptedTurn::new().text("Done.")], journal.clone(), true);
    let run_id = agent.run("Do it.").await.unwrap().run_id;
    let lines = journal.lines();
    let last = lines.len() - 1;
    assert!(last >= 2, "{lines:#?}");
    for at in 1..=last {
        let edited = with_other_end(&lines, at);
        // A line that says that the run is over is the last one of the run.
        let edited = edited[..=at].to_vec();
        let (agent, _) = agent_of([], MemoryJournal::from(edited), true);
        // The run with this id is replayed even where it has ended.
        let error = agent.reopen(&run_id, |_, _| {}).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Journal, "line {at}: {error}");
        assert!(error.message.contains("does not follow from those before it"), "{error}");
        let (agent, _) = agent_of([], MemoryJournal::from(lines[..=at].to_vec()), true);
        agent.reopen(&run_id, |_, _| {}).await.expect("as it was written");
    }
}

/// A journal that fails, or does not answer, from a line on.
#[derive(Clone)]
pub(super) struct Broken {
    pub(super) left: Arc<Mutex<usize>>,
    pub(super) hangs: bool,
    pub(super) lines: MemoryJournal,
}

impl Journal for Broken {
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
        let mut left = self.left.lock().unwrap();
        if let Some(fewer) = left.checked_sub(1) {
            *left = fewer;
            return self.lines.append(entry);
        }
        if self.hangs {
            return Box::pin(std::future::pending());
        }
        Box::pin(std::future::ready(Err(JournalError::new("the disk is full"))))
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        self.lines.read()
    }
}

// Covers: T-67, T-69
#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_ends_the_run_with_what_had_arrived() {
    let (want, lines, _) = whole().await;
    for hangs in [false, true] {
        for count in 0..lines.len() {
            let left = Arc::new(Mutex::new(count));
            let journal =
                Broken { left: Arc::clone(&left), hangs, lines: MemoryJournal::default() };
            let (agent, _) = agent_of(turns(), journal, true);
            let mut stream = agent.run_stream("Do it.");
            let mut events = Vec::new();
            while let Some(envelope) = stream.next().await {
                events.push(envelope);
            }
            assert_whole(&events);
            let error = stream.outcome().await.unwrap_err();
            assert_eq!(error.error.code, ErrorCode::Journal, "after {count} lines");
            assert!(want.messages.starts_with(
                &error.outcome.messages[..error.outcome.messages.len().saturating_sub(1)]
            ));
            for (at, message) in error.outcome.messages.iter().enumerate() {
                let calls = message.tool_calls().count();
                let results =
                    error.outcome.messages.get(at + 1).map(|it| it.tool_results().count());
                assert!(calls == 0 || results == Some(calls), "after {count} lines");
            }
            *left.lock().unwrap() = usize::MAX;
            assert_no_task_left().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_does_not_wait_for_a_journal() {
    let journal =
        Broken { left: Arc::new(Mutex::new(2)), hangs: true, lines: MemoryJournal::default() };
    let (agent, _) = agent_of(turns(), journal, true);
    let mut stream = agent.run_stream("Do it.");
    let mut events = Vec::new();
    while let Ok(Some(envelope)) = timeout(SOON, stream.next()).await {
        events.push(envelope);
    }
    let started = Instant::now();
    stream.cancel();
    while let Some(envelope) = stream.next().await {
        events.push(envelope);
    }
    assert!(started.elapsed() <= SOON, "{:?}", started.elapsed());
    assert_whole(&events);
    assert_eq!(stream.outcome().await.unwrap_err().error.code, ErrorCode::Cancelled);
}

// Covers: T-66
#[tokio::test]
async fn a_file_that_was_cut_at_any_byte_is_gone_on_with() {
    let folder = std::env::temp_dir().join(format!("forgeline-journal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("whole.jsonl");
    let (agent, _) = agent_of(turns(), FileJournal::new(&path), true);
    let want = agent.run("Do it.").await.unwrap();
    agent.clear().await.unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (first, cleared) = (lines[0].len(), lines[lines.len() - 1].len());
    for cut in (first..bytes.len() - cleared).step_by(bytes.len() / 100) {
        let path = folder.join(format!("cut-{cut}.jsonl"));
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let kept = String::from_utf8_lossy(&bytes[..cut]).into_owned();
        let whole = kept.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let rest =
            turns().split_off(answers(&whole.lines().map(str::to_owned).collect::<Vec<_>>()));
        let (agent, _) = agent_of(rest, FileJournal::new(&path), true);
        let outcome = agent.resume().await.unwrap().unwrap();
        assert_eq!(outcome.messages, want.messages, "cut at {cut}");
        let (agent, _) = agent_of([], FileJournal::new(&path), true);
        assert!(agent.resume().await.unwrap().is_none(), "cut at {cut}");
        assert_eq!(agent.transcript().len(), want.messages.len(), "cut at {cut}");
    }
    let (agent, _) = agent_of([ScriptedTurn::new().text("Hi.")], FileJournal::new(&path), true);
    assert!(agent.resume().await.unwrap().is_none());
    assert!(agent.transcript().is_empty(), "it was cleared");
    agent.run("Hello.").await.unwrap();
    std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"x\n"))
        .unwrap();
    let error = agent.run("Again.").await.unwrap_err();
    assert!(error.to_string().contains("another process has written to it"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

// Covers: T-66
#[tokio::test]
async fn a_text_of_a_journal_is_a_file_and_a_file_is_a_text() {
    let (want, lines, transcript) = whole().await;
    for count in 1..lines.len() {
        let text = MemoryJournal::from(lines[..count].to_vec()).to_string();
        let path = std::env::temp_dir().join(format!("forgeline-text-{}", std::process::id()));
        std::fs::write(&path, &text).unwrap();
        let rest = || turns().split_off(answers(&lines[..count]));
        let (agent, _) = agent_of(rest(), FileJournal::new(&path), true);
        assert_eq!(agent.resume().await.unwrap().unwrap().messages, want.messages);
        let file = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let read = MemoryJournal::from(file.as_str());
        assert_eq!(read.to_string(), file);
        let (agent, _) = agent_of([], read, true);
        assert!(agent.resume().await.unwrap().is_none());
        assert_eq!(agent.transcript(), transcript);
        // What was cut in a line is refused, as text: only a file may have been cut by a crash.
        let cut = text.trim_end().strip_suffix('}').unwrap();
        let (agent, _) = agent_of(rest(), MemoryJournal::from(cut), true);
        let error = agent.resume().await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("line {count} of the journal")), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_dropped_in_this_process_is_followed_by_the_next() {
    let journal = MemoryJournal::default();
    let script = [turns().remove(0), ScriptedTurn::new().text("ok")];
    let (agent, _) = agent_of(script, journal.clone(), true);
    let mut stream = agent.run_stream("Do it.");
    while let Some(envelope) = stream.next().await {
        if matches!(envelope.event, AgentEvent::ToolCall(_)) {
            break;
        }
    }
    drop(stream);
    agent.run(Message::user("Again.")).await.unwrap();
    let (other, _) = agent_of([], journal, true);
    assert!(other.resume().await.unwrap().is_none());
    assert_eq!(other.transcript(), agent.transcript());
}

/// A journal that takes no line.
struct Stuck;

impl Journal for Stuck {
    fn append(&self, _: &JournalEntry) -> JournalFuture<()> {
        Box::pin(std::future::pending())
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[tokio::test(start_paused = true)]
async fn events_are_sent_after_their_journal_entry() {
    let (agent, _) = agent_of(turns(), Stuck, true);
    let mut stream = agent.run_stream("Do it.");
    let heard = timeout(Duration::from_secs(1), stream.next()).await;
    assert!(heard.is_err(), "{heard:?}");
}
