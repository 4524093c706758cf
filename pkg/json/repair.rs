//! The repairs made by a lenient reader.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares the repairs once: their variants, their list and their names on the wire.
macro_rules! repairs {
    ($($(#[$doc:meta])+ $repair:ident = $name:literal,)+) => {
        /// One repair made to a call, reported so that a policy can refuse the call.
        ///
        /// # Examples
        ///
        /// ```
        /// use forgeline_json::Repair;
        ///
        /// assert_eq!(Repair::ExtraComma.to_string(), "extra_comma");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Repair {
            $($(#[$doc])+ $repair,)+
        }

        impl Repair {
            /// Every repair, in the order in which they are reported.
            const ALL: &[Self] = &[$(Self::$repair),+];

            /// Returns the name on the wire, such as `implicit_close`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$repair => $name,)+
                }
            }
        }
    };
}

repairs! {
    /// An object key had no quotes.
    UnquotedKey = "unquoted_key",
    /// A string was in single quotes.
    SingleQuotes = "single_quotes",
    /// A comma was doubled or trailing.
    ExtraComma = "extra_comma",
    /// A comma between two members of an object was missing.
    MissingComma = "missing_comma",
    /// A comment was removed.
    Comment = "comment",
    /// `True`, `False` or `None` was read as JSON's literal.
    PythonLiteral = "python_literal",
    /// A raw newline, tab or other control character in a string was escaped.
    RawControl = "raw_control",
    /// A backslash that does not start a JSON escape was doubled.
    InvalidEscape = "invalid_escape",
    /// Closing brackets were added at the end of the call.
    MissingBracket = "missing_bracket",
    /// Text after the last bracket was ignored.
    TrailingText = "trailing_text",
    /// A Markdown fence around the payload was removed.
    Fence = "fence",
    /// The arguments were a JSON string that contains JSON.
    StringArguments = "string_arguments",
    /// The call named no tool, but its arguments fit only one of the offered tools.
    InferredName = "inferred_name",
    /// The end marker of the call was missing after a complete payload.
    ImplicitClose = "implicit_close",
    /// The call was inside reasoning that was never closed.
    RecoveredFromThinking = "recovered_from_thinking",
    /// The call was inside a code fence that was never closed.
    RecoveredFromCode = "recovered_from_code",
    /// A word without quotes was read as a string.
    UnquotedString = "unquoted_string",
    /// A tag that repeats the one before it, or ends nothing, was dropped.
    DuplicateTag = "duplicate_tag",
    /// The name of the tool was spelled otherwise, as that of only one of the offered tools may be.
    CorrectedName = "corrected_name",
    /// Arguments were converted to the types that the schema of the tool asks for, without loss, or defaults of the schema
    /// were filled in.
    Coerced = "coerced",
}

impl fmt::Display for Repair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A set of [`Repair`]s: everything that was repaired in one call. Never allocates.
///
/// # Examples
///
/// ```
/// use forgeline_json::{Repair, RepairSet};
///
/// let mut repairs = RepairSet::default();
/// repairs.insert(Repair::Fence);
/// repairs.insert(Repair::Comment);
/// assert_eq!(repairs.to_vec(), [Repair::Comment, Repair::Fence]);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RepairSet(u32);

impl RepairSet {
    /// Adds `repair`.
    pub fn insert(&mut self, repair: Repair) {
        self.0 |= 1 << repair as u32;
    }

    /// Adds all repairs in `others`.
    pub fn extend(&mut self, others: Self) {
        self.0 |= others.0;
    }

    /// Returns the set without `repair`.
    #[must_use]
    pub fn without(self, repair: Repair) -> Self {
        Self(self.0 & !(1 << repair as u32))
    }

    /// Returns `true` if nothing was repaired.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the repairs in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = Repair> {
        Repair::ALL.iter().copied().filter(move |repair| self.0 & (1 << *repair as u32) != 0)
    }

    /// Returns the repairs as a list; an empty list does not allocate.
    #[must_use]
    pub fn to_vec(self) -> Vec<Repair> {
        self.iter().collect()
    }
}
