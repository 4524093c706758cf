//! The caller on whose behalf a run works.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use forgeline_llm::RequestOwner;
use forgeline_types::{Text, setters};

/// The person or program on whose behalf a run works.
///
/// The agent passes the caller on to prompt parts and tools without checking it: the service that
/// creates the caller has already done so.
///
/// # Examples
///
/// ```
/// use forgeline::agent::Caller;
///
/// let caller = Caller::new("ann").scope("team-a").permission("files.read");
/// assert!(caller.has_permission("files.read") && !caller.has_permission("files.write"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Caller {
    /// The id of the person or program.
    pub id: Text,
    /// The tenant, team or project whose data the run may see.
    pub scope: Option<Text>,
    /// The names of the caller's permissions.
    pub permissions: BTreeSet<Text>,
}

impl Caller {
    /// Returns a caller without a scope or permissions.
    #[must_use]
    pub fn new(id: impl Into<Text>) -> Self {
        Self { id: id.into(), scope: None, permissions: BTreeSet::new() }
    }

    setters! {
        Caller:
        scope(some into Text),
    }

    /// Adds a permission.
    #[must_use]
    pub fn permission(mut self, name: impl Into<Text>) -> Self {
        self.permissions.insert(name.into());
        self
    }

    /// Returns the caller as the owner of a request to a model, by which a provider finds the caller's key.
    #[must_use]
    pub fn request_owner(&self) -> RequestOwner {
        let owner = RequestOwner::new(self.id.clone());
        match &self.scope {
            Some(scope) => owner.scope(scope.clone()),
            None => owner,
        }
    }

    /// Returns `true` when the caller has this permission.
    #[must_use]
    pub fn has_permission(&self, name: &str) -> bool {
        self.permissions.iter().any(|permission| permission == name)
    }
}
