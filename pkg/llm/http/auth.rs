//! Headers that are made for each request.

use std::sync::Arc;

use secrecy::SecretString;

use crate::ProviderFuture;
use forgeline_types::Text;

/// A source of the headers that authorize a request, such as a cloud account's bearer token that expires.
///
/// It is called before every request, retries included. Neither names nor values reach errors or logs.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::{ProviderFuture, http::{Authorize, SecretString}}, types::Text};
///
/// struct CloudToken;
///
/// impl Authorize for CloudToken {
///     fn headers(&self) -> ProviderFuture<Vec<(Text, SecretString)>> {
///         Box::pin(async {
///             let token = "a token that was fetched and is still valid";
///             Ok(vec![(Text::from("authorization"), format!("Bearer {token}").into())])
///         })
///     }
/// }
/// ```
pub trait Authorize: Send + Sync {
    /// Returns the headers of the next request.
    ///
    /// # Errors
    ///
    /// Returns an error if no token is available; the request is then not sent.
    fn headers(&self) -> ProviderFuture<Vec<(Text, SecretString)>>;
}

impl<T: Authorize + ?Sized> Authorize for Arc<T> {
    fn headers(&self) -> ProviderFuture<Vec<(Text, SecretString)>> {
        (**self).headers()
    }
}
