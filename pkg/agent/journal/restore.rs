//! Restoring a conversation and its open run from a journal.

use std::sync::Arc;

use serde::Deserialize;

use super::{
    JournalLine,
    error::RestoreError,
    line::Chain,
    record::{OLDEST_VERSION, Record, ToolMark, VERSION, difference},
};
use crate::{
    approval::SessionGrant,
    memory::repair,
    run::RunContext,
    state::{RunEffect, RunRules, RunState, StepInput, UnixMillis, WindowState, missing_results},
};
use forgeline_types::{AgentEvent, Message, Text};

/// A conversation restored from a journal, with its open run as recorded.
#[derive(Default)]
pub(crate) struct Restored {
    pub(crate) messages: Vec<Arc<Message>>,
    /// The marks of the part of the conversation that is sent.
    pub(crate) marks: Option<Box<WindowState>>,
    /// The messages with which runs started, with the ids of the runs.
    pub(crate) inputs: Vec<(Text, Arc<Message>)>,
    /// The permissions that people gave for later calls, oldest first. They hold for the conversation: what was taken back or cleared has them, too.
    pub(crate) grants: Vec<SessionGrant>,
    open: Option<Run>,
    /// The ids of all runs.
    runs: Vec<Text>,
    pub(crate) chain: Chain,
}

/// A run that had not ended.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub(crate) state: Box<RunState>,
    /// The number of events that had been emitted before the last line.
    pub(crate) events: u64,
    /// The effects of the last input that readers receive, and may not have received.
    pub(crate) untold: Vec<RunEffect>,
    /// The events after that number which readers have received, where they are kept.
    pub(crate) told: Vec<AgentEvent>,
}

/// The version of a record, ignoring its other fields.
#[derive(Deserialize)]
struct Head {
    began: Option<HeadOfRun>,
}

#[derive(Deserialize)]
struct HeadOfRun {
    version: u32,
}

/// A run as read so far.
struct Run {
    tools: Vec<ToolMark>,
    state: Box<RunState>,
    took: Vec<TakenInput>,
    is_done: bool,
}

/// An input that a run accepted.
struct TakenInput {
    /// The number of its line.
    line: u64,
    at: UnixMillis,
    input: StepInput,
    messages: Vec<Arc<Message>>,
    events: u64,
    done: bool,
}

/// The treatment of a run that had not ended, as requested by the reader of the journal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OpenIs<'r> {
    /// The run resumes.
    Resumed,
    /// The run resumes, and so does the run with this id even if it has ended: its end may not have been reported.
    ResumedOr(&'r str),
    /// The run is left as it is; the next run answers its open calls.
    Left,
}

/// Reads the lines of a journal.
pub(crate) fn restore(lines: &[JournalLine], open: OpenIs<'_>) -> Result<Restored, RestoreError> {
    let mut restored = Restored::default();
    let (mut run, mut begin): (Option<Run>, usize) = (None, 0);
    // The runs that have messages, with the indices of their first messages.
    let mut begins: Vec<(Text, usize)> = Vec::new();
    for text in lines {
        let (record, beside) = restored.chain.read(text)?;
        let line = restored.chain.number();
        if let Ok(Head { began: Some(HeadOfRun { version }) }) = serde_json::from_str(&record)
            && !(OLDEST_VERSION..=VERSION).contains(&version)
        {
            return Err(RestoreError::Version { line, found: version, own: VERSION });
        }
        let unfit = RestoreError::Unfit { line };
        let Ok(record) = serde_json::from_str::<Record>(&record) else {
            return Err(RestoreError::Unknown { line });
        };
        match record {
            Record::Began { version, tools, mut state } => {
                state.set_version(version);
                // The open calls of a dropped run are answered by the next run.
                let missing = restored.messages.last().and_then(|last| missing_results(last));
                restored.messages.extend(missing.map(Arc::new));
                restored.marks = state.marks().cloned().map(Box::new);
                begin = restored.messages.len();
                restored.runs.push(state.outcome().run_id.clone());
                run = Some(Run { tools, state, took: Vec::new(), is_done: false });
            }
            Record::Took { at, mut input, answer, messages, events, done } => {
                let Some(run) = run.as_mut().filter(|run| !run.is_done) else { return Err(unfit) };
                let Some(messages) = messages.with(beside) else { return Err(unfit) };
                let is_linked = answer.is_none_or(|it| it.restore(&mut input, &messages).is_some());
                if !is_linked {
                    return Err(unfit);
                }
                if !messages.is_empty() && restored.messages.len() == begin {
                    begins.push((run.state.outcome().run_id.clone(), begin));
                }
                restored.messages.extend(messages.iter().cloned());
                if let StepInput::Decided(_, answer) = &input
                    && let Some(grant) = &answer.grant
                    && !restored.grants.contains(grant)
                {
                    restored.grants.push(grant.clone());
                }
                WindowState::see(&mut restored.marks, &input);
                run.is_done = done;
                run.took.push(TakenInput { line, at, input, messages, events, done });
            }
            Record::Given { messages } => {
                let is_between = run.as_ref().is_none_or(|run| run.is_done);
                let Some(messages) = messages.with(beside).filter(|_| is_between) else {
                    return Err(unfit);
                };
                restored.messages.extend(messages);
                (run, begin) = (None, restored.messages.len());
            }
            Record::Cleared => {
                restored.messages.clear();
                restored.marks = None;
                (run, begin) = (None, 0);
                begins.clear();
            }
            Record::Rewound { run: of } => {
                if !restored.runs.contains(&of) {
                    return Err(unfit);
                }
                // A caller that did not learn of the first rewind has requested it twice.
                let Some(at) = begins.iter().position(|(run, _)| *run == of) else { continue };
                begin = begins.drain(at..).next().map_or(0, |(_, begin)| begin);
                restored.messages.truncate(begin);
                restored.marks = restored.marks.and_then(|marks| marks.before(begin).map(Box::new));
                // The end of a run that has ended may not have been reported.
                run = run.filter(|run| run.is_done);
            }
        }
    }
    let input = |(run, at): (Text, usize)| Some((run, Arc::clone(restored.messages.get(at)?)));
    restored.inputs = begins.into_iter().filter_map(input).collect();
    restored.open = run.filter(|run| match open {
        OpenIs::Resumed => !run.is_done,
        OpenIs::ResumedOr(id) => !run.is_done || run.state.outcome().run_id == *id,
        OpenIs::Left => false,
    });
    restored.repair(begin);
    Ok(restored)
}

impl Restored {
    /// Repairs the messages of runs that had ended. Those of the open run, which start at index
    /// `begin`, are compared with the result of its inputs instead.
    fn repair(&mut self, begin: usize) {
        let ended = if self.open.is_some() { begin } else { self.messages.len() };
        let stored = self.messages.get(..ended).unwrap_or_default();
        let whole = repair(stored);
        let is_same = whole.len() == stored.len()
            && whole.iter().zip(stored).all(|(one, other)| Arc::ptr_eq(one, other));
        if !is_same {
            tracing::warn!("the stored conversation was broken, and is repaired");
            self.messages.splice(..ended, whole);
            // The repair has shifted the indices of messages.
            self.marks = self.marks.take().map(|marks| Box::new(WindowState::scaled(marks.scale)));
        }
    }

    /// Returns `true` when a run with this id has started.
    pub(crate) fn has_begun(&self, run_id: &str) -> bool {
        self.runs.iter().any(|run| run == run_id)
    }

    /// Returns the context of the run that had not ended, if there is one.
    pub(crate) fn open_context(&self) -> Option<&RunContext> {
        self.open.as_ref().map(|run| run.state.context())
    }

    /// Returns `true` for a tool that the open run had when it began.
    pub(crate) fn has_tool(&self, tool_name: &str) -> bool {
        self.open.as_ref().is_some_and(|run| run.tools.iter().any(|tool| tool.name == tool_name))
    }

    /// Restores the values that the open run had in the previous process.
    pub(crate) fn share(&mut self, share: impl FnOnce(&str, &mut RunContext)) {
        if let Some(run) = &mut self.open {
            let id = run.state.outcome().run_id.clone();
            share(&id, run.state.context_mut());
        }
    }

    /// Replays the inputs of the open run, in an agent with these tools.
    pub(crate) fn replay(
        &mut self,
        tools: &[ToolMark],
        rules: &dyn RunRules,
    ) -> Result<Option<OpenRun>, RestoreError> {
        let Some(run) = self.open.take() else { return Ok(None) };
        if let Some(difference) = difference(&run.tools, tools) {
            return Err(RestoreError::OtherAgent { difference });
        }
        replay(run, rules).map(Some)
    }
}

/// Replays the inputs of a run, whose effects have been performed or are outstanding.
fn replay(run: Run, rules: &dyn RunRules) -> Result<OpenRun, RestoreError> {
    let (mut state, mut effects, mut before) = (run.state, Vec::new(), Vec::new());
    let mut told = 0;
    for TakenInput { line, at, input, messages, events, done } in run.took {
        // For an answer in progress, readers keep what was reported up to its last complete call.
        let is_of_answer = matches!(input, StepInput::Called(..) | StepInput::Answered(..));
        if is_of_answer || !state.has_early_calls() {
            told = events;
            effects.clear();
            before = state.running();
        }
        let barrier = effects.len();
        state.step(rules, at, input, &mut effects);
        let fits = match effects.get(barrier) {
            Some(RunEffect::Commit(places)) => {
                state.outcome().messages.get(places.clone()) == Some(&messages[..])
            }
            _ => false,
        };
        if !fits || state.is_done() != done {
            return Err(RestoreError::Unfit { line });
        }
    }
    effects.retain(|effect| {
        // A call that runs again was announced when it ran first.
        let is_new = matches!(effect, RunEffect::Run(id) if !before.contains(id));
        is_new || matches!(effect, RunEffect::Emit(_) | RunEffect::Audit(_))
    });
    Ok(OpenRun { state, events: told, untold: effects, told: Vec::new() })
}
