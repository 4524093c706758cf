//! Headers that are made for each request.

use std::{fmt, sync::Arc};

use super::Secret;
use crate::{ProviderFuture, RequestOwner};
use forgeline_types::Text;

/// A source of the headers that authorize a request, such as a cloud account's bearer token that expires, or the key of
/// the user for whom the request is sent.
///
/// It is called before every request, retries included, and waited for within the time limits of the request. Neither
/// names nor values reach errors or logs.
///
/// # Examples
///
/// Each user's own key:
///
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
/// use forgeline::{
///     llm::{ProviderError, ProviderFuture, http::{Authorize, CallScope, Secret}, openai::OpenAi},
///     types::Text,
/// };
///
/// struct OwnKeys(Arc<BTreeMap<String, Secret>>);
///
/// impl Authorize for OwnKeys {
///     fn headers(&self, scope: &CallScope<'_>) -> ProviderFuture<Vec<(Text, Secret)>> {
///         let key = scope.owner().and_then(|owner| self.0.get(owner.id())).cloned();
///         Box::pin(async move {
///             let key = key.ok_or_else(|| ProviderError::unsupported("openai", "a request without a key"))?;
///             Ok(vec![(Text::from("authorization"), key)])
///         })
///     }
/// }
///
/// let keys = BTreeMap::from([("ann".to_owned(), Secret::from("Bearer ann's key"))]);
/// let provider = OpenAi::builder().model("gpt-5").authorize(OwnKeys(Arc::new(keys))).build()?;
/// # Ok::<(), ProviderError>(())
/// ```
pub trait Authorize: Send + Sync {
    /// Returns the headers of the next request, which `scope` describes. The future borrows nothing: it copies of the scope
    /// what it needs.
    ///
    /// # Errors
    ///
    /// Returns an error if no key is available; the request is then not sent. [`ProviderError::Unsupported`] for a
    /// request without an owner makes a health check, which has no owner, one that checks nothing.
    ///
    /// [`ProviderError::Unsupported`]: crate::ProviderError::Unsupported
    fn headers(&self, scope: &CallScope<'_>) -> ProviderFuture<Vec<(Text, Secret)>>;
}

impl<T: Authorize + ?Sized> Authorize for Arc<T> {
    fn headers(&self, scope: &CallScope<'_>) -> ProviderFuture<Vec<(Text, Secret)>> {
        (**self).headers(scope)
    }
}

/// One request to a server, as [`Authorize`] sees it. `Debug` does not show the owner.
///
/// # Examples
///
/// ```
/// use forgeline::llm::http::CallScope;
///
/// fn is_paid_by_the_team(scope: &CallScope<'_>) -> bool {
///     scope.owner().is_some_and(|owner| owner.scope_name() == Some("team-a")) && scope.model() != "gpt-5-pro"
/// }
/// ```
#[derive(Clone, Copy)]
pub struct CallScope<'a> {
    pub(super) owner: Option<&'a RequestOwner>,
    pub(super) model: &'a str,
    pub(super) attempt: u32,
}

impl<'a> CallScope<'a> {
    /// Returns the person or program for which the request is sent ([`Request::owner`](crate::Request::owner)). There is
    /// none for a health check, for the question how long a conversation the model reads, and for requests that name none.
    #[must_use]
    pub fn owner(&self) -> Option<&'a RequestOwner> {
        self.owner
    }

    /// Returns the name of the model, which is empty if the server chooses it.
    #[must_use]
    pub fn model(&self) -> &'a str {
        self.model
    }

    /// Returns the number of the attempt, from 1: a retry has the next one. It is 0 for a request without a prompt.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }
}

impl fmt::Debug for CallScope<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("CallScope");
        shown.field("model", &self.model).field("attempt", &self.attempt).finish_non_exhaustive()
    }
}
