//! The reader and the client.

use super::Moves;
use crate::{
    rules::Rule,
    state::{Client, Journal, NodeId, Reader, Reading, State},
    step::{Fault, Step},
};

impl Moves<'_> {
    /// Adds the steps of the reader.
    pub(super) fn reader(&mut self) {
        let Some(reader) = self.from.reader else { return };
        let other = reader.node.other();
        let moved = Some(Reader { node: other, phase: Reading::Fresh, ..reader });
        if self.from.node(other).is_running() {
            if self.from.node(reader.node).is_running() {
                self.fault(Fault::Move, Step::Move, |next| next.reader = moved);
            } else {
                self.add(Step::Resume, |next| next.reader = moved);
            }
        }
        if reader.phase == Reading::Notified {
            let waiting = Some(Reader { phase: Reading::Waiting, ..reader });
            self.fault(Fault::LoseNotify, Step::LoseEvent, |next| next.reader = waiting);
        }
        if self.from.is_served(reader.node) {
            self.follow(reader);
        }
    }

    /// Listens and reads, in the order that the rules say.
    fn follow(&mut self, reader: Reader) {
        let rules = self.protocol.rules;
        let is_behind = reader.seen < self.from.run.head;
        let (listens, reads) = match reader.phase {
            Reading::Fresh if rules.has(Rule::ListenFirst) => (Some(Reading::Listening), None),
            Reading::Fresh => (None, Some(Reading::Unheard)),
            Reading::Unheard => (Some(Reading::Waiting), None),
            Reading::Listening | Reading::Notified => (None, Some(Reading::Waiting)),
            Reading::Waiting => {
                (None, (is_behind && rules.has(Rule::Backstop)).then_some(Reading::Waiting))
            }
        };
        let session = self.from.node(reader.node).session;
        if let Some(phase) = listens.filter(|_| session.is_some()) {
            self.add(Step::Listen, |next| next.reader = Some(Reader { phase, ..reader }));
        }
        if let Some(phase) = reads {
            let run = &self.from.run;
            let log = run.log.iter().take(usize::from(run.head)).flatten();
            let (mut seen, mut last) = (reader.seen, reader.last);
            for event in log.skip(usize::from(reader.seen)) {
                seen += 1;
                last = Some(*event);
            }
            self.add(Step::Read, |next| next.reader = Some(Reader { seen, last, phase, ..reader }));
        }
    }

    /// Adds the steps of the client by way of the node `id`.
    pub(super) fn client(&mut self, id: NodeId) {
        if self.from.client != Some(Client::Waiting) || !self.from.is_served(id) {
            return;
        }
        let mut next = *self.from;
        let key_is_unique = self.protocol.rules.has(Rule::UniqueKey);
        let owner = store(&mut next, key_is_unique);
        let known = if next.run.stored > 0 { Client::Acknowledged } else { Client::Refused };
        let mut notified = next;
        if let Some(hold) = owner.and_then(|owner| notified.hold_mut(owner)) {
            hold.pending += 1;
        }
        self.found.push((Step::Send(id), State { client: Some(known), ..notified }));
        self.fault(Fault::LoseReply, Step::SendUnknown(id), |state| {
            *state = State { faults: state.faults, ..notified };
        });
        self.fault(Fault::LoseNotify, Step::SendUnheard(id), |state| {
            *state = State { client: Some(known), faults: state.faults, ..next };
        });
    }
}

/// Stores the command, unless the run has ended or its key is there; returns the owner to notify.
fn store(state: &mut State, key_is_unique: bool) -> Option<NodeId> {
    let run = &mut state.run;
    if run.journal == Journal::Ended || (key_is_unique && run.stored > 0) {
        return None;
    }
    run.stored += 1;
    run.owner
}
