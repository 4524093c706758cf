//! A transport over a client of the program's own.

use std::fmt;

use futures_util::{FutureExt as _, StreamExt as _};
use reqwest::{Client, Error as ClientError};

use super::{
    super::{HttpRequest, HttpResponse, Transport, TransportError, TransportFuture},
    failure::{ConnectionFailure, FailedStep},
    http_transport::{build, plain_headers},
};
use forgeline_types::Text;

/// A transport that sends requests with a [`reqwest::Client`], for its proxies, certificates and TLS.
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::transport::ReqwestTransport;
///
/// # fn build(client: reqwest::Client) {
/// let transport = ReqwestTransport::from_client(client);
/// # }
/// ```
#[derive(Clone)]
pub struct ReqwestTransport {
    client: Client,
}

impl ReqwestTransport {
    /// Creates a transport with this client. It should follow no redirects; its own timeouts apply
    /// in addition to the provider's. Its limit on connecting is not known here: exceeding it
    /// is a [`TransportError::Connect`] that says so.
    #[must_use]
    pub fn from_client(client: Client) -> Self {
        Self { client }
    }
}

// The client's own `Debug` shows its default headers.
impl fmt::Debug for ReqwestTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ReqwestTransport")
    }
}

impl Transport for ReqwestTransport {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let client = self.client.clone();
        async move {
            let (head, body) = build(request)?.into_parts();
            let host = head.uri.authority().map_or("the server", |host| host.as_str());
            let host = Text::from(host);
            let request = http::Request::from_parts(head, reqwest::Body::wrap(body));
            let request = reqwest::Request::try_from(request).map_err(|error| {
                TransportError::Invalid { source: Box::new(error.without_url()) }
            })?;
            let response = client.execute(request).await.map_err(|error| {
                TransportError::Connect { host, source: Box::new(failure(error)) }
            })?;
            let headers = plain_headers(response.headers());
            let status = response.status().as_u16();
            let body = response.bytes_stream().map(|read| {
                read.map_err(|error| TransportError::Broken { source: Box::new(failure(error)) })
            });
            Ok(HttpResponse { status, headers, body: Box::pin(body) })
        }
        .boxed()
    }
}

fn failure(error: ClientError) -> ConnectionFailure {
    let error = error.without_url();
    let step = match () {
        () if error.is_timeout() => FailedStep::Wait,
        () if error.is_connect() => FailedStep::Connect,
        () => FailedStep::Exchange,
    };
    ConnectionFailure::of(error, step)
}
