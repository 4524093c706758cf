//! Exchanges with a server, written down so that they can be played again.
//!
//! A [`RecordingTransport`] stands before any other transport and writes each exchange to a file: what
//! was asked, what came, in which reads and when. Secrets are struck out. [`Recording`] reads the
//! file; [`replay`](crate::llm::replay) plays it.
//!
//! # The file
//!
//! One JSON object a line. The first says which format it is and when it was made; each other one is
//! an exchange, written when it ended. Times are milliseconds since the request was sent, sizes are
//! bytes.
//!
//! ```json
//! {"forgeline_recording":1,"recorded":"2026-11-22T09:00:00Z"}
//! {"turn":1,"request":{"method":"POST","url":"https://h/v1/chat/completions","headers":{"accept":"text/event-stream"},"body":{"model":"m"}},"response":{"status":200,"head_ms":210,"headers":{"content-type":"text/event-stream"},"body":"data: [DONE]\n\n","reads":[[14,312]]},"ended":"whole"}
//! ```
//!
//! A body that is no UTF-8 is `body_base64`. A body longer than the recorder keeps is marked `cut`.
//! Where there is no response, `failed` says why.
//!
//! # Secrets
//!
//! Headers are written down only when they are on a list of harmless ones. The values of all others,
//! user and password of the address, values of its query and the words given to
//! [`RecordingTransport::secret`] are struck out of bodies, headers and addresses, however JSON, URLs
//! or base64 spell them, and also where a stream says them in pieces. So are words that look like
//! keys. Each letter becomes an `x` (a digit of a number, `1`), so that sizes stay as they were.
//!
//! What nobody can know is kept: a secret in a prompt that neither looks like a key nor was named.

pub(super) mod base64;
mod date;
mod exchange;
mod format;
mod keys;
mod parts;
mod recording;
mod spelling;
mod strike;
mod strings;
#[cfg(test)]
mod tests;
mod transport;
mod underway;
mod writer;

pub use exchange::{Answer, Ended, Exchange, Failure, Read, RecordedResponse};
pub(crate) use parts::{path, words_of};
pub use recording::{Recording, RecordingError};
pub(crate) use strike::Words;
pub use transport::RecordingTransport;
pub(crate) use underway::shown_body;
