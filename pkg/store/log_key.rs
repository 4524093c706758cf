//! The key of a log and of its run.

use forgeline_types::Text;

/// The key of a log: its name in its scope. Logs of other scopes are not found.
///
/// # Examples
///
/// ```
/// use forgeline::store::LogKey;
///
/// assert_ne!(LogKey::new("team-a", "run_1"), LogKey::new("team-b", "run_1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct LogKey {
    /// The tenant, team or project.
    pub scope: Text,
    /// The name, such as the id of a run.
    pub name: Text,
}

impl LogKey {
    /// Returns the key of a log in a scope.
    #[must_use]
    pub fn new(scope: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self { scope: scope.into(), name: name.into() }
    }
}
