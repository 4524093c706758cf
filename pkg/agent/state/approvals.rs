//! Calls that wait for a person's approval.

use super::{
    AnswerId, CallFailure, CallId, FailureKind, RunEffect, RunRules, RunState, StepInput, ToolEnd,
    answer_calls::{AnswerCalls, CallPolicy, CallState, RunCall},
    run_state::RunPhase,
};
use crate::{
    approval::{ApprovalAnswer, ApprovalVerdict, SessionGrant},
    prompts::feedback,
    steering::DeskStage,
    support::digest,
};
use forgeline_types::{
    AgentEvent, Json, Text, ToolApprovalEvent, ToolApprovalRejectedEvent, ToolCall,
};

/// Returns the id of a request, which is bound to the request's kind, the run, the call and its arguments.
pub(super) fn request_id(kind: &str, run_id: &str, call_id: CallId, call: &ToolCall) -> Text {
    let CallId { answer: AnswerId { turn, attempt }, place } = call_id;
    let head = format!("{kind}{run_id}\0{turn}\0{attempt}\0{place}\0{}\0", call.name);
    let arguments = call.arguments.as_ref().map_or(&*call.arguments_raw, Json::as_str);
    format!("{:016x}", digest(head.as_bytes().iter().chain(arguments.as_bytes()))).into()
}

impl RunCall {
    /// Requests a person's approval of the call.
    pub(super) fn ask(&mut self, run_id: &str, call_id: CallId, out: &mut Vec<RunEffect>) {
        self.state = CallState::Asked(request_id("", run_id, call_id, &self.made));
        out.push(RunEffect::Propose(call_id));
    }

    /// Withdraws the approval request for the call at `place`, if there is one.
    pub(super) fn withdraw(&mut self, place: usize, out: &mut Vec<RunEffect>) {
        let CallState::Asked(approval_id) = &self.state else { return };
        let approval_id = approval_id.clone();
        self.state = CallState::Held;
        // A request made in this same step has not been seen by anyone.
        let is_it =
            |effect: &RunEffect| matches!(effect, RunEffect::Propose(id) if id.place == place);
        if let Some(at) = out.iter().position(is_it) {
            out.remove(at);
            return;
        }
        let (id, tool_name) = (self.made.id.clone(), self.made.name.clone());
        out.push(RunEffect::Withdraw(approval_id.clone()));
        let event =
            AgentEvent::ToolApprovalCancelled(ToolApprovalEvent::new(approval_id, id, tool_name));
        out.push(RunEffect::emit(event));
    }

    /// Returns the event for the verdict, and the text that the model reads when the call does not run.
    fn told(&self, approval_id: &Text, verdict: &ApprovalVerdict) -> (AgentEvent, Option<String>) {
        let approval_id = approval_id.clone();
        let (id, tool_name) = (self.made.id.clone(), self.made.name.clone());
        let (reason, why) = match verdict {
            ApprovalVerdict::Granted { .. } => {
                return (
                    AgentEvent::ToolApprovalGranted(ToolApprovalEvent::new(
                        approval_id,
                        id,
                        tool_name,
                    )),
                    None,
                );
            }
            ApprovalVerdict::TimedOut(limit) => {
                let why = feedback::unanswered(&tool_name, *limit);
                return (
                    AgentEvent::ToolApprovalTimeout(ToolApprovalEvent::new(
                        approval_id,
                        id,
                        tool_name,
                    )),
                    Some(why),
                );
            }
            ApprovalVerdict::Rejected { reason } => {
                (reason.clone(), feedback::rejected(&tool_name, reason))
            }
            ApprovalVerdict::Undecided { reason } => {
                (reason.clone(), feedback::undecided(&tool_name, reason))
            }
            ApprovalVerdict::Unasked => {
                let reason = "there is no one to ask; give the agent an approver";
                (reason.to_owned(), feedback::unasked(&tool_name))
            }
            ApprovalVerdict::NotShown(problem) => {
                let reason = format!("what it would do could not be shown: {problem}");
                (reason, feedback::not_shown(&tool_name, problem))
            }
            ApprovalVerdict::Changed => {
                let reason = "what it would do has changed since it was shown";
                (reason.to_owned(), feedback::changed_since_shown(&tool_name))
            }
        };
        (
            AgentEvent::ToolApprovalRejected(
                ToolApprovalRejectedEvent::new(approval_id, id, tool_name).reason(reason),
            ),
            Some(why),
        )
    }
}

impl AnswerCalls {
    /// Returns the places of the calls that wait for approval.
    pub(super) fn asked(&self) -> impl Iterator<Item = usize> {
        let is_asked = |call: &RunCall| matches!(call.state, CallState::Asked(_));
        self.iter().enumerate().filter(move |(_, call)| is_asked(call)).map(|(place, _)| place)
    }

    /// Returns the id of the approval request for the call at `place`, if it waits for approval.
    pub(super) fn approval(&self, place: usize) -> Option<&Text> {
        let CallState::Asked(approval_id) = &self.iter().nth(place)?.state else { return None };
        Some(approval_id)
    }

    /// Applies the verdict on a call: the call runs or ends.
    pub(super) fn decide(
        &mut self,
        place: usize,
        verdict: ApprovalVerdict,
        around: &CallPolicy<'_>,
        out: &mut Vec<RunEffect>,
    ) {
        let Some(call) = self.get_mut(place) else { return };
        let CallState::Asked(approval_id) = &call.state else { return };
        let (event, why) = call.told(approval_id, &verdict);
        out.push(RunEffect::emit(event));
        if let Some(why) = why {
            let failure = match verdict {
                ApprovalVerdict::TimedOut(_) => FailureKind::TimedOut,
                // The same call may be decided about when it is made again.
                ApprovalVerdict::Undecided { .. } | ApprovalVerdict::Changed
                    if around.keeps_denials =>
                {
                    FailureKind::Undecided
                }
                ApprovalVerdict::Granted { .. }
                | ApprovalVerdict::Rejected { .. }
                | ApprovalVerdict::Undecided { .. }
                | ApprovalVerdict::Unasked
                | ApprovalVerdict::NotShown(_)
                | ApprovalVerdict::Changed => FailureKind::Denied,
            };
            return call.end(ToolEnd::refused(CallFailure(failure, why)), out);
        }
        if let Some(refusal) = call.unchangeable(&verdict) {
            return call.end(ToolEnd::refused(refusal), out);
        }
        if let ApprovalVerdict::Granted { arguments: Some(arguments), .. } = verdict {
            call.change(arguments);
            call.fit(around.rules);
        }
        // The conditions may have changed since the person was asked, so the call is checked again.
        let (digest, checked) = around.check(call);
        call.start(digest, checked, place, around, out);
    }
}

impl RunState {
    /// Adds the permission that an input gives for later calls, so that whoever reads the journal knows it without the tools.
    pub(crate) fn note_grant(&self, rules: &dyn RunRules, input: &mut StepInput) {
        if let StepInput::Decided(id, answer) = input
            && answer.grant.is_none()
        {
            answer.grant = self.grant_of(rules, *id, &answer.verdict);
        }
    }

    /// Returns the permission that a verdict on a call gives for later calls, if any.
    fn grant_of(
        &self,
        rules: &dyn RunRules,
        id: CallId,
        verdict: &ApprovalVerdict,
    ) -> Option<SessionGrant> {
        let ApprovalVerdict::Granted { always: true, arguments } = verdict else { return None };
        let mut call = self.call(id)?.clone();
        call.arguments = arguments.clone().or(call.arguments);
        call.arguments = rules.fitted(&call).or(call.arguments);
        Some(SessionGrant { tool: call.name.clone(), pattern: rules.grant_pattern(&call) })
    }

    /// Applies a person's verdict on a call.
    pub(super) fn decided(
        &mut self,
        rules: &dyn RunRules,
        id: CallId,
        answer: ApprovalAnswer,
        out: &mut Vec<RunEffect>,
    ) {
        let ApprovalAnswer { verdict, grant, .. } = answer;
        let grant = grant.or_else(|| self.grant_of(rules, id, &verdict));
        if let Some(grant) = grant
            && !self.grants.contains(&grant)
        {
            self.grants.push(grant.clone());
            out.push(RunEffect::Grant(grant));
        }
        let (calls, around) = self.around(rules);
        calls.decide(id.place, verdict, &around, out);
    }

    /// Returns the id of the approval request for a call of the current answer.
    pub(crate) fn approval(&self, id: CallId) -> Option<&Text> {
        self.calls.approval(id.place).filter(|_| id.answer == self.answer)
    }

    /// Returns the ids of the open requests, both approval requests and calls at the client.
    pub(crate) fn requests(&self) -> Vec<Text> {
        let asked = self.calls.asked().filter_map(|place| self.calls.approval(place));
        let sent = self.calls.at_client().filter_map(|place| self.calls.client_call(place));
        asked.chain(sent).cloned().collect()
    }

    /// Appends the effects for the open requests.
    pub(super) fn request_again(&self, out: &mut Vec<RunEffect>) {
        let id = |place| CallId { answer: self.answer, place };
        out.extend(self.calls.asked().map(id).map(RunEffect::Propose));
        out.extend(self.calls.at_client().map(id).map(RunEffect::Send));
    }

    /// Returns what the run waits for.
    pub(crate) fn stage(&self) -> DeskStage {
        match self.phase {
            RunPhase::Calling if self.waits_for_others() => DeskStage::Others,
            RunPhase::Calling => DeskStage::Calls,
            RunPhase::Preparing
            | RunPhase::Asking(_)
            | RunPhase::Summarizing(_)
            | RunPhase::Done => DeskStage::Model,
        }
    }

    /// Returns `true` while the run waits only for a person or the client.
    pub(super) fn waits_for_others(&self) -> bool {
        let mut others = self.calls.asked().chain(self.calls.at_client());
        self.asking().is_none() && self.calls.running().next().is_none() && others.next().is_some()
    }
}
