//! Frames that the readers of a run share.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::{encode::head, pieces::Pieces};
use crate::store::LogRecord;

/// Newest frames of a run that its readers share.
const SHARED: usize = 16;

/// Longest frame that is shared, in bytes.
const SHARED_BYTES: usize = 4 << 10;

/// The newest frames of a run that goes on. Readers that have all that there is wait for the same event: the first of them makes its frame.
#[derive(Debug)]
pub(super) struct SharedFrames(Mutex<Option<Newest>>);

#[derive(Debug, Default)]
struct Newest {
    frames: [(u64, Bytes); SHARED],
    pieces: Pieces,
}

impl Default for SharedFrames {
    fn default() -> Self {
        Self(Mutex::new(Some(Newest::default())))
    }
}

impl SharedFrames {
    /// Returns the frame of a record, which has this number among the records of the run.
    pub(super) fn frame(&self, number: u64, record: &LogRecord) -> Bytes {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = usize::try_from(number).unwrap_or_default() % SHARED;
        let Some(Newest { frames, pieces }) = &mut *shared else {
            drop(shared);
            let mut out = Vec::new();
            numbered(number, record, &mut out);
            return out.into();
        };
        match frames.get_mut(at) {
            Some((of, frame)) if *of == number && !frame.is_empty() => frame.clone(),
            place => {
                let frame = pieces.piece(|out| numbered(number, record, out));
                if let Some(place) = place.filter(|_| frame.len() <= SHARED_BYTES) {
                    *place = (number, frame.clone());
                }
                frame
            }
        }
    }

    /// Lets all frames go, and keeps none from now on: the run has ended, and its readers come one by one.
    pub(super) fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Appends a record as an event with its number.
fn numbered(number: u64, LogRecord { kind, data, .. }: &LogRecord, out: &mut Vec<u8>) {
    out.reserve(data.len() + kind.len() + 40);
    head(number, kind, out);
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at: u64) -> LogRecord {
        LogRecord::new("kind", at.to_string())
    }

    #[test]
    fn readers_share_a_frame_and_never_get_that_of_another_number() {
        let frames = SharedFrames::default();
        for at in (0..40).chain(5..30) {
            let (one, other) = (frames.frame(at, &record(at)), frames.frame(at, &record(at)));
            assert_eq!(one, format!("id: {at}\nevent: kind\ndata: {at}\n\n"));
            assert_eq!(one.as_ptr(), other.as_ptr(), "it is made once");
        }
    }

    #[test]
    fn a_long_frame_and_a_run_that_has_ended_keep_nothing() {
        let frames = SharedFrames::default();
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
