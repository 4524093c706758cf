//! Recordings of exchanges with a server.
//!
//! A [`RecordingTransport`] wraps any other transport and writes each exchange to a file: the request,
//! the response, its reads and their times. Secrets are redacted. [`Recording`] reads the file;
//! [`replay`](super::replay) plays it.
//!
//! # The file
//!
//! One JSON object a line. The first has the version of the format and the date; each other one is an
//! exchange, written when it ended. Times are milliseconds since the request was sent, sizes are
//! bytes.
//!
//! ```json
//! {"forgeline_recording":1,"recorded":"2026-11-22T09:00:00Z"}
//! {"turn":1,"request":{"method":"POST","url":"https://h/v1/chat/completions","headers":{"accept":"text/event-stream"},"body":{"model":"m"}},"response":{"status":200,"head_ms":210,"headers":{"content-type":"text/event-stream"},"body":"data: [DONE]\n\n","reads":[[14,312]]},"ended":"whole"}
//! ```
//!
//! A body that is not UTF-8 is `body_base64`. A body longer than the recorder keeps is marked `cut`.
//! Where there is no response, `failed` has the cause.
//!
//! # Secrets
//!
//! Headers are recorded only when they are on a list of public ones. The values of all others, user
//! and password of the address, the values of its query and the words given to
//! [`RecordingTransport::secret`] are redacted from bodies, headers and addresses, in every spelling of
//! JSON, URLs and base64, and also where a stream carries them in pieces. So are words that look like
//! keys. Each byte becomes an `x` (a digit of a number, `1`), so that sizes stay the same.
//!
//! A secret in a prompt that neither looks like a key nor was named is kept.

mod date;
mod exchange;
mod failure;
mod finished;
mod recording;
#[cfg(test)]
mod tests;
mod transport;
mod writer;

pub use exchange::{Ended, Exchange, Read, RecordedRequest, RecordedResponse};
pub use failure::Failure;
pub use recording::{Recording, RecordingError};
pub use transport::RecordingTransport;
