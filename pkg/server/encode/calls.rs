//! The calls of the current answer.

use crate::types::Text;

/// The calls of the current answer, until the next answer begins.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(Vec<Call>);

/// A call that has begun.
#[derive(Debug, Clone)]
pub(super) struct Call {
    index: u32,
    pub(super) id: Text,
    pub(super) name: Text,
    /// The part of the call sent to the reader.
    pub(super) told: Told,
    /// `true` once a person has rejected the call.
    pub(super) is_denied: bool,
}

/// The part of a call sent to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// None: the name of the call is not known yet.
    Nothing,
    /// The beginning of the call.
    Begin,
    /// The whole call, or all of its arguments.
    Whole,
}

impl Calls {
    /// Removes the calls of the last answer.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a call that begins.
    pub(super) fn begin(&mut self, index: u32, id: &Text) {
        let (id, name, told) = (id.clone(), Text::default(), Told::Nothing);
        self.0.push(Call { index, id, name, told, is_denied: false });
    }

    /// Returns the last call with this index.
    pub(super) fn at(&mut self, index: u32) -> Option<&mut Call> {
        self.0.iter_mut().rfind(|call| call.index == index)
    }

    /// Returns the last call with this id.
    pub(super) fn with_id(&mut self, id: &str) -> Option<&mut Call> {
        self.0.iter_mut().rfind(|call| call.id == id)
    }

    /// Returns the ids of the calls that the reader has seen.
    pub(super) fn told(&self) -> impl Iterator<Item = &str> {
        let told = self.0.iter().filter(|call| call.told > Told::Nothing);
        told.map(|call| call.id.as_str())
    }

    /// Returns `true` if the reader has received every call completely.
    pub(super) fn are_whole(&self) -> bool {
        self.0.iter().all(|call| call.told == Told::Whole)
    }

    /// Returns the calls whose beginning was sent, and not their end.
    pub(super) fn open(&mut self) -> impl Iterator<Item = &mut Call> {
        self.0.iter_mut().filter(|call| call.told == Told::Begin)
    }
}
