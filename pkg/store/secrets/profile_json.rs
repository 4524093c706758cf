//! The stored form of a provider profile.

use super::ProviderProfile;
use crate::StoreError;

/// Maximum size of a profile, in bytes of JSON.
const MAX_PROFILE: usize = 64 << 10;

/// Writes a profile as JSON.
pub(crate) fn to_json(profile: &ProviderProfile) -> Result<String, StoreError> {
    let json = serde_json::to_string(profile).map_err(|it| StoreError::corrupt(it.to_string()))?;
    if json.len() <= MAX_PROFILE {
        return Ok(json);
    }
    let reason = format!("a profile has at most {MAX_PROFILE} bytes; remove provider instances");
    Err(StoreError::full(reason))
}

/// Reads a profile.
pub(crate) fn from_json(json: &str) -> Result<ProviderProfile, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::corrupt(error.to_string()))
}
