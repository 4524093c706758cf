//! Headers that are made for each request.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use secrecy::SecretString;

use crate::{llm::ProviderError, types::Text};

/// Makes the headers that authorise a request, such as a bearer token of a cloud account that expires.
///
/// It is asked before every request, retries included. Neither names nor values reach errors or logs.
pub trait Authorize: Send + Sync {
    /// The headers of the next request.
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
