//! Inputs that are not accepted.

use super::{RunState, StepInput, effect::Refusal, run_state::Phase};

impl RunState {
    /// Returns the reason for which an input is not accepted, if there is one.
    pub(super) fn refusal(&self, input: &StepInput) -> Option<Refusal> {
        if self.is_done() {
            return Some(Refusal::Over);
        }
        match input {
            StepInput::Prepared(_) | StepInput::Unprepared(_) => {
                (self.phase != Phase::Preparing).then_some(Refusal::OutOfPhase)
            }
            StepInput::Called(id, _)
            | StepInput::Answered(id, _)
            | StepInput::Fitted(id, _)
            | StepInput::Outgrown(id, _)
            | StepInput::Summed(id, _)
                if *id != self.answer =>
            {
                Some(Refusal::OtherAnswer)
            }
            StepInput::Fitted(..) | StepInput::Outgrown(..) => {
                let may_be = self.asking().is_some() && self.calls.is_empty();
                (!may_be || self.is_cancelled()).then_some(Refusal::OutOfPhase)
            }
            StepInput::Summed(..) => {
                (!matches!(self.phase, Phase::Summarizing(_))).then_some(Refusal::OutOfPhase)
            }
            StepInput::Called(..) => (!self.may_begin_early()).then_some(Refusal::OutOfPhase),
            StepInput::Answered(..) => {
                (!matches!(self.phase, Phase::Asking(_))).then_some(Refusal::OutOfPhase)
            }
            StepInput::Ran(id, _) if id.answer != self.answer => Some(Refusal::OtherAnswer),
            StepInput::Ran(id, _) => {
                (!self.calls.is_running(id.place)).then_some(Refusal::NotRunning)
            }
            StepInput::Decided(id, decided) => {
                (self.approval(*id) != Some(&decided.approval_id)).then_some(Refusal::NotAsked)
            }
            StepInput::Returned(id, returned) => (self.client_call(*id)
                != Some(&returned.client_call_id))
            .then_some(Refusal::NotAtClient),
            StepInput::Resumed | StepInput::Said(_) => None,
            StepInput::Cancelled(_) => self.is_cancelled().then_some(Refusal::Twice),
        }
    }
}
