//! An exchange that has ended, before its secrets have been removed.

use serde_json::Value;

use super::{Exchange, ExchangeEnd, Failure, RecordedRequest, RecordedResponse};
use forgeline_llm::{private::SecretRedactor, transport::HttpRequest};
use forgeline_types::Text;

/// An exchange that still contains its secrets.
pub(super) struct SecretExchange {
    pub(super) turn: u32,
    pub(super) request: HttpRequest,
    /// The secrets that the user named.
    pub(super) redactor: SecretRedactor,
    pub(super) max_body_bytes: usize,
    /// The response without its body.
    pub(super) response: Option<RecordedResponse>,
    pub(super) body: Vec<u8>,
    pub(super) failure: Option<Failure>,
    pub(super) ended: ExchangeEnd,
}

impl SecretExchange {
    /// Removes the secrets. Slow, so it is called on the writer's thread.
    pub(super) fn into_exchange(mut self) -> Exchange {
        let mut redactor = self.redactor.request(&self.request);
        redactor.learn(&self.body);
        redactor.bytes(&mut self.body);
        let cut = self.request.body_bytes() > self.max_body_bytes;
        let body = if cut { Value::Null } else { redactor.body(&self.request.body) };
        let text = |text: &str| Text::from(redactor.same_length(text));
        Exchange {
            turn: self.turn,
            request: RecordedRequest {
                url: redactor.recorded_url(&self.request.url),
                headers: redactor.headers(&self.request.headers),
                method: self.request.method,
                body,
                cut,
            },
            response: self.response.map(|response| RecordedResponse {
                headers: redactor.headers(&response.headers),
                body: self.body.into(),
                ..response
            }),
            failure: self.failure.map(|failure| Failure {
                host: text(&failure.host),
                message: text(&failure.message),
                ..failure
            }),
            ended: self.ended,
        }
    }
}
