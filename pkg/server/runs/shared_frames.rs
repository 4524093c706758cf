//! Frames shared by the readers of a run.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::piece_allocator::PieceAllocator;
use crate::frames::write_numbered;
use forgeline_store::LogRecord;

/// Number of newest frames of a run that its readers share. A reader may receive this many at a time.
const SHARED: usize = 64;

/// Number of references to the frames of a run with one reader.
const RUN_AND_READER: usize = 2;

/// Maximum size of a shared frame, in bytes.
const SHARED_BYTES: usize = 1 << 10;

/// The newest frames of an active run. Readers that are up to date wait for the same event: the first of them creates its frame. For a run with one
/// reader, no frames are stored.
#[derive(Debug)]
pub(crate) struct SharedFrames(Mutex<Option<NewestFrames>>);

#[derive(Debug, Default)]
struct NewestFrames {
    /// [`SHARED`] slots, or none before the first shared frame.
    frames: Vec<(u64, Bytes)>,
    pieces: PieceAllocator,
}

impl Default for SharedFrames {
    fn default() -> Self {
        Self(Mutex::new(Some(NewestFrames::default())))
    }
}

impl SharedFrames {
    /// Returns the frame of the record with this number. The run and each of its readers hold a reference to these frames.
    pub(crate) fn frame(self: &Arc<Self>, number: u64, record: &LogRecord) -> Bytes {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(NewestFrames { frames, pieces }) = &mut *shared else {
            drop(shared);
            let mut out = Vec::new();
            write_numbered(number, &record.kind, &record.data, &mut out);
            return out.into();
        };
        let at = usize::try_from(number).unwrap_or_default() % SHARED;
        if let Some((of, frame)) = frames.get(at)
            && *of == number
            && !frame.is_empty()
        {
            return frame.clone();
        }
        let frame = pieces.piece(|out| write_numbered(number, &record.kind, &record.data, out));
        if Arc::strong_count(self) > RUN_AND_READER && frame.len() <= SHARED_BYTES {
            if frames.is_empty() {
                frames.resize(SHARED, (0, Bytes::new()));
            }
            // A reader that lags leaves the newer frames to the others.
            if let Some(place) = frames.get_mut(at).filter(|(of, it)| *of < number || it.is_empty())
            {
                *place = (number, frame.clone());
            }
        }
        frame
    }

    /// Drops all frames, and stores none from now on: the run has ended, and its readers arrive one by one.
    pub(crate) fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at: u64) -> LogRecord {
        LogRecord::new("kind", at.to_string())
    }

    /// The frames of a run, and a number of readers.
    fn run_and_readers(readers: usize) -> (Arc<SharedFrames>, Vec<Arc<SharedFrames>>) {
        let run: Arc<SharedFrames> = Arc::default();
        let readers = (0..readers).map(|_| Arc::clone(&run)).collect();
        (run, readers)
    }

    #[test]
    fn readers_share_a_frame_and_never_get_that_of_another_number() {
        let (frames, _readers) = run_and_readers(2);
        for (at, is_newer) in (0..200).map(|at| (at, true)).chain((5..136).map(|at| (at, false))) {
            let (one, other) = (frames.frame(at, &record(at)), frames.frame(at, &record(at)));
            assert_eq!(one, format!("id: {at}\nevent: kind\ndata: {at}\n\n"));
            assert_eq!(one.as_ptr() == other.as_ptr(), is_newer, "{at}: a newer one is made once");
        }
        let kept = frames.frame(199, &record(199));
        assert_eq!(kept.as_ptr(), frames.frame(199, &record(199)).as_ptr(), "older ones leave it");
    }

    #[test]
    fn readers_that_take_turns_share_what_came_between_them() {
        let (frames, _readers) = run_and_readers(2);
        let read = |from: u64| -> Vec<_> {
            (from..from + SHARED as u64).map(|at| frames.frame(at, &record(at)).as_ptr()).collect()
        };
        for from in [0, 64, 100] {
            assert_eq!(read(from), read(from), "from {from}");
        }
    }

    #[test]
    fn frames_are_kept_while_a_run_has_more_than_one_reader() {
        let (frames, mut readers) = run_and_readers(1);
        let is_shared =
            |at| frames.frame(at, &record(at)).as_ptr() == frames.frame(at, &record(at)).as_ptr();
        assert!(!is_shared(1));
        assert!(frames.0.lock().unwrap().as_ref().unwrap().frames.is_empty(), "nor has it room");
        readers.push(Arc::clone(&frames));
        assert!(is_shared(2));
        readers.pop();
        assert!(!is_shared(3), "the second reader has left");
    }

    #[test]
    fn a_long_frame_and_a_run_that_has_ended_keep_nothing() {
        let (frames, _readers) = run_and_readers(2);
        let long = LogRecord::new("kind", vec![b'1'; SHARED_BYTES]);
        assert_ne!(frames.frame(0, &long).as_ptr(), frames.frame(0, &long).as_ptr());
        let before = frames.frame(1, &record(1));
        frames.end();
        let behind = frames.frame(1, &record(1));
        assert_eq!(before, behind);
        assert_ne!(before.as_ptr(), behind.as_ptr());
        assert!(before.is_unique(), "it is let go");
    }
}
