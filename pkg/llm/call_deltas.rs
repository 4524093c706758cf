//! The deltas of one chunk's calls: most often none or one, which needs no allocation.

use std::{
    fmt, iter, mem,
    ops::{Deref, DerefMut},
    option, slice, vec,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::types::{Signature, Text, setters};

/// A piece of one native tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct ToolCallDelta {
    /// The index of the call in the response, from 0. The provider's decoder has settled its vendor's
    /// quirks: one index is one call.
    pub index: u32,
    /// The call's id, when this delta has it.
    pub id: Option<Text>,
    /// The tool's name, when this delta has it; a later name replaces an earlier one.
    pub name: Option<Text>,
    /// The next piece of the arguments' JSON text.
    pub arguments: Text,
    /// `true` if the protocol ends the call here.
    pub ended: bool,
    /// The provider's signature of the call, when this delta has it; it must go back with the call
    /// unchanged.
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
/// A slice with room for one delta without an allocation: a call arrives in hundreds of chunks, each with
/// one.
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
pub struct ToolCallDeltas(Deltas);

#[derive(Clone, Default)]
enum Deltas {
    #[default]
    None,
    One(ToolCallDelta),
    More(Vec<ToolCallDelta>),
}

impl ToolCallDeltas {
    /// Appends a delta.
    pub fn push(&mut self, delta: ToolCallDelta) {
        self.0 = match mem::take(&mut self.0) {
            Deltas::None => Deltas::One(delta),
            Deltas::One(first) => Deltas::More(vec![first, delta]),
            Deltas::More(mut deltas) => {
                deltas.push(delta);
                Deltas::More(deltas)
            }
        };
    }
}

impl Deref for ToolCallDeltas {
    type Target = [ToolCallDelta];

    fn deref(&self) -> &[ToolCallDelta] {
        match &self.0 {
            Deltas::None => &[],
            Deltas::One(delta) => slice::from_ref(delta),
            Deltas::More(deltas) => deltas,
        }
    }
}

impl DerefMut for ToolCallDeltas {
    fn deref_mut(&mut self) -> &mut [ToolCallDelta] {
        match &mut self.0 {
            Deltas::None => &mut [],
            Deltas::One(delta) => slice::from_mut(delta),
            Deltas::More(deltas) => deltas,
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
        Self(if deltas.is_empty() { Deltas::None } else { Deltas::More(deltas) })
    }
}

impl IntoIterator for ToolCallDeltas {
    type Item = ToolCallDelta;
    type IntoIter = iter::Chain<option::IntoIter<ToolCallDelta>, vec::IntoIter<ToolCallDelta>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, more) = match self.0 {
            Deltas::None => (None, Vec::new()),
            Deltas::One(delta) => (Some(delta), Vec::new()),
            Deltas::More(deltas) => (None, deltas),
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
}
