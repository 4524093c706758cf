//! The text form of dialects, which is their name.

use std::{
    fmt::{self, Display},
    str::FromStr,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::dialects::dialect::{ThinkingDialect, ToolDialect};

/// The error for a name that is not that of a dialect in the library.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::ThinkingDialect;
///
/// let error = "thnik".parse::<ThinkingDialect>().unwrap_err();
/// assert_eq!(error.name, "thnik");
/// assert!(error.to_string().contains("expected one of: none, auto, forge, think"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} dialect `{name}`; expected one of: {expected}")]
#[non_exhaustive]
pub struct UnknownDialect {
    /// The name.
    pub name: String,
    kind: &'static str,
    expected: String,
}

impl UnknownDialect {
    fn new(kind: &'static str, name: &str, known: impl Iterator<Item = &'static str>) -> Self {
        let expected = known.collect::<Vec<_>>().join(", ");
        Self { name: name.to_owned(), kind, expected }
    }
}

macro_rules! named {
    ($dialect:ty, $kind:literal) => {
        impl Display for $dialect {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $dialect {
            type Err = UnknownDialect;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let known = || Self::all().into_iter();
                Self::by_name(name)
                    .ok_or_else(|| UnknownDialect::new($kind, name, known().map(|one| one.name())))
            }
        }

        impl Serialize for $dialect {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $dialect {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

named!(ToolDialect, "tool-call");
named!(ThinkingDialect, "thinking");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for dialect in ToolDialect::all() {
            assert_eq!(dialect.to_string().parse(), Ok(dialect.clone()));
            let json = serde_json::to_string(&dialect).unwrap();
            assert_eq!(serde_json::from_str::<ToolDialect>(&json).unwrap(), dialect);
        }
        for dialect in ThinkingDialect::all() {
            assert_eq!(dialect.to_string().parse(), Ok(dialect.clone()));
            let json = serde_json::to_string(&dialect).unwrap();
            assert_eq!(serde_json::from_str::<ThinkingDialect>(&json).unwrap(), dialect);
        }
        for json in ["\"Forge\"", "\"\"", "1"] {
            assert!(serde_json::from_str::<ToolDialect>(json).is_err(), "{json}");
        }
    }
}
