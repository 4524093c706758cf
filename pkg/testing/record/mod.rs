//! Recordings of exchanges with a server.
//!
//! A [`RecordingTransport`] wraps any other transport and writes each exchange to a file: the request,
//! the response, its reads and their times. Secrets are redacted. [`Recording`] reads the file, and
//! [`replay`](super::replay) plays it back.
//!
//! # The file
//!
//! Each line is a JSON object. The first contains the version of the format and the date; every other one is an
//! exchange, written when it ended. Times are in milliseconds since the request was sent, sizes are in
//! bytes.
//!
//! ```json
//! {"forgeline_recording":1,"recorded":"2026-11-22T09:00:00Z"}
//! {"turn":1,"request":{"method":"POST","url":"https://h/v1/chat/completions","headers":{"accept":"text/event-stream"},"body":{"model":"m"}},"response":{"status":200,"head_ms":210,"headers":{"content-type":"text/event-stream"},"body":"data: [DONE]\n\n","reads":[[14,312]]},"ended":"whole"}
//! ```
//!
//! A body that is not UTF-8 is `body_base64`. A body longer than the recorder's limit is marked `cut`.
//! If there is no response, `failed` contains the cause.
//!
//! # Secrets
//!
//! Only headers on a list of public ones are recorded. The values of all others, the user
//! and password in the URL, the values of its query and the secrets given to
//! [`RecordingTransport::secret`] are redacted from bodies, headers and URLs, in every spelling of
//! JSON, URLs and base64, even if a stream contains them in pieces. So are words that look like
//! keys. Each byte is replaced with `x` (in numbers, with `1`), so that sizes do not change.
//!
//! A secret in a prompt that neither looks like a key nor was given to the recorder is kept.

mod date;
mod exchange;
mod failure;
mod finished;
mod recording;
#[cfg(test)]
mod tests;
mod transport;
mod writer;

pub use exchange::{BodyRead, Exchange, ExchangeEnd, RecordedRequest, RecordedResponse};
pub use failure::Failure;
pub use recording::{Recording, RecordingError};
pub use transport::RecordingTransport;
