//! The providers that were built last, whose connections the next message uses.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use sha2::{Digest as _, Sha256};

use super::{ProviderKind, ProviderSettings};
use forgeline_llm::Provider;

/// Maximum number of providers that are kept.
const MAX_RECENT: usize = 128;

/// The digest of a kind and its settings, of which a key cannot be found.
type SettingsDigest = [u8; 32];

/// Providers by their settings, the last used one first.
#[derive(Default)]
pub(super) struct RecentProviders(Mutex<VecDeque<(SettingsDigest, Arc<dyn Provider>)>>);

/// Returns the digest of a kind and its settings: with another key, it is another one.
pub(super) fn digest(kind: &ProviderKind, settings: &ProviderSettings) -> SettingsDigest {
    let key = settings.key.as_ref().map_or("", |key| key.expose());
    let base_url = settings.base_url.as_deref().unwrap_or("");
    let parts = [kind.id(), &settings.model, base_url, key];
    let begun = Sha256::new();
    let all = parts.iter().fold(begun, |all, part| {
        all.chain_update((part.len() as u64).to_le_bytes()).chain_update(part)
    });
    all.finalize().into()
}

impl RecentProviders {
    pub(super) fn find(&self, digest: &SettingsDigest) -> Option<Arc<dyn Provider>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(known, _)| known == digest)?;
        let found = all.remove(at)?;
        all.push_front(found.clone());
        Some(found.1)
    }

    pub(super) fn add(&self, digest: SettingsDigest, provider: Arc<dyn Provider>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_front((digest, provider));
        all.truncate(MAX_RECENT);
    }
}
