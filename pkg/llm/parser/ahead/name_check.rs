//! The names of calls that count.

/// The names for which a call counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NameCheck {
    /// All names.
    #[default]
    Any,
    /// Those of offered tools, if the offered tools are known.
    IfKnown,
    /// Those of offered tools.
    Always,
}
