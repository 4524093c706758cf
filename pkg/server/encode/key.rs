//! Ids that are unique in what one reader sees.

use std::fmt::{self, Display, Formatter};

use serde::{Serialize, Serializer};

/// The id of a call: ids of calls are unique in their answer only.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallKey<'e> {
    /// The run, where it is not the one that is read.
    pub(super) run: Option<&'e str>,
    pub(super) turn: u32,
    pub(super) id: &'e str,
}

impl Display for CallKey<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(run) = self.run {
            write!(formatter, "{run}.")?;
        }
        write!(formatter, "{}.{}", self.turn, self.id)
    }
}

/// The id of a section of thinking or text, and of a source: the run, and its number in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SectionKey<'e> {
    pub(super) run: &'e str,
    pub(super) number: u32,
}

impl Display for SectionKey<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.run, self.number)
    }
}

/// The id of the message that a result of a call is.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultKey<'e>(pub(super) CallKey<'e>);

impl Display for ResultKey<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.result", self.0)
    }
}

/// Serializes a value as it is displayed.
pub(super) fn shown<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Declares that values are serialized as they are displayed.
macro_rules! as_shown {
    ($($Key:ident),+) => {$(
        impl Serialize for $Key<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                shown(self, serializer)
            }
        }
    )+};
}

as_shown!(CallKey, SectionKey, ResultKey);
