//! Inputs that are not accepted.

use super::{RunState, StepInput, effect::InputRefusal, run_state::RunPhase};

impl RunState {
    /// Returns the reason for which an input is not accepted, if there is one.
    pub(super) fn refusal(&self, input: &StepInput) -> Option<InputRefusal> {
        if self.is_done() {
            return Some(InputRefusal::Over);
        }
        match input {
            StepInput::Prepared(_) | StepInput::Unprepared(_) => {
                (self.phase != RunPhase::Preparing).then_some(InputRefusal::OutOfPhase)
            }
            StepInput::Called(id, _)
            | StepInput::Answered(id, _)
            | StepInput::ContentRefused(id, _)
            | StepInput::Fitted(id, _)
            | StepInput::Outgrown(id, _)
            | StepInput::Summed(id, _)
                if *id != self.answer =>
            {
                Some(InputRefusal::OtherAnswer)
            }
            StepInput::Fitted(..) | StepInput::Outgrown(..) => {
                let may_be = self.asking().is_some() && self.calls.is_empty();
                (!may_be || self.is_cancelled()).then_some(InputRefusal::OutOfPhase)
            }
            StepInput::Summed(..) => (!matches!(self.phase, RunPhase::Summarizing(_)))
                .then_some(InputRefusal::OutOfPhase),
            StepInput::Called(..) => (!self.may_begin_early()).then_some(InputRefusal::OutOfPhase),
            StepInput::Answered(..) => {
                (!matches!(self.phase, RunPhase::Asking(_))).then_some(InputRefusal::OutOfPhase)
            }
            StepInput::ContentRefused(..) => {
                let may_be = self.asking().is_some() && self.calls.is_empty();
                (!may_be).then_some(InputRefusal::OutOfPhase)
            }
            StepInput::Ran(id, _) if id.answer != self.answer => Some(InputRefusal::OtherAnswer),
            StepInput::Ran(id, _) => {
                (!self.calls.is_running(id.place)).then_some(InputRefusal::NotRunning)
            }
            StepInput::Decided(id, decided) => {
                (self.approval(*id) != Some(&decided.approval_id)).then_some(InputRefusal::NotAsked)
            }
            StepInput::Returned(id, returned) => (self.client_call(*id)
                != Some(&returned.client_call_id))
            .then_some(InputRefusal::NotAtClient),
            StepInput::Resumed | StepInput::Said(_) => None,
            StepInput::Cancelled(_) => self.is_cancelled().then_some(InputRefusal::Twice),
        }
    }
}
