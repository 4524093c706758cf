//! Ids and keys in requests.

use sha2::{Digest as _, Sha256};

use crate::Problem;

/// Maximum length of a conversation id or an idempotency key, in bytes.
const MAX_ID_BYTES: usize = 200;

/// Refuses an id that is empty, too long, or has control characters.
pub(crate) fn check_id(what: &str, id: &str) -> Result<(), Problem> {
    if id.is_empty() || id.len() > MAX_ID_BYTES || id.chars().any(char::is_control) {
        let detail =
            format!("{what} must have 1 to {MAX_ID_BYTES} bytes, without control characters");
        return Err(Problem::bad(detail));
    }
    Ok(())
}

/// Returns the SHA-256 of bytes as text.
pub(crate) fn digest_text(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// Returns a digest of a request that is stable across processes, to recognize the request when it is repeated.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let hash = Sha256::digest(bytes);
    hash.iter().take(8).fold(0, |digest, byte| digest << 8 | u64::from(*byte))
}
