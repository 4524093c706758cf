//! The owner of a request.

use std::{fmt, sync::Arc};

use forgeline_types::Text;

/// The person or program for which a request is sent. A provider that serves many of them finds their keys by it
/// ([`Authorize`](crate::http::Authorize)).
///
/// It never leaves the process: it is not serialized, `Debug` does not show it, and no provider sends it to a server.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{Request, RequestOwner};
///
/// let request = Request::prompt("Hi").owner(RequestOwner::new("ann").scope("team-a"));
/// assert_eq!(request.owner.as_ref().map(RequestOwner::id), Some("ann"));
/// assert!(!format!("{request:?}").contains("ann"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RequestOwner(Arc<OwnerNames>);

#[derive(Clone, PartialEq, Eq)]
struct OwnerNames {
    id: Text,
    scope: Option<Text>,
}

impl RequestOwner {
    /// Creates an owner without a scope.
    #[must_use]
    pub fn new(id: impl Into<Text>) -> Self {
        Self(Arc::new(OwnerNames { id: id.into(), scope: None }))
    }

    /// Sets the tenant, team or project for which the owner asks.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<Text>) -> Self {
        Arc::make_mut(&mut self.0).scope = Some(scope.into());
        self
    }

    /// Returns the id of the person or program.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the name of the scope, if the owner has one.
    #[must_use]
    pub fn scope_name(&self) -> Option<&str> {
        self.0.scope.as_deref()
    }
}

impl fmt::Debug for RequestOwner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RequestOwner").finish_non_exhaustive()
    }
}
