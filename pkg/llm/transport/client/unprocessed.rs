//! Requests that a server has certainly not processed.

use std::error::Error as StdError;

use h2::Reason;

/// Returns `true` if the server states, in HTTP/2, that it has not processed the request that failed with this error: it refused its
/// stream, or ended the connection after an earlier one (RFC 9113, section 8.7). Such a request may be sent again, whatever it does.
pub(super) fn is_unprocessed(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            // A GOAWAY is the error of those streams alone whose numbers are above the last one that it names.
            let is_refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
            return error.is_remote() && (is_refused || error.is_go_away());
        }
        cause = error.source();
    }
    false
}
