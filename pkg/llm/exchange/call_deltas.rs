//! The deltas of one chunk's calls: usually none, or one in a reused box.

use std::{
    cell::RefCell,
    fmt, iter, mem,
    ops::{Deref, DerefMut},
    option, slice, vec,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use forgeline_types::{Signature, Text, setters};

/// A piece of one native tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
#[non_exhaustive]
pub struct ToolCallDelta {
    /// The index of the call in the response, from 0. The provider's decoder has already resolved its vendor's
    /// quirks: each index is one call.
    pub index: u32,
    /// The call's id, if this delta has it.
    pub id: Option<Text>,
    /// The tool's name, if this delta has it; a later name replaces an earlier one.
    pub name: Option<Text>,
    /// The next piece of the arguments' JSON text.
    pub arguments: Text,
    /// `true` if the protocol ends the call with this delta.
    pub ended: bool,
    /// `true` for a call that the provider runs itself once it is [allowed](forgeline_types::ToolCall::hosted).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hosted: bool,
    /// `true` for a call that the model made through another tool, see [`ToolCall::indirect`](forgeline_types::ToolCall::indirect).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub indirect: bool,
    /// The provider's signature of the call, if this delta has it; it must be sent back unchanged with
    /// the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

impl ToolCallDelta {
    /// Creates an empty delta of call `index`.
    #[must_use]
    pub fn new(index: u32) -> Self {
        Self { index, ..Self::default() }
    }

    setters! {
        ToolCallDelta:
        id(some into Text),
        name(some into Text),
        arguments(into Text),
        signature(some into Signature),
    }
}

/// The deltas of native tool calls in one chunk, in order.
///
/// Dereferences to a slice. A call arrives in hundreds of chunks, each with one delta; the allocation of a delta
/// that has been read is reused for the next.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{StreamChunk, ToolCallDelta};
///
/// let mut chunk = StreamChunk::calls([ToolCallDelta::new(0).arguments("{\"a\":")]);
/// assert_eq!(chunk.tool_calls[0].arguments, "{\"a\":");
/// chunk.tool_calls.push(ToolCallDelta::new(1));
/// assert_eq!(chunk.tool_calls.len(), 2);
/// ```
#[derive(Clone, Default)]
pub struct ToolCallDeltas(DeltaList);

#[derive(Clone, Default)]
enum DeltaList {
    #[default]
    None,
    /// Boxed: otherwise a chunk of text, which is moved often, would be twice as large.
    One(Box<ToolCallDelta>),
    More(Vec<ToolCallDelta>),
}

/// Maximum number of empty boxes that a thread keeps.
const SPARES: usize = 16;

thread_local! {
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    static SPARE: RefCell<Vec<Box<ToolCallDelta>>> = const { RefCell::new(Vec::new()) };
}

/// Puts a delta into a box, reusing a spare one if possible.
fn boxed(delta: ToolCallDelta) -> Box<ToolCallDelta> {
    match SPARE.try_with(|spare| spare.borrow_mut().pop()) {
        Ok(Some(mut room)) => {
            *room = delta;
            room
        }
        _ => Box::new(delta),
    }
}

/// Takes a delta out of its box and keeps the box for reuse.
fn unboxed(mut room: Box<ToolCallDelta>) -> ToolCallDelta {
    let delta = mem::take(&mut *room);
    // A thread that is ending keeps none.
    let _ended = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < SPARES {
            spare.push(room);
        }
    });
    delta
}

impl ToolCallDeltas {
    /// Appends a delta.
    pub fn push(&mut self, delta: ToolCallDelta) {
        self.0 = match mem::take(&mut self.0) {
            DeltaList::None => DeltaList::One(boxed(delta)),
            DeltaList::One(first) => DeltaList::More(vec![unboxed(first), delta]),
            DeltaList::More(mut deltas) => {
                deltas.push(delta);
                DeltaList::More(deltas)
            }
        };
    }
}

impl Drop for ToolCallDeltas {
    #[inline]
    fn drop(&mut self) {
        if matches!(self.0, DeltaList::One(_)) {
            mem::take(self).into_iter().for_each(drop);
        }
    }
}

impl Deref for ToolCallDeltas {
    type Target = [ToolCallDelta];

    fn deref(&self) -> &[ToolCallDelta] {
        match &self.0 {
            DeltaList::None => &[],
            DeltaList::One(delta) => slice::from_ref(delta),
            DeltaList::More(deltas) => deltas,
        }
    }
}

impl DerefMut for ToolCallDeltas {
    fn deref_mut(&mut self) -> &mut [ToolCallDelta] {
        match &mut self.0 {
            DeltaList::None => &mut [],
            DeltaList::One(delta) => slice::from_mut(delta),
            DeltaList::More(deltas) => deltas,
        }
    }
}

impl Extend<ToolCallDelta> for ToolCallDeltas {
    fn extend<I: IntoIterator<Item = ToolCallDelta>>(&mut self, deltas: I) {
        deltas.into_iter().for_each(|delta| self.push(delta));
    }
}

impl FromIterator<ToolCallDelta> for ToolCallDeltas {
    fn from_iter<I: IntoIterator<Item = ToolCallDelta>>(deltas: I) -> Self {
        let mut all = Self::default();
        all.extend(deltas);
        all
    }
}

impl From<Vec<ToolCallDelta>> for ToolCallDeltas {
    fn from(deltas: Vec<ToolCallDelta>) -> Self {
        Self(if deltas.is_empty() { DeltaList::None } else { DeltaList::More(deltas) })
    }
}

impl IntoIterator for ToolCallDeltas {
    type Item = ToolCallDelta;
    type IntoIter = iter::Chain<option::IntoIter<ToolCallDelta>, vec::IntoIter<ToolCallDelta>>;

    fn into_iter(mut self) -> Self::IntoIter {
        let (one, more) = match mem::take(&mut self.0) {
            DeltaList::None => (None, Vec::new()),
            DeltaList::One(delta) => (Some(unboxed(delta)), Vec::new()),
            DeltaList::More(deltas) => (None, deltas),
        };
        one.into_iter().chain(more)
    }
}

impl<'d> IntoIterator for &'d ToolCallDeltas {
    type Item = &'d ToolCallDelta;
    type IntoIter = slice::Iter<'d, ToolCallDelta>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'d> IntoIterator for &'d mut ToolCallDeltas {
    type Item = &'d mut ToolCallDelta;
    type IntoIter = slice::IterMut<'d, ToolCallDelta>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl PartialEq for ToolCallDeltas {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for ToolCallDeltas {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

impl Serialize for ToolCallDeltas {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolCallDeltas {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StreamChunk;

    #[test]
    fn deltas_are_a_list_however_many_there_are() {
        for count in 0..4 {
            let list: Vec<_> = (0..count).map(ToolCallDelta::new).collect();
            let mut deltas: ToolCallDeltas = list.iter().cloned().collect();
            assert_eq!((&*deltas, deltas.len()), (list.as_slice(), count as usize));
            assert_eq!(deltas, ToolCallDeltas::from(list.clone()));
            let json = serde_json::to_string(&deltas).unwrap();
            assert_eq!(json, serde_json::to_string(&list).unwrap());
            assert_eq!(serde_json::from_str::<ToolCallDeltas>(&json).unwrap(), deltas);
            deltas.iter_mut().for_each(|delta| delta.ended = true);
            assert!((&deltas).into_iter().all(|delta| delta.ended));
            assert_eq!(deltas.into_iter().count(), count as usize);
        }
    }

    #[test]
    fn the_box_of_a_delta_is_used_again_and_keeps_nothing_of_it() {
        for _ in 0..2 * SPARES {
            let deltas: Vec<_> = (0..2 * SPARES)
                .map(|_| ToolCallDeltas::from_iter([ToolCallDelta::new(7).arguments("secret")]))
                .collect();
            drop(deltas);
            let spares = SPARE.with_borrow(|spare| {
                assert!(spare.iter().all(|room| **room == ToolCallDelta::default()));
                spare.len()
            });
            assert_eq!(spares, SPARES);
        }
        assert!(size_of::<StreamChunk>() <= 168, "{}", size_of::<StreamChunk>());
    }
}
