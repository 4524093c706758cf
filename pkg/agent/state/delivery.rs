//! Delivery of the user's messages that arrive during a run.

use std::mem;

use super::{AskKind, CancelReason, RunEffect, RunState, run_state::KEEPS_DENIALS};
use crate::{
    notice::{Notice, SteeredKind, SteeredNotice, UndeliveredNotice},
    steering::UserMessage,
};
use forgeline_types::Message;

impl RunState {
    pub(super) fn hear(&mut self, said: UserMessage, out: &mut Vec<RunEffect>) {
        let inbox = self.inbox.get_or_insert_default();
        match said {
            UserMessage::Steer { message, now } => {
                inbox.steers.push(message);
                // A run has no turn after its last answer to deliver it in.
                let has_next =
                    self.asking().is_some_and(|kind| !matches!(kind, AskKind::LastAnswer(_)));
                if now && has_next && !self.is_cancelled() {
                    out.push(RunEffect::Cut);
                }
            }
            UserMessage::FollowUp { message } => inbox.follow_ups.push_back(message),
            UserMessage::Leave => inbox.leaves = true,
        }
    }

    /// Returns the reason for which the run ends after its calls, once the user has left.
    pub(super) fn leaving(&self) -> Option<CancelReason> {
        self.inbox.as_ref().is_some_and(|inbox| inbox.leaves).then_some(CancelReason::User)
    }

    /// Delivers all steering messages.
    pub(super) fn deliver_steers(&mut self, out: &mut Vec<RunEffect>) {
        let steers = self.inbox.as_mut().map(|inbox| mem::take(&mut inbox.steers));
        for message in steers.unwrap_or_default() {
            self.deliver(SteeredKind::Steer, message, out);
        }
    }

    /// Delivers what waits for the end of the run; returns `true` when the run continues.
    pub(super) fn deliver_at_end(&mut self, out: &mut Vec<RunEffect>) -> bool {
        let Some(inbox) = &mut self.inbox else { return false };
        if !inbox.steers.is_empty() {
            // The next turn delivers them.
            return true;
        }
        let Some(message) = inbox.follow_ups.pop_front() else { return false };
        self.deliver(SteeredKind::FollowUp, message, out);
        true
    }

    /// Returns undelivered messages to the caller, in the outcome and as an event.
    pub(super) fn hand_back(&mut self, out: &mut Vec<RunEffect>) {
        let Some(inbox) = self.inbox.take() else { return };
        self.outcome.undelivered.extend(inbox.into_messages());
        if !self.outcome.undelivered.is_empty() {
            let texts: Vec<_> = self.outcome.undelivered.iter().map(Message::text).collect();
            let notice = Notice::Undelivered(UndeliveredNotice { texts });
            out.push(RunEffect::emit(notice));
        }
    }

    fn deliver(&mut self, kind: SteeredKind, message: Message, out: &mut Vec<RunEffect>) {
        let notice = Notice::Steered(SteeredNotice { kind, text: message.text() });
        out.push(RunEffect::emit(notice));
        if !self.is_before(KEEPS_DENIALS) {
            // The user may have changed their mind, or what calls failed for.
            self.guard.succeeded();
        }
        self.remember(message);
    }
}
