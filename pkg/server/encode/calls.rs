//! The calls of an answer that have begun.

use crate::types::Text;

/// The calls of the answer under way, until the next begins.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(Vec<Call>);

/// A call that has begun.
#[derive(Debug, Clone)]
pub(super) struct Call {
    index: u32,
    pub(super) id: Text,
    pub(super) name: Text,
    /// The part of the call that the reader knows.
    pub(super) told: Told,
    /// `true` once a person rejected it.
    pub(super) is_denied: bool,
}

/// The part of a call that a reader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// None: its name is not known yet.
    Nothing,
    /// Its beginning.
    Begin,
    /// All of it, or its arguments.
    Whole,
}

impl Calls {
    /// Forgets the calls of the last answer.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Notes a call that begins.
    pub(super) fn begin(&mut self, index: u32, id: &Text) {
        let (id, name, told) = (id.clone(), Text::default(), Told::Nothing);
        self.0.push(Call { index, id, name, told, is_denied: false });
    }

    /// Returns the last call at this place.
    pub(super) fn at(&mut self, index: u32) -> Option<&mut Call> {
        self.0.iter_mut().rfind(|call| call.index == index)
    }

    /// Returns the last call with this id.
    pub(super) fn with_id(&mut self, id: &str) -> Option<&mut Call> {
        self.0.iter_mut().rfind(|call| call.id == id)
    }

    /// Returns the ids of the calls that the reader knows.
    pub(super) fn told(&self) -> impl Iterator<Item = &str> {
        let told = self.0.iter().filter(|call| call.told > Told::Nothing);
        told.map(|call| call.id.as_str())
    }

    /// Returns `true` when the reader knows all of each call.
    pub(super) fn are_whole(&self) -> bool {
        self.0.iter().all(|call| call.told == Told::Whole)
    }

    /// Returns the calls that have begun and not ended.
    pub(super) fn open(&mut self) -> impl Iterator<Item = &mut Call> {
        self.0.iter_mut().filter(|call| call.told == Told::Begin)
    }
}
