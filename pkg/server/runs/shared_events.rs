//! The newest events of a run, for readers whose protocol is derived from the events instead of their records.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;

use forgeline_types::Envelope;

/// Number of newest events of a run that its readers share.
const SHARED: usize = 16;

/// The newest events of an active run, while it has readers for them: their records need not be parsed again.
#[derive(Debug, Default)]
pub(crate) struct SharedEvents {
    readers: AtomicUsize,
    newest: Mutex<NewestEvents>,
}

/// The newest events, each with its number in the run and the data of its record.
type NewestEvents = [Option<(u64, Bytes, Arc<Envelope>)>; SHARED];

impl SharedEvents {
    fn lock(&self) -> MutexGuard<'_, NewestEvents> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an event with its number in the run, if it has a reader.
    pub(crate) fn note(&self, number: u64, data: Bytes, envelope: Envelope) {
        if self.readers.load(Ordering::Acquire) == 0 {
            return;
        }
        let at = usize::try_from(number).unwrap_or_default() % SHARED;
        if let Some(place) = self.lock().get_mut(at) {
            *place = Some((number, data, Arc::new(envelope)));
        }
    }

    /// Returns the event of a record, if it is stored. A record with other data is of another process that has taken the run.
    pub(crate) fn get(&self, number: u64, data: &Bytes) -> Option<Arc<Envelope>> {
        let at = usize::try_from(number).unwrap_or_default() % SHARED;
        let newest = self.lock();
        let (of, of_data, envelope) = newest.get(at)?.as_ref()?;
        (*of == number && of_data == data).then(|| Arc::clone(envelope))
    }

    pub(crate) fn enter(&self) {
        self.readers.fetch_add(1, Ordering::AcqRel);
    }

    /// Removes a reader; after the last one, no events are stored.
    pub(crate) fn leave(&self) {
        if self.readers.fetch_sub(1, Ordering::AcqRel) == 1 {
            *self.lock() = Default::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_types::AgentEvent;

    fn envelope(seq: u64) -> Envelope {
        Envelope::new("run".into(), 1, seq, 0, AgentEvent::TurnEnd)
    }

    fn data(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    #[test]
    fn events_are_kept_while_there_are_readers_and_by_their_numbers() {
        let events = SharedEvents::default();
        events.note(0, data("0"), envelope(0));
        assert!(events.get(0, &data("0")).is_none(), "it has no reader");
        events.enter();
        events.enter();
        for number in 1..=20 {
            events.note(number, data(&number.to_string()), envelope(number));
        }
        for number in 0..40 {
            let kept = events.get(number, &data(&number.to_string()));
            let kept = kept.map(|envelope| envelope.seq);
            assert_eq!(kept, (5..=20).contains(&number).then_some(number));
        }
        assert!(events.get(20, &data("another's")).is_none(), "another process wrote the record");
        events.leave();
        assert!(events.get(20, &data("20")).is_some());
        events.leave();
        assert!(events.get(20, &data("20")).is_none());
    }
}
