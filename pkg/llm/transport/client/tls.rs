//! TLS for the library's own client: rustls, with ring unless the program has chosen.

use std::sync::{Arc, OnceLock};

use hyper_rustls::HttpsConnector;
use rustls::{
    ClientConfig, Error, RootCertStore,
    crypto::{CryptoProvider, ring},
};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// A connector whose connections to `https` are secured.
pub(super) type SecuredConnector<C> = HttpsConnector<C>;

/// Secures connections.
#[derive(Clone)]
pub(super) struct TlsLayer(Arc<ClientConfig>);

impl TlsLayer {
    /// Configures TLS.
    ///
    /// # Errors
    ///
    /// Returns an error if the provider of cryptography has no version of TLS that is safe.
    pub(super) fn new() -> Result<Self, Error> {
        config().map(|config| Self(Arc::new(config)))
    }

    pub(super) fn over<C>(&self, connector: C) -> SecuredConnector<C> {
        SecuredConnector::from((connector, Arc::clone(&self.0)))
    }

    /// Secures connections to a proxy, with which HTTP/1 is spoken.
    pub(super) fn to_proxy<C>(&self, connector: C) -> SecuredConnector<C> {
        let mut config = ClientConfig::clone(&self.0);
        config.alpn_protocols.clear();
        SecuredConnector::from((connector, Arc::new(config)))
    }
}

/// The configuration shared by all clients of the process: the system's certificates take 90 KiB.
static CONFIG: OnceLock<ClientConfig> = OnceLock::new();

/// Configures TLS. The default provider of the process is used if there is one, and never set: a program that
/// installs its own may do so at any time.
///
/// The system's certificates are read once, by the first client that finds some.
fn config() -> Result<ClientConfig, Error> {
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let cryptography = CryptoProvider::get_default().cloned();
    let cryptography = cryptography.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let builder =
        ClientConfig::builder_with_provider(cryptography).with_safe_default_protocol_versions()?;
    // A machine without certificates can still connect to a local server over plain HTTP.
    let verified = builder.clone().with_platform_verifier();
    let has_certificates = verified.is_ok();
    let mut config = match verified {
        Ok(builder) => builder.with_no_client_auth(),
        Err(_) => builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(if has_certificates { CONFIG.get_or_init(|| config).clone() } else { config })
}

#[cfg(test)]
mod tests {
    use rustls::crypto::CryptoProvider;

    use crate::transport::HttpTransport;

    // Found: F3
    #[test]
    fn the_default_of_the_process_is_left_to_the_program() {
        let _ours = HttpTransport::new().unwrap();
        assert!(CryptoProvider::get_default().is_none());
    }
}
