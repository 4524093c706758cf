//! Conversations that are taken back to before a run.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use tokio::time::timeout;

use super::{
    journal::{Broken, with_line},
    *,
};
use crate::{
    journal::{Journal, JournalEntry, JournalError, JournalFuture, JournalLine, MemoryJournal},
    memory::{ConversationMemory, Memory},
    notice::CONTEXT_SUMMARIZED,
};
use forgeline_llm::Request;
use forgeline_types::{CustomEvent, ErrorCode, Message, MessageRole, Transcript};

/// A model that calls once for each question, and names the question in its answer.
fn model() -> ScriptedProvider {
    ScriptedProvider::from_fn(|request: &Request| {
        if request.system.as_deref().is_some_and(|system| system.starts_with("You shorten")) {
            return ScriptedTurn::new().text("Summary.");
        }
        let said = request.messages.iter().rfind(|it| it.role == MessageRole::User).unwrap().text();
        let last = request.messages.last().unwrap();
        if last.role == MessageRole::Tool || said.starts_with("The limit") {
            return ScriptedTurn::new().text(format!("Answer to {said}"));
        }
        ScriptedTurn::new().call("echo", json!({ "text": format!("{said} {}", "x ".repeat(60)) }))
    })
}

fn journaled(journal: impl Journal + 'static) -> Conversation {
    builder(&model()).build().unwrap().conversation().with_journal(journal)
}

fn texts(messages: &Transcript) -> String {
    messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n")
}

#[tokio::test(start_paused = true)]
async fn rewound_run_is_in_no_later_request() {
    let provider = model();
    // The agent itself says something as the user, at its limit.
    let agent = builder(&provider).max_turns(1).build().unwrap().conversation();
    assert!(agent.rewind().await.unwrap().is_none(), "nothing was said");
    agent.run("First?").await.unwrap();
    let before = agent.transcript();
    agent.run("Second?").await.unwrap();
    let own = |it: &&Arc<Message>| it.role == MessageRole::User && it.text().contains("limit");
    assert_eq!(agent.transcript().iter().filter(own).count(), 2);
    let once = provider.requests();

    let said = agent.rewind().await.unwrap().unwrap();
    assert_eq!(said.text(), "Second?");
    assert_eq!(agent.transcript(), before);
    agent.run((*said).clone()).await.unwrap();
    let again = provider.requests().split_off(once.len());
    let of =
        |requests: &[Request]| requests.iter().map(|it| it.messages.clone()).collect::<Vec<_>>();
    assert_eq!(of(&again), of(&once[once.len() / 2..]), "as if it had not been");

    for left in ["Second?", "First?"] {
        assert_eq!(agent.rewind().await.unwrap().unwrap().text(), left);
    }
    assert!(agent.transcript().is_empty() && agent.rewind().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn rewind_removes_steered_messages() {
    let agent = builder(&model()).build().unwrap().conversation();
    let stream = agent.run_stream("First?");
    stream.steering().follow_up(Message::user("And then?")).unwrap();
    stream.outcome().await.unwrap();
    assert!(texts(&agent.transcript()).contains("Answer to And then?"));
    assert_eq!(agent.rewind().await.unwrap().unwrap().text(), "First?");
    assert!(agent.transcript().is_empty());
}

/// The steps of a conversation: a run, a run that is dropped behind some events, one step back, or several.
#[derive(Debug, Clone, Copy)]
enum Step {
    Run,
    Drop(usize),
    Back,
    BackTo(usize),
    Clear,
}

// Covers: T-66, T-67
#[tokio::test(start_paused = true)]
async fn rewound_conversation_is_equal_in_another_process() {
    use Step::{Back, BackTo, Clear, Drop, Run};
    let conversations = [
        vec![Run, Back],
        vec![Run, Run, Back, Run],
        vec![Run, Run, Run, BackTo(1), Run, Back, Back],
        vec![Run, Run, Run, BackTo(0), Run],
        // Dropped before its input, in the answer, and behind its call.
        vec![Run, Drop(1), Back, Run, Back],
        vec![Run, Drop(4), Back, Run, Back],
        vec![Run, Drop(9), Back, Run],
        vec![Run, Drop(9), Run, Back, Back, Run],
        vec![Drop(1), Back, Run],
        // Starts of runs from before a clear belong to no conversation after it.
        vec![Run, Clear, Run, Back],
        vec![Drop(4), Run, Clear, Run, Run, Back],
        vec![Run, Drop(9), Run, Clear, Run, Run, BackTo(1), Run],
        vec![Run, Run, Clear, Back, Run],
    ];
    for steps in conversations {
        let journal = MemoryJournal::default();
        let agent = journaled(journal.clone());
        for (number, step) in steps.iter().enumerate() {
            let question = format!("Question {number}?");
            match *step {
                Run => drop(agent.run(question).await.unwrap()),
                Drop(events) => {
                    let mut stream = agent.run_stream(question);
                    for _ in 0..events {
                        assert!(stream.next().await.is_some());
                    }
                }
                Back => drop(agent.rewind().await.unwrap()),
                BackTo(run) => {
                    agent.rewind_to(|_| Some(run)).await.unwrap().unwrap();
                }
                Clear => agent.clear().await.unwrap(),
            }
            if matches!(step, Drop(_)) {
                continue;
            }
            let place = format!("{steps:?} at {number}");
            let other = journaled(MemoryJournal::from(journal.lines()));
            assert!(other.resume().await.unwrap().is_none(), "{place}");
            assert_eq!(other.transcript(), agent.transcript(), "{place}");
            // And it goes on there in the same way.
            let before = agent.transcript();
            let back = other.rewind().await.unwrap();
            let begins = before.iter().rposition(|it| Some(it) == back.as_ref());
            let said = before.iter().rposition(|it| it.role == MessageRole::User);
            assert_eq!(begins, said, "{place}: to the last question");
            assert_eq!(other.transcript().len(), begins.unwrap_or(before.len()), "{place}");
            assert!(before.messages().starts_with(other.transcript().messages()), "{place}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn rewound_run_is_not_resumed() {
    let journal = MemoryJournal::default();
    let agent = journaled(journal.clone());
    agent.run("First?").await.unwrap();
    let mut stream = agent.run_stream("Second?");
    while !matches!(stream.next().await.unwrap().event, AgentEvent::ToolCall(_)) {}
    drop(stream);
    let open = journaled(MemoryJournal::from(journal.lines()));
    assert!(open.resume().await.unwrap().is_some(), "it was open");
    assert_eq!(agent.rewind().await.unwrap().unwrap().text(), "Second?");
    let other = journaled(MemoryJournal::from(journal.lines()));
    assert!(other.resume().await.unwrap().is_none());
    assert_eq!(texts(&other.transcript()), texts(&agent.transcript()));
}

#[tokio::test(start_paused = true)]
async fn journal_with_a_rewind_of_an_unknown_run_is_refused() {
    let journal = MemoryJournal::default();
    let agent = journaled(journal.clone());
    agent.run("First?").await.unwrap();
    let lines = with_line(journal.lines(), r#"{"rewound":{"run":"another"}}"#);
    let error = journaled(MemoryJournal::from(lines)).resume().await.unwrap_err();
    assert_eq!(error.error.code, ErrorCode::Journal);
    assert!(error.to_string().contains("does not follow from those before it"), "{error}");
}

/// A journal that keeps each line and says that it could not.
struct Late(MemoryJournal, Arc<AtomicBool>);

impl Journal for Late {
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
        let kept = self.0.append(entry);
        if self.1.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Err(JournalError::new("no answer"))));
        }
        kept
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        self.0.read()
    }
}

#[tokio::test(start_paused = true)]
async fn second_rewind_of_a_run_changes_nothing() {
    let (journal, is_late) = (MemoryJournal::default(), Arc::new(AtomicBool::new(false)));
    let agent = journaled(Late(journal.clone(), Arc::clone(&is_late)));
    for question in ["First?", "Second?", "Third?"] {
        agent.run(question).await.unwrap();
    }
    is_late.store(true, Ordering::SeqCst);
    agent.rewind().await.unwrap_err();
    is_late.store(false, Ordering::SeqCst);
    assert_eq!(agent.rewind().await.unwrap().unwrap().text(), "Third?");
    agent.run("Fourth?").await.unwrap();
    let other = journaled(MemoryJournal::from(journal.lines()));
    assert!(other.resume().await.unwrap().is_none());
    assert_eq!(other.transcript(), agent.transcript());
}

/// The requests of an agent, without those for summaries.
fn sent(provider: &ScriptedProvider) -> Vec<Transcript> {
    let requests = provider.requests();
    let own = requests.iter().filter(|it| it.system.as_deref() == Some("Be brief."));
    own.map(|it| it.messages.clone()).collect()
}

// Covers: G-47, T-68
#[tokio::test(start_paused = true)]
async fn a_window_and_its_summary_are_those_of_the_conversation_that_is_left() {
    let windowed = |provider: &ScriptedProvider, journal: &MemoryJournal| {
        let builder =
            builder(provider).system("Be brief.").max_context_tokens(1_500).summarize_at(60);
        builder.build().unwrap().conversation().with_journal(journal.clone())
    };
    let (mut kept, mut forgotten) = (0, 0);
    for runs in [3, 8, 14, 20] {
        for left in [runs - 1, runs / 2, 1] {
            let (provider, journal) = (model(), MemoryJournal::default());
            let agent = windowed(&provider, &journal);
            let mut has_summed = false;
            for run in 0..runs {
                let mut stream = agent.run_stream(format!("Question {run}?"));
                while let Some(envelope) = stream.next().await {
                    has_summed |= matches!(&envelope.event,
                        AgentEvent::Custom(CustomEvent { name, .. }) if name == CONTEXT_SUMMARIZED);
                }
            }
            agent.rewind_to(|_| Some(left)).await.unwrap().unwrap();
            let lines = journal.lines();
            agent.run("Again?").await.unwrap();
            let last = sent(&provider).pop().unwrap();
            for run in left..runs {
                let answer = format!("Answer to Question {run}?");
                assert!(!texts(&last).contains(&answer), "{runs} runs, {left} left: {last:?}");
            }
            let is_summed = texts(&last).contains("Summary.");
            kept += usize::from(has_summed && is_summed);
            forgotten += usize::from(has_summed && !is_summed);

            let provider = model();
            let other = windowed(&provider, &MemoryJournal::from(lines));
            other.resume().await.unwrap();
            other.run("Again?").await.unwrap();
            assert_eq!(sent(&provider).pop().unwrap(), last, "{runs} runs, {left} left");
        }
    }
    assert!(kept > 0 && forgotten > 0, "{kept} {forgotten}");
}

// Covers: T-67, T-69
#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_leaves_the_conversation() {
    for hangs in [false, true] {
        let left = Arc::new(Mutex::new(usize::MAX));
        let journal = Broken { left: Arc::clone(&left), hangs, lines: MemoryJournal::default() };
        let agent = journaled(journal.clone());
        for question in ["First?", "Second?"] {
            agent.run(question).await.unwrap();
        }
        let (before, lines) = (agent.transcript(), journal.lines.lines());
        *left.lock().unwrap() = 0;
        let error = agent.rewind().await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Journal);
        assert_eq!((agent.transcript(), journal.lines.lines()), (before, lines));
        *left.lock().unwrap() = usize::MAX;
        assert_eq!(agent.rewind().await.unwrap().unwrap().text(), "Second?", "and again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rewind_waits_for_the_run_that_goes_on() {
    let agent = builder(&model()).build().unwrap().conversation();
    agent.run("First?").await.unwrap();
    let mut stream = agent.run_stream("Second?");
    assert!(stream.next().await.is_some());
    assert!(timeout(SOON, agent.rewind()).await.is_err(), "it waits");
    let (said, outcome) = tokio::join!(agent.rewind(), stream.outcome());
    assert!(outcome.is_ok());
    assert_eq!(said.unwrap().unwrap().text(), "Second?");
    assert!(!texts(&agent.transcript()).contains("Second?"));
}

/// A memory of the last messages.
struct Last(usize, Transcript);

impl Memory for Last {
    fn add(&mut self, message: Arc<Message>) {
        self.1.push(message);
        if self.1.len() > self.0 {
            self.1 = self.recent(self.0).iter().cloned().collect();
        }
    }

    fn transcript(&self) -> &Transcript {
        &self.1
    }

    fn clear(&mut self) {
        self.1 = Transcript::default();
    }

    fn fork(&self) -> Box<dyn Memory> {
        Box::new(Self(self.0, Transcript::default()))
    }
}

#[tokio::test(start_paused = true)]
async fn rewind_ignores_dropped_and_given_messages() {
    // A run has four messages.
    for (size, want) in [(3, None), (4, Some("Second?")), (6, Some("Second?"))] {
        let memory = Last(size, Transcript::default());
        let agent = builder(&model()).memory(memory).build().unwrap().conversation();
        for question in ["First?", "Second?"] {
            agent.run(question).await.unwrap();
        }
        let said = agent.rewind().await.unwrap().map(|said| said.text());
        assert_eq!(said.as_deref(), want, "{size}");
        let left = if want.is_some() { size - 4 } else { size };
        assert_eq!(agent.transcript().len(), left, "{size}");
    }
    let given = [Message::user("Old?"), Message::assistant("Yes."), Message::user("Older?")];
    let given: Transcript = given.into_iter().collect();
    let agent = || {
        builder(&model())
            .memory(ConversationMemory::from(given.clone()))
            .build()
            .unwrap()
            .conversation()
    };
    let own = agent();
    assert_eq!(own.rewind().await.unwrap().unwrap().text(), "Older?");
    assert_eq!(texts(&own.transcript()), "Old?\nYes.");
    let own = agent();
    own.run("New?").await.unwrap();
    assert_eq!(own.rewind().await.unwrap().unwrap().text(), "New?");
    assert_eq!(own.transcript(), given);
}

// Rows: N-65
#[tokio::test(start_paused = true)]
async fn given_messages_stay_before_the_runs_and_in_the_journal() {
    let given = || vec![Arc::new(Message::user("Before?")), Arc::new(Message::assistant("Yes."))];
    let journal = MemoryJournal::default();
    let agent = journaled(journal.clone());
    agent.give(given()).await.unwrap();
    agent.run("First?").await.unwrap();
    agent.run("Second?").await.unwrap();
    let whole = agent.transcript();
    assert!(texts(&whole).starts_with("Before?\nYes.\nFirst?\n"), "{}", texts(&whole));
    let other = journaled(MemoryJournal::from(journal.lines()));
    other.reread().await.unwrap();
    assert_eq!(other.transcript(), whole);
    for agent in [agent, other] {
        for want in ["Second?", "First?"] {
            assert_eq!(agent.rewind().await.unwrap().unwrap().text(), want);
        }
        assert_eq!(texts(&agent.transcript()), "Before?\nYes.");
    }
    let last = journaled(MemoryJournal::from(journal.lines()));
    last.reread().await.unwrap();
    assert_eq!(texts(&last.transcript()), "Before?\nYes.");

    // Between the lines of a run, they are of no journal that was written so.
    let open: Vec<_> = journal.lines().into_iter().take(3).collect();
    let record = r#"{"given":{"messages":0}}"#;
    let error = journaled(MemoryJournal::from(with_line(open, record))).reread().await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Journal);
    // A line with other messages than were written is refused.
    let edited =
        journal.lines().iter().map(|line| line.replace("Before?", "Forged?")).collect::<Vec<_>>();
    assert!(journaled(MemoryJournal::from(edited)).reread().await.is_err());
}
