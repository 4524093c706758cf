//! All interleavings of small worlds.
//!
//! Mutants of the state that each turn this test red, tried by hand once: the answer of another attempt
//! is taken; a refused request is sent again for ever, behind a cancel or behind a call; a call that does not run ends; an input is taken after the end; the results of a failed
//! answer's calls are left out; a run goes on after a cancel; calls that are held begin after a cancel,
//! or after a loop-breaking call succeeded; a call runs that a person is asked about, or was not allowed; calls that are cut, or whose arguments do not fit, run; a call
//! at the client ends by another's id, or stays there behind a cancel; the barrier is left out; something of the process is in the state; results are kept as calls end.

use std::{collections::BTreeSet, rc::Rc, sync::Arc};

use super::*;
use crate::{
    approval::{ApprovalAnswer, ApprovalVerdict},
    run::OutcomeKind,
    steering::UserMessage,
};
use forgeline_llm::RefusedContent;
use forgeline_types::{AgentError, CallOutcome, ErrorCode, FinishReason, Json, UsageInfo};

/// A state, and what was asked of its driver and is not answered.
struct World {
    state: RunState,
    prompt: bool,
    asked: Option<(AnswerId, AskKind)>,
    /// The last answer that was asked for.
    answer: AnswerId,
    /// The answer before which the conversation is being summed up.
    summing: Option<AnswerId>,
    /// The times that it may still outgrow its window.
    outgrows: u32,
    /// The refusals of parts of the conversation before this answer; `None` where the provider refuses none.
    refusals: Option<u32>,
    /// The kind of the refusals.
    refused: RefusedContent,
    running: Vec<CallId>,
    /// The calls that a person is asked about, with the ids of the requests.
    proposed: Vec<(CallId, Text)>,
    /// The calls that are at the client, with the ids under which it was asked.
    at_client: Vec<(CallId, Text)>,
    /// The calls that a person has allowed.
    allowed: Vec<CallId>,
    finished: u32,
    /// The crashes that may still be.
    crashes: u32,
    /// The messages of the user that may still come, and those that came.
    says: [usize; 2],
    /// The calls that may be given before their answer has ended, and those that were: the answer they are
    /// of, and their number.
    early: (bool, Option<(usize, usize)>),
    /// The answers of the model, those at a limit, and those of which some calls are given before the end.
    answers: Rc<[ModelAnswer]>,
    last: Rc<[ModelAnswer]>,
    lists: Rc<[ModelAnswer]>,
}

impl World {
    fn new(
        spec: RunSpec,
        crashes: u32,
        says: usize,
        early: bool,
        answers: fn() -> Vec<ModelAnswer>,
    ) -> Self {
        let mut world = Self {
            state: begun(spec),
            prompt: false,
            asked: None,
            answer: AnswerId::default(),
            summing: None,
            outgrows: 0,
            refusals: None,
            refused: RefusedContent::Media,
            running: vec![],
            proposed: vec![],
            at_client: vec![],
            allowed: vec![],
            finished: 0,
            crashes,
            says: [says, 0],
            early: (early, None),
            last: super::worlds::answers().into_iter().take(4).collect(),
            answers: answers().into(),
            lists: LISTS.map(calling).into(),
        };
        let mut effects = Vec::new();
        world.state.pending(&mut effects);
        world.perform(&effects);
        world
    }

    /// Returns this world with another state.
    fn with(&self, state: RunState) -> Self {
        let (running, proposed) = (self.running.clone(), self.proposed.clone());
        let (at_client, allowed) = (self.at_client.clone(), self.allowed.clone());
        let (answers, last) = (Rc::clone(&self.answers), Rc::clone(&self.last));
        let lists = Rc::clone(&self.lists);
        let Self { prompt, asked, answer, summing, outgrows, refusals, .. } = *self;
        let Self { finished, crashes, says, early, refused, .. } = *self;
        #[rustfmt::skip]
        let next = Self {
            state, prompt, asked, answer, summing, outgrows, refusals, refused, running, proposed, at_client,
            allowed, finished, crashes, says, early, answers, last, lists,
        };
        next
    }

    fn perform(&mut self, effects: &[RunEffect]) {
        for effect in effects {
            match effect {
                RunEffect::Prepare => self.prompt = true,
                RunEffect::Ask(id, kind) => {
                    assert_whole(&self.state);
                    let is_other = self.answer != *id;
                    self.answer = *id;
                    self.refusals = self.refusals.map(|count| if is_other { 0 } else { count });
                    assert!(self.asked.replace((*id, *kind)).is_none(), "one answer at a time");
                    assert!(self.running.is_empty(), "no call of an earlier answer runs");
                    assert!(self.at_client.is_empty(), "nor is at the client");
                    self.early.1 = None;
                    self.allowed.clear();
                }
                RunEffect::Summarize(id) => {
                    assert!(self.asked.is_none() && self.summing.replace(*id).is_none());
                    assert!(!self.state.is_cancelled(), "a cancel wins");
                }
                RunEffect::Propose(id) => {
                    let approval_id = self.state.approval(*id).expect("it is asked about");
                    self.proposed.push((*id, approval_id.clone()));
                }
                RunEffect::Withdraw(gone) => {
                    self.proposed.retain(|(_, it)| it != gone);
                    self.at_client.retain(|(_, it)| it != gone);
                }
                RunEffect::Send(id) => {
                    self.assert_may_run(*id, "client");
                    let client_call_id = self.state.client_call(*id).expect("it is at the client");
                    self.at_client.push((*id, client_call_id.clone()));
                }
                RunEffect::Run(id) => {
                    self.assert_may_run(*id, "here");
                    assert!(!self.running.contains(id));
                    self.running.push(*id);
                }
                RunEffect::Finished => {
                    assert_whole(&self.state);
                    self.finished += 1;
                }
                RunEffect::Stop => assert!(!self.running.is_empty(), "something is to stop"),
                RunEffect::Cut => {
                    let kind = self.asked.map(|(_, kind)| kind);
                    let is_last = matches!(kind, None | Some(AskKind::LastAnswer(_)));
                    assert!(!is_last, "no last answer is cut");
                    assert!(!self.state.is_cancelled());
                }
                RunEffect::Commit(_)
                | RunEffect::Emit(_)
                | RunEffect::Failed(_)
                | RunEffect::Audit(_)
                | RunEffect::Grant(_)
                | RunEffect::Refused(_) => {}
            }
        }
    }

    /// Checks that a call which begins may, at this place.
    fn assert_may_run(&self, id: CallId, place: &str) {
        let call = self.state.call(id).expect("a call of this answer");
        assert_eq!(call.name == "client", place == "client", "where its tool says");
        assert!(call.is_complete(), "only complete calls run");
        let arguments = call.arguments.as_ref().unwrap().to_value();
        assert!(Setup::new().check(call, &arguments).is_ok(), "only checked calls run");
        let gate = Setup::new().gate(call, &self.state.grants);
        assert!(gate == CallGate::Run || self.allowed.contains(&id), "no person has allowed it");
    }

    /// Returns the world after an accepted input, and checks what holds for every step.
    fn after(&self, input: &StepInput, state: RunState, effects: &[RunEffect]) -> Self {
        assert!(self.expects(input), "late, foreign or given twice, and taken: {input:?}");
        let mut next = self.with(state);
        let (before, after) = (&self.state.outcome().messages, &next.state.outcome().messages);
        assert_eq!(effects[0], RunEffect::Commit(before.len()..after.len()), "write ahead");
        let barriers = effects.iter().filter(|it| matches!(it, RunEffect::Commit(_)));
        assert_eq!(barriers.count(), 1);
        assert!(!effects.iter().any(|it| matches!(it, RunEffect::Refused(_))));
        if next.state.is_cancelled() {
            let goes_on = |it: &&RunEffect| {
                matches!(
                    it,
                    RunEffect::Ask(..)
                        | RunEffect::Summarize(_)
                        | RunEffect::Run(_)
                        | RunEffect::Propose(_)
                        | RunEffect::Send(_)
                )
            };
            assert_eq!(effects.iter().find(goes_on), None, "a cancel wins");
        }
        if let StepInput::Ran(id, end) = input
            && end.result.is_ok()
            && self.state.call(*id).is_some_and(|call| call.name == "last")
        {
            let begins = effects.iter().find(|it| matches!(it, RunEffect::Run(_)));
            assert_eq!(begins, None, "a loop-breaking call that succeeded is the last");
        }
        match input {
            StepInput::Prepared(_) | StepInput::Unprepared(_) => next.prompt = false,
            StepInput::Called(..) => {
                let (list, given) = next.early.1.unwrap_or((called(input), 0));
                next.early.1 = Some((list, given + 1));
            }
            StepInput::Answered(..) => next.asked = None,
            StepInput::ContentRefused(..) => {
                next.asked = None;
                next.refusals = next.refusals.map(|count| count + 1);
                assert!(next.refusals <= Some(MOST_REFUSALS), "asked again and again");
            }
            StepInput::Fitted(..) | StepInput::Outgrown(..) => {
                (next.asked, next.outgrows) = (None, next.outgrows - 1);
            }
            StepInput::Summed(..) => next.summing = None,
            StepInput::Ran(id, _) => next.running.retain(|it| it != id),
            StepInput::Returned(id, _) => next.at_client.retain(|(it, _)| it != id),
            StepInput::Decided(id, decided) => {
                next.proposed.retain(|(it, _)| it != id);
                if matches!(decided.verdict, ApprovalVerdict::Granted { .. }) {
                    next.allowed.push(*id);
                }
            }
            StepInput::Resumed => {
                (next.prompt, next.asked, next.summing) = (false, None, None);
                next.proposed.clear();
                next.at_client.clear();
                next.running.clear();
                next.crashes -= 1;
            }
            StepInput::Cancelled(_) if next.state.is_done() => next.prompt = false,
            StepInput::Said(_) => {
                next.says[0] -= 1;
                next.says[1] += 1;
            }
            StepInput::Cancelled(_) => {}
        }
        next.perform(effects);
        next.assert_sound();
        next
    }

    /// Returns `true` for an answer to what was asked.
    fn expects(&self, input: &StepInput) -> bool {
        match input {
            StepInput::Prepared(_) | StepInput::Unprepared(_) => self.prompt,
            StepInput::Answered(id, _) => self.asked.is_some_and(|(asked, _)| asked == *id),
            StepInput::Fitted(id, _) | StepInput::Outgrown(id, _) => {
                let is_asked = self.asked.is_some_and(|(asked, _)| asked == *id);
                is_asked
                    && self.outgrows > 0
                    && self.early.1.is_none()
                    && !self.state.is_cancelled()
            }
            StepInput::ContentRefused(id, _) => {
                self.asked.is_some_and(|(asked, _)| asked == *id) && self.early.1.is_none()
            }
            StepInput::Summed(id, _) => self.summing == Some(*id),
            StepInput::Called(id, _) => self.asked.is_some_and(|(asked, kind)| {
                asked == *id && !matches!(kind, AskKind::LastAnswer(_))
            }),
            StepInput::Ran(id, _) => self.running.contains(id),
            StepInput::Decided(id, decided) => {
                self.proposed.iter().any(|(it, its)| it == id && *its == decided.approval_id)
            }
            StepInput::Returned(id, returned) => {
                self.at_client.iter().any(|(it, its)| it == id && *its == returned.client_call_id)
            }
            StepInput::Resumed | StepInput::Said(_) => !self.state.is_done(),
            StepInput::Cancelled(_) => !self.state.is_cancelled() && !self.state.is_done(),
        }
    }

    fn assert_sound(&self) {
        let is_outside = !self.proposed.is_empty() || !self.at_client.is_empty();
        let is_calling = !self.running.is_empty() || is_outside;
        let is_asking = self.asked.is_some() || self.summing.is_some();
        let is_open = self.prompt || is_asking || is_calling;
        assert_eq!(is_open, !self.state.is_done(), "never stuck, and nothing runs at the end");
        assert_eq!(self.finished, u32::from(self.state.is_done()), "finished once");
        let mut pending = Vec::new();
        self.state.pending(&mut pending);
        let mut wanted: Vec<_> = self.prompt.then_some(RunEffect::Prepare).into_iter().collect();
        wanted.extend(self.asked.map(|(id, kind)| RunEffect::Ask(id, kind)));
        wanted.extend(self.summing.map(RunEffect::Summarize));
        let mut running = self.running.clone();
        running.sort_unstable_by_key(|id| id.place);
        wanted.extend(running.into_iter().map(RunEffect::Run));
        let waits = self.asked.is_none() && self.running.is_empty() && is_outside;
        assert_eq!(self.state.waits_for_others(), waits, "its time is not the run's");
        let in_order = |list: &[(CallId, Text)]| {
            let mut ids: Vec<_> = list.iter().map(|(id, _)| *id).collect();
            ids.sort_unstable_by_key(|id| id.place);
            ids.into_iter()
        };
        wanted.extend(in_order(&self.proposed).map(RunEffect::Propose));
        wanted.extend(in_order(&self.at_client).map(RunEffect::Send));
        assert_eq!(pending, wanted, "what is pending was issued and is not answered");
        let (outcome, inbox) = (self.state.outcome(), self.state.inbox.clone().unwrap_or_default());
        let mut words: Vec<_> = inbox.into_messages().map(|message| message.text()).collect();
        words.extend(outcome.messages.iter().map(|message| message.text()));
        words.extend(outcome.undelivered.iter().map(Message::text));
        let said = words.iter().filter(|text| *text == SAID).count();
        assert_eq!(said, self.says[1], "what was said is kept once");
        let reason = &self.state.outcome().reason;
        if self.state.is_done() && self.state.is_cancelled() {
            assert!(matches!(reason, OutcomeKind::Failed { .. }), "{reason:?}");
        }
        assert!(self.state.outcome().turns <= self.state.spec.max_turns + 1);
    }

    /// The inputs that the world may give, and those that are late, foreign or given twice.
    fn inputs(&self) -> Vec<StepInput> {
        let mut inputs = vec![
            StepInput::Prepared("You help.".into()),
            StepInput::Unprepared(AgentError::new(ErrorCode::Internal, "no clock")),
            StepInput::Cancelled(CancelReason::User),
            StepInput::Ran(
                CallId { answer: AnswerId::default(), place: 0 },
                Box::new(ended(Ok("late"))),
            ),
            StepInput::Answered(AnswerId { turn: 1, attempt: 7 }, Box::new(saying("foreign"))),
        ];
        if self.says[0] > 0 {
            let message = || Message::user(SAID);
            inputs.extend([
                StepInput::Said(UserMessage::Steer { message: message(), now: true }),
                StepInput::Said(UserMessage::FollowUp { message: message() }),
            ]);
        }
        if self.crashes > 0 {
            inputs.push(StepInput::Resumed);
        }
        let turn = self.state.answer;
        if self.outgrows > 0 || self.summing.is_some() {
            let is_over = self.outgrows == 0;
            let begins =
                |it: &StepInput| matches!(it, StepInput::Fitted(..) | StepInput::Outgrown(..));
            inputs.extend(outgrown(turn).into_iter().filter(|it| !is_over || !begins(it)));
        }
        if self.refusals.is_some() {
            inputs.extend(refused(turn, self.refused));
        }
        // What the last answer says decides little.
        let is_last = matches!(self.asked, Some((_, AskKind::LastAnswer(_))));
        let kinds = match self.early.1.filter(|_| self.asked.is_some()) {
            Some((list, given)) => answers_behind(list, given),
            None if is_last => self.last.to_vec(),
            None => self.answers.to_vec(),
        };
        let answered = |answer| StepInput::Answered(turn, Box::new(answer));
        inputs.extend(kinds.into_iter().map(answered));
        if self.early.0 {
            let lists = self.early.1.map_or(0..LISTS.len(), |(list, _)| list..list + 1);
            let at = self.early.1.map_or(0, |(_, given)| given);
            let calls = lists.filter_map(|list| self.lists[list].calls.get(at).cloned());
            inputs.extend(calls.map(|call| StepInput::Called(turn, sealed(call))));
            let foreign = AnswerId { turn: 1, attempt: 7 };
            let call = self.lists[0].calls[0].clone();
            inputs.push(StepInput::Called(foreign, sealed(call)));
        }
        for (id, approval_id) in &self.proposed {
            let answered = |approval_id: Text, verdict| {
                StepInput::Decided(*id, Box::new(ApprovalAnswer::new(approval_id, verdict)))
            };
            let decided = |verdict| answered(approval_id.clone(), verdict);
            let granted = |always, arguments| ApprovalVerdict::Granted { always, arguments };
            let other = |text: &str| Some(Json::from(json!({ "text": text })));
            inputs.extend([
                decided(granted(false, None)),
                decided(granted(true, other("ask another"))),
                decided(granted(false, other("bad"))),
                decided(ApprovalVerdict::Rejected { reason: String::new() }),
                answered("forged".into(), granted(true, None)),
            ]);
        }
        for (id, client_call_id) in &self.at_client {
            let returned = |client_call_id: Text, end, is_withdrawn| {
                let returned = ReturnedCall { client_call_id, end: ended(end), is_withdrawn };
                StepInput::Returned(*id, Box::new(returned))
            };
            inputs.extend([
                returned(client_call_id.clone(), Ok("ok"), false),
                returned(client_call_id.clone(), Err(FailureKind::TimedOut), true),
                returned("forged".into(), Ok("forged"), false),
            ]);
            // The place of another call does not make its id another.
            let other = CallId { place: id.place + 1, ..*id };
            let (client_call_id, end) = (client_call_id.clone(), ended(Ok("foreign")));
            let foreign = ReturnedCall { client_call_id, end, is_withdrawn: false };
            inputs.push(StepInput::Returned(other, Box::new(foreign)));
        }
        for place in 0..3 {
            let id = CallId { answer: turn, place };
            for end in [Ok("ok"), Err(FailureKind::Failed)] {
                inputs.push(StepInput::Ran(id, Box::new(ended(end))));
            }
        }
        inputs
    }
}

/// The words of the user.
const SAID: &str = "Otherwise.";

/// The calls of answers of which some are given before the end.
const LISTS: [&[(&str, &str)]; 3] = [
    &[("client", "a"), ("free", "b"), ("free", "c")],
    &[("free", "d"), ("last", "b"), ("free", "c")],
    &[("nope", "e"), ("alone", "b"), ("free", "bad")],
];

/// Returns the number of the answer that a call is of.
fn called(input: &StepInput) -> usize {
    let StepInput::Called(_, sealed) = input else { panic!("no call: {input:?}") };
    let is_of = |calls: &&[(&str, &str)]| calling(calls).calls.contains(&sealed.call);
    LISTS.iter().position(is_of).expect("a known call")
}

fn sealed(call: ToolCall) -> Box<CompleteCall> {
    let message = Message::new(MessageRole::Assistant, vec![Part::ToolCall(call.clone())]);
    let message = Some(Arc::new(message));
    Box::new(CompleteCall { call, body_bytes: 2, message, ends: Vec::new() })
}

/// Returns the ends of an answer of which some calls are given.
fn answers_behind(list: usize, given: usize) -> Vec<ModelAnswer> {
    let so_far = || calling(&LISTS[list][..given]);
    let mut cut = calling(LISTS[list]);
    cut.calls.truncate(given + 1);
    if let Some(last) = cut.calls.get_mut(given) {
        last.outcome = CallOutcome::Incomplete;
    }
    let parts = cut.calls.iter().cloned().map(Part::ToolCall).collect();
    cut.message = Some(Arc::new(Message::new(MessageRole::Assistant, parts)));
    cut.error = Some(AgentError::new(ErrorCode::EndedEarly, "cut"));
    let finished = |reason| ModelAnswer { finish_reason: Some(reason), ..so_far() };
    let ends = [FinishReason::Interrupted, FinishReason::Repetition, FinishReason::Pause];
    let mut answers: Vec<_> = ends.into_iter().map(finished).collect();
    answers.extend([so_far(), cut, calling(LISTS[list])]);
    answers
}

/// Returns what may be found out of the size of the conversation before an answer, and the ends of a summary.
fn outgrown(id: AnswerId) -> Vec<StepInput> {
    let mut marks = WindowState::default();
    marks.first = 1;
    let fitted =
        WindowCut { marks, messages: 1, results: 0, tokens: 5, tokens_before: 9, is_forced: false };
    let outgrown = SummaryRange { first: 1, pinned: None, tokens: 9 };
    let usage = Some(UsageInfo::default().output_tokens(7));
    let ended = |result| {
        StepInput::Summed(id, Box::new(SummaryEnd { result, requests: 1, usage, cost: None }))
    };
    let text = "They met.".to_owned();
    vec![
        StepInput::Fitted(id, Box::new(fitted)),
        StepInput::Outgrown(id, outgrown),
        ended(Ok(ConversationSummary {
            text,
            outside: OutsideSources::None,
            messages: 1,
            tokens: 5,
        })),
        ended(Err(AgentError::new(ErrorCode::Overloaded, "busy"))),
        StepInput::Outgrown(AnswerId { turn: 1, attempt: 7 }, outgrown),
    ]
}

/// Returns the refusal of a part of the conversation, and one before another answer.
fn refused(id: AnswerId, content: RefusedContent) -> [StepInput; 2] {
    let refused = |id| {
        let error = AgentError::new(ErrorCode::InvalidRequest, "refused");
        let is_context = matches!(content, RefusedContent::Context { .. });
        let places = if is_context { vec![] } else { vec![0] };
        let refusal =
            ContentRefusal { content, places, model: "model".into(), estimated: 9, error };
        StepInput::ContentRefused(id, Box::new(refusal))
    };
    [refused(id), refused(AnswerId { turn: 1, attempt: 7 })]
}

/// The most refusals before one answer: as many as help, and one that does not.
const MOST_REFUSALS: u32 = 2 + 1;

/// Returns an answer, and one with a call.
fn two_answers() -> Vec<ModelAnswer> {
    vec![saying("done"), calling(&[("free", "a")])]
}

/// Returns an answer, and one with calls of which a person is asked about one.
fn few_answers() -> Vec<ModelAnswer> {
    vec![saying("done"), calling(&[("free", "a"), ("free", "ask b")])]
}

/// Returns answers with calls that a person is asked about.
fn asking_answers() -> Vec<ModelAnswer> {
    vec![
        saying("done"),
        calling(&[("free", "ask a"), ("free", "b"), ("free", "ask c")]),
        calling(&[("alone", "ask a"), ("last", "ask b"), ("free", "c")]),
    ]
}

/// Returns answers with calls that run at the client.
fn client_answers() -> Vec<ModelAnswer> {
    vec![
        saying("done"),
        calling(&[("client", "a"), ("free", "b"), ("client", "ask c")]),
        calling(&[("client", "d"), ("last", "b"), ("client", "bad")]),
    ]
}

fn answers() -> Vec<ModelAnswer> {
    let failed = ModelAnswer {
        error: Some(AgentError::new(ErrorCode::EndedEarly, "cut")),
        told: true,
        ..calling(&[("free", "a")])
    };
    let mut cut = calling(&[("free", "a"), ("free", "b")]);
    cut.calls[1].outcome = CallOutcome::Incomplete;
    let paused = ModelAnswer { finish_reason: Some(FinishReason::Pause), ..saying("wait") };
    let interrupted =
        ModelAnswer { finish_reason: Some(FinishReason::Interrupted), ..calling(&[("free", "a")]) };
    let repeated = ModelAnswer { finish_reason: Some(FinishReason::Repetition), ..saying("again") };
    let half = ModelAnswer { finish_reason: Some(FinishReason::Length), ..saying("half") };
    vec![
        saying("done"),
        ModelAnswer::default(),
        half,
        failed,
        cut,
        paused,
        interrupted,
        repeated,
        calling(&[("free", "a"), ("free", "b"), ("free", "c")]),
        calling(&[("free", "a"), ("last", "b"), ("free", "c")]),
        calling(&[("alone", "a"), ("nope", "b"), ("free", "bad")]),
    ]
}

/// Visits every state that inputs lead to; returns how many there are and how many of them are ends.
fn explore(
    spec: RunSpec,
    crashes: u32,
    says: usize,
    early: bool,
    answers: fn() -> Vec<ModelAnswer>,
) -> (usize, usize) {
    explore_from(World::new(spec, crashes, says, early, answers))
}

fn explore_from(world: World) -> (usize, usize) {
    let saved = bytes(&world.state);
    let mut open = vec![(world, saved)];
    let (mut seen, mut ends) = (BTreeSet::new(), 0);
    while let Some((world, saved)) = open.pop() {
        let is_over = world.state.is_done();
        ends += usize::from(is_over);
        let mut broken = world.state.clone();
        let error = AgentError::new(ErrorCode::Journal, "full");
        broken.abort(&Setup::new(), error, &mut Vec::new());
        assert_whole(&broken);
        assert!(broken.is_done(), "a run whose journal failed is over");
        let restored: RunState = serde_json::from_str(&saved).unwrap();
        // What is refused changes nothing, so one state sees each refusal.
        let mut refuses = world.state.clone();
        for input in world.inputs() {
            if !world.expects(&input) {
                let effects = step(&mut refuses, input.clone());
                let is_refused = matches!(effects[..], [RunEffect::Refused(_)]);
                assert!(is_refused, "late, foreign or given twice, and taken: {input:?}");
                continue;
            }
            let mut state = world.state.clone();
            let effects = step(&mut state, input.clone());
            let after = bytes(&state);
            if let [RunEffect::Refused(_)] = effects[..] {
                assert_eq!(saved, after, "a refused input changes nothing");
                continue;
            }
            assert!(!is_over, "the end is the end");
            let mut again = restored.clone();
            assert_eq!(step(&mut again, input.clone()), effects, "equal input, equal effects");
            assert_eq!(bytes(&again), after, "equal input, equal bytes");
            let next = world.after(&input, state, &effects);
            if !seen.contains(&after) {
                seen.insert(after.clone());
                open.push((next, after));
            }
        }
        assert_eq!(saved, bytes(&refuses), "refused inputs change nothing");
    }
    (seen.len(), ends)
}

#[test]
fn every_interleaving_keeps_the_invariants_and_is_never_stuck() {
    let small = RunSpec { max_turns: 1, ..spec() };
    let fails = RunSpec { at_limit: AtLimit::Fail, max_parallel_calls: 8, ..small };
    for (crashes, says, early, spec) in [
        (2, 0, false, fails),
        (1, 0, false, small),
        (1, 1, false, small),
        (
            0,
            1,
            false,
            RunSpec { no_tool_call: NoToolCall::Nudge(1), max_parallel_calls: 1, ..small },
        ),
        (1, 0, false, RunSpec { breaker_failures: 1, ..small }),
        (0, 0, false, RunSpec { breaker_failures: 2, ..spec() }),
        (1, 0, true, fails),
        (0, 1, true, fails),
        (0, 0, true, small),
        (0, 0, true, RunSpec { breaker_failures: 1, ..small }),
    ] {
        let (states, ends) = explore(spec, crashes, says, early, answers);
        assert!(states > 60 && ends > 30, "{states} states, {ends} ends of {spec:?}");
    }
}

#[test]
fn no_interleaving_runs_a_call_that_nobody_has_allowed() {
    let small = RunSpec { max_turns: 1, ..spec() };
    for (crashes, says, spec) in
        [(1, 0, small), (0, 1, small), (0, 0, RunSpec { breaker_failures: 1, ..spec() })]
    {
        for answers in [asking_answers, client_answers] {
            let (states, ends) = explore(spec, crashes, says, false, answers);
            assert!(states > 60 && ends > 30, "{states} states, {ends} ends of {spec:?}");
        }
    }
}

#[test]
fn a_summary_before_an_answer_keeps_the_invariants() {
    let small = RunSpec { max_turns: 1, ..spec() };
    let tight = RunSpec { budget: Budget::default().tokens(5), ..small };
    for (crashes, says, spec) in [(1, 0, small), (0, 1, small), (0, 0, tight)] {
        let mut world = World::new(spec, crashes, says, false, few_answers);
        world.outgrows = 2;
        let (states, ends) = explore_from(world);
        assert!(states > 60 && ends > 30, "{states} states, {ends} ends of {spec:?}");
    }
}

#[test]
fn a_refused_part_of_the_conversation_keeps_the_invariants() {
    let small = RunSpec { max_turns: 1, ..spec() };
    let context = RefusedContent::context(Some(8), Some(9));
    for (refused, crashes, says, early) in [
        (context, 1, 0, false),
        (RefusedContent::Media, 0, 1, false),
        (RefusedContent::Proof, 0, 0, true),
    ] {
        let mut world = World::new(small, crashes, says, early, two_answers);
        (world.refusals, world.refused) = (Some(0), refused);
        let (states, ends) = explore_from(world);
        assert!(states > 30 && ends > 10, "{states} states, {ends} ends of {refused:?}");
    }
}
