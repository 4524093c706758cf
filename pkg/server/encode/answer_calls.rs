//! The calls of the current answer.

use forgeline_types::Text;

/// The calls of the current answer, until the next answer begins.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerCalls(Vec<AnswerCall>);

/// A call that has begun.
#[derive(Debug, Clone)]
pub(super) struct AnswerCall {
    index: u32,
    pub(super) id: Text,
    pub(super) name: Text,
    /// The part of the call sent to the reader.
    pub(super) progress: SentProgress,
    /// `true` once a person has rejected the call.
    pub(super) is_denied: bool,
}

/// The part of a call sent to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SentProgress {
    /// None: the name of the call is not known yet.
    Nothing,
    /// The beginning of the call.
    Begin,
    /// The whole call, or all of its arguments.
    Whole,
}

impl AnswerCalls {
    /// Removes the calls of the last answer.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a call that begins.
    pub(super) fn begin(&mut self, index: u32, id: &Text) {
        let (id, name, progress) = (id.clone(), Text::default(), SentProgress::Nothing);
        self.0.push(AnswerCall { index, id, name, progress, is_denied: false });
    }

    /// Returns the last call with this index.
    pub(super) fn at(&mut self, index: u32) -> Option<&mut AnswerCall> {
        self.0.iter_mut().rfind(|call| call.index == index)
    }

    /// Returns the last call with this id.
    pub(super) fn with_id(&mut self, id: &str) -> Option<&mut AnswerCall> {
        self.0.iter_mut().rfind(|call| call.id == id)
    }

    /// Returns the ids of the calls that the reader has seen.
    pub(super) fn sent_ids(&self) -> impl Iterator<Item = &str> {
        let sent = self.0.iter().filter(|call| call.progress > SentProgress::Nothing);
        sent.map(|call| call.id.as_str())
    }

    /// Returns `true` if the reader has received every call completely.
    pub(super) fn are_whole(&self) -> bool {
        self.0.iter().all(|call| call.progress == SentProgress::Whole)
    }

    /// Returns the calls whose beginning was sent, and not their end.
    pub(super) fn open(&mut self) -> impl Iterator<Item = &mut AnswerCall> {
        self.0.iter_mut().filter(|call| call.progress == SentProgress::Begin)
    }
}
