//! Ids that are unique within what one reader sees.

use std::fmt::{self, Display, Formatter};

use serde::{Serialize, Serializer};

/// The id of a call; the model's call ids are unique only within their answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallKey<'e> {
    /// The run, if it is not the one that is read.
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

/// The id of a section of thinking or text, or of a source: the run, and the section's number in it.
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

/// The id of the message that contains the result of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultKey<'e>(pub(super) CallKey<'e>);

impl Display for ResultKey<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.result", self.0)
    }
}

/// Serializes a value with its [`Display`] implementation.
pub(super) fn shown<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Implements `Serialize` with [`Display`].
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
