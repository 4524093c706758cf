//! The password of a server.

use std::{fs, path::Path};

use secrecy::SecretString;

use crate::StoreError;

/// Reads a password from a file, without its line end, or from an environment variable; `None` where neither is named.
pub(crate) fn read(
    file: Option<&Path>,
    variable: Option<&str>,
) -> Result<Option<SecretString>, StoreError> {
    if let Some(path) = file {
        let read = fs::read_to_string(path).map_err(|error| StoreError::Unavailable {
            reason: format!("the password file {} cannot be read: {error}", path.display()),
        })?;
        return Ok(Some(SecretString::from(read.trim_end_matches(['\r', '\n']))));
    }
    let Some(name) = variable else { return Ok(None) };
    let missing = |_| StoreError::Unavailable {
        reason: format!("the environment variable {name} with the password is not set"),
    };
    std::env::var(name).map(|password| Some(SecretString::from(password))).map_err(missing)
}
