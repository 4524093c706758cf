//! Requests to authorization servers, and their responses.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use forgeline_llm::{
    private::SecretRedactor,
    transport::{HttpRequest, HttpResponse, Transport},
};

/// Maximum wait for one response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of a response, in bytes.
const MAX_ANSWER_BYTES: usize = 256 << 10;

/// Maximum number of characters of a server's message in an error.
const MAX_WORDS: usize = 300;

/// The characters that need no escaping in forms and URLs.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The requests of a login. Redirects are not followed: they would send codes and secrets to another host.
#[derive(Clone)]
pub(crate) struct OAuthExchange {
    transport: Arc<dyn Transport>,
}

/// A response with its status.
pub(crate) struct OAuthResponse {
    pub(crate) status: u16,
    body: Vec<u8>,
    /// The URL, without parts that may be secret.
    from: String,
}

impl OAuthExchange {
    pub(crate) fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport }
    }

    /// Requests a public document.
    pub(crate) async fn get(&self, url: &Url) -> Result<OAuthResponse, String> {
        let request = HttpRequest::new("GET", url.as_str());
        self.send(request.header("accept", "application/json"), url).await
    }

    /// Sends a JSON document.
    pub(crate) async fn post(&self, url: &Url, body: &Value) -> Result<OAuthResponse, String> {
        let request = HttpRequest::new("POST", url.as_str())
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .body(vec![body.to_string().into()]);
        self.send(request, url).await
    }

    /// Sends a form, with an `Authorization` header if there is one.
    pub(crate) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        authorization: Option<String>,
    ) -> Result<OAuthResponse, String> {
        let mut request = HttpRequest::new("POST", url.as_str())
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(vec![encode_form(form).into()]);
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        self.send(request, url).await
    }

    async fn send(&self, request: HttpRequest, url: &Url) -> Result<OAuthResponse, String> {
        let host = url.host_str().unwrap_or("the server");
        let exchange = async {
            let response = self.transport.send(request).await;
            let response = response.map_err(|error| error.to_string())?;
            let status = response.status;
            let mut from = url.clone();
            from.set_query(None);
            Ok(OAuthResponse { status, body: read_body(response).await?, from: from.into() })
        };
        let answer = timeout(ANSWER_TIMEOUT, exchange).await;
        let answer = answer.map_err(|_| format!("no answer within {ANSWER_TIMEOUT:?}")).flatten();
        answer.map_err(|problem| format!("`{host}` cannot be asked: {problem}"))
    }
}

async fn read_body(mut response: HttpResponse) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(read) = response.body.next().await {
        let read = read.map_err(|error| error.to_string())?;
        if body.len() + read.len() > MAX_ANSWER_BYTES {
            return Err(format!("its answer is longer than {MAX_ANSWER_BYTES} bytes"));
        }
        body.extend_from_slice(&read);
    }
    Ok(body)
}

impl OAuthResponse {
    /// Returns `true` for a successful status.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Parses the body of a successful response; `what` describes the body.
    ///
    /// # Errors
    ///
    /// Returns a message with the URL, and what was expected there.
    pub(crate) fn json<T: DeserializeOwned>(&self, what: &str) -> Result<T, String> {
        // The parser's message may quote the input, which may be a token.
        serde_json::from_slice(&self.body).map_err(|_| {
            let Self { from, body, .. } = self;
            format!("`{from}` answered with {} bytes that are not {what}", body.len())
        })
    }

    /// Returns the error code of an authorization server, such as `invalid_grant`.
    pub(crate) fn error(&self) -> Option<String> {
        let value: Value = serde_json::from_slice(&self.body).ok()?;
        Some(value.get("error")?.as_str()?.to_owned())
    }

    /// Returns the server's message about a failure, without these secrets.
    pub(crate) fn words(&self, redactor: &SecretRedactor) -> String {
        let value: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let said = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        server_message(self.status, said("error"), said("error_description"), redactor)
    }
}

/// Returns the message of an error without these secrets, shortened.
pub(crate) fn server_message(
    status: u16,
    error: &str,
    description: &str,
    redactor: &SecretRedactor,
) -> String {
    let mut words = if status == 0 { String::new() } else { format!("status {status}") };
    for part in [error, description].into_iter().filter(|part| !part.is_empty()) {
        if !words.is_empty() {
            words.push_str(", ");
        }
        words.push_str(part);
    }
    let words: String = words.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    redactor.text(&words).chars().take(MAX_WORDS).collect()
}

/// Encodes a form.
pub(crate) fn encode_form(form: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", escape(value));
    form.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// Escapes a value for a form.
pub(crate) fn escape(value: &str) -> String {
    utf8_percent_encode(value, PLAIN).to_string()
}
