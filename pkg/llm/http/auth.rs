//! Headers that are made for each request.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use secrecy::SecretString;

use crate::{llm::ProviderError, types::Text};

/// Makes the headers that authorise a request, such as a bearer token of a cloud account that expires.
///
/// It is asked before every request, retries included. Neither names nor values reach errors or logs.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::{ProviderError, http::{Authorize, SecretString}}, types::Text};
/// use futures_core::future::BoxFuture;
///
/// struct CloudToken;
///
/// impl Authorize for CloudToken {
///     fn headers(&self) -> BoxFuture<'static, Result<Vec<(Text, SecretString)>, ProviderError>> {
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
    /// When no token can be had; the request is then not sent.
    fn headers(&self) -> BoxFuture<'static, Result<Vec<(Text, SecretString)>, ProviderError>>;
}

impl<T: Authorize + ?Sized> Authorize for Arc<T> {
    fn headers(&self) -> BoxFuture<'static, Result<Vec<(Text, SecretString)>, ProviderError>> {
        (**self).headers()
    }
}
