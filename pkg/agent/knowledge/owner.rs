//! The owner of memories.

use serde::{Deserialize, Serialize};

use crate::run::Caller;
use forgeline_types::Text;

/// The owner of memories: the caller on whose behalf a run works, in its scope. Runs without a caller share one owner.
///
/// # Examples
///
/// ```
/// use forgeline::agent::{Caller, knowledge::Owner};
///
/// let ann = Caller::new("ann").scope("team-a");
/// assert_ne!(Owner::of(Some(&ann)), Owner::of(Some(&Caller::new("ann").scope("team-b"))));
/// assert_eq!(Owner::of(Some(&ann)), Owner::of(Some(&ann.permission("files.read"))));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Owner {
    /// The tenant, team or project of the caller.
    pub scope: Option<Text>,
    /// The id of the caller.
    pub id: Option<Text>,
}

impl Owner {
    /// Returns the owner for `caller`.
    #[must_use]
    pub fn of(caller: Option<&Caller>) -> Self {
        caller.map_or_else(Self::default, |caller| Self {
            scope: caller.scope.clone(),
            id: Some(caller.id.clone()),
        })
    }

    /// Returns the number of bytes of the owner's names.
    pub(super) fn len(&self) -> usize {
        [&self.scope, &self.id].into_iter().flatten().map(|name| name.len()).sum()
    }
}
