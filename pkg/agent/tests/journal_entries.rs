//! What the entries of a journal say, and how often they say it.

use std::sync::{Arc, Mutex, PoisonError};

use super::*;
use crate::Conversation;
use crate::{
    approval::{ApprovalPolicy, Decision},
    journal::{
        Journal, JournalEntry, JournalFuture, JournalLine, JournalStep, JournaledInput,
        MemoryJournal,
    },
    tools::ClientTool,
};
use forgeline_types::Message;

/// A journal that stores messages beside the heads of their entries, as a database does.
#[derive(Clone, Default)]
struct TwoTables {
    entries: Arc<Mutex<Vec<JournalEntry>>>,
    /// `true` for a store that keeps messages as they are, without JSON.
    keeps_values: bool,
}

impl TwoTables {
    fn entries(&self) -> Vec<JournalEntry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn cut(&self, count: usize, keeps_values: bool) -> Self {
        let entries = Arc::new(Mutex::new(self.entries()[..count].to_vec()));
        Self { entries, keeps_values }
    }
}

impl Journal for TwoTables {
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        let line = |entry: &JournalEntry| {
            // A message that was stored is read from its JSON.
            let stored = |message: &Arc<Message>| {
                if self.keeps_values {
                    return Arc::clone(message);
                }
                let json = serde_json::to_string(message).unwrap();
                Arc::new(serde_json::from_str(&json).unwrap())
            };
            JournalLine::new(entry.head()).messages(entry.messages().iter().map(stored))
        };
        let lines = self.entries().iter().map(line).collect();
        Box::pin(std::future::ready(Ok(lines)))
    }
}

const STEER: &str = "Mind the gap.";
const ANSWER: &str = "The gap is 12.5 cm wide.";

fn turns() -> [ScriptedTurn; 3] {
    [
        ScriptedTurn::new()
            .thinking("A gap?")
            .text("I look.")
            // Reading a message writes escapes anew: the digest must not notice.
            .call("echo", r#"{ "text": "12.50 \u20ac \/ \u00e9", "more": 1.50e+3, "more": 0 }"#)
            .call("look", json!({ "big": 12_345_678_901_234_567_890_u64 })),
        ScriptedTurn::new().text(ANSWER),
        ScriptedTurn::new().text("Mended."),
    ]
}

fn agent_of(
    turns: impl IntoIterator<Item = ScriptedTurn>,
    journal: impl Journal + 'static,
) -> Conversation {
    let look = ClientTool::new("look", "Looks.", json!({ "type": "object" }));
    let builder = builder(&ScriptedProvider::new(turns)).tool(look);
    builder
        .approval(ApprovalPolicy::of(["echo"]))
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal)
}

/// Runs a conversation with an approval, a call at the client, and two messages of the user.
async fn run_all(agent: &Conversation) -> Vec<Arc<Message>> {
    let mut stream = agent.run_stream("How wide is it?");
    while let Some(envelope) = stream.next().await {
        match envelope.event {
            AgentEvent::ToolApprovalRequest(request) => {
                stream.steering().steer(STEER).unwrap();
                stream.steering().follow_up("Mend it.").unwrap();
                stream.approvals().answer(&request.approval_id, Decision::Grant).unwrap();
            }
            AgentEvent::ClientToolRequest(request) => {
                stream.complete_client_call(&request.client_call_id, "a gap").unwrap();
            }
            _ => {}
        }
    }
    stream.outcome().await.unwrap().messages
}

#[tokio::test(start_paused = true)]
async fn the_step_of_a_line_is_that_of_its_entry() {
    let journal = TwoTables::default();
    run_all(&agent_of(turns(), journal.clone())).await;
    let (mut requests, mut said) = (0, Vec::new());
    for entry in journal.entries() {
        assert_eq!(JournalLine::read_step(entry.head()).as_ref(), Some(entry.step()));
        assert_eq!(JournalLine::read_step(&entry.to_string()).as_ref(), Some(entry.step()));
        let JournalStep::InputTaken { input, messages, .. } = entry.step() else { continue };
        assert_eq!(*messages, entry.messages().len());
        match input {
            JournaledInput::RequestAnswered { .. } => requests += 1,
            JournaledInput::Steer(message) | JournaledInput::FollowUp(message) => {
                said.push(message.text());
            }
            _ => {}
        }
    }
    assert_eq!((requests, said), (2, vec![STEER.to_owned(), "Mend it.".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_in_its_entry_once_and_not_in_the_head() {
    let journal = TwoTables::default();
    run_all(&agent_of(turns(), journal.clone())).await;
    let count = |text: &str, in_heads: bool| {
        let written = |entry: &JournalEntry| {
            if in_heads { entry.head().to_owned() } else { entry.to_string() }
        };
        journal.entries().iter().map(|entry| written(entry).matches(text).count()).sum::<usize>()
    };
    assert_eq!((count(ANSWER, false), count(ANSWER, true)), (1, 0));
    assert_eq!((count("I look.", false), count("Mended.", false)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_journal_of_two_tables_is_restored_at_any_entry() {
    let journal = TwoTables::default();
    let want = run_all(&agent_of(turns(), journal.clone())).await;
    let entries = journal.entries();
    for count in 1..=entries.len() {
        let lines: Vec<_> = entries[..count].iter().map(ToString::to_string).collect();
        let text = lines.join("\n");
        for keeps_values in [false, true] {
            let of_text = agent_of([], MemoryJournal::from(text.as_str()));
            let of_tables = agent_of([], journal.cut(count, keeps_values));
            let (one, other) = (of_text.resume_stream().await, of_tables.resume_stream().await);
            assert_eq!(one.unwrap().is_some(), other.unwrap().is_some(), "after {count} entries");
            assert_eq!(of_text.transcript(), of_tables.transcript(), "after {count} entries");
        }
    }
    let agent = agent_of([], journal.clone());
    assert!(agent.resume().await.unwrap().is_none());
    assert_eq!(agent.transcript().len(), want.len());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_changed_lost_or_added_beside_its_head_is_found() {
    let journal = TwoTables::default();
    run_all(&agent_of(turns(), journal.clone())).await;
    let read = journal.read().await.unwrap();
    for (at, entry) in journal.entries().iter().enumerate() {
        let messages = entry.messages();
        let other = || Arc::new(Message::user("Forged."));
        let changed = messages.iter().skip(1).cloned().chain([other()]).collect::<Vec<_>>();
        let added = messages.iter().cloned().chain([other()]).collect();
        let lost = messages.iter().skip(1).cloned().collect();
        for messages in [changed, added, lost] {
            if messages == entry.messages() {
                continue;
            }
            let mut lines = read.clone();
            lines[at] = JournalLine::new(entry.head()).messages(messages);
            let agent = agent_of([], Fixed(lines));
            let error = agent.resume().await.unwrap_err().to_string();
            assert!(error.starts_with(&format!("line {} of the journal", at + 1)), "{error}");
        }
    }
}

/// A journal with these lines.
struct Fixed(Vec<JournalLine>);

impl Journal for Fixed {
    fn append(&self, _: &JournalEntry) -> JournalFuture<()> {
        Box::pin(std::future::pending())
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}
