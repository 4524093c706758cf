//! TLS for the library's own client: rustls with ring.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, Error, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// The configuration shared by all clients of the process: the system's certificates take 90 KiB.
static CONFIG: OnceLock<ClientConfig> = OnceLock::new();

/// Configures TLS, and makes ring the default of a process without one.
///
/// The system's certificates are read once, by the first client that finds some.
pub(super) fn config() -> Result<ClientConfig, Error> {
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    // Features are shared by all crates of a build: without a default, the program's own
    // `reqwest::Client::new()` would panic because of ours. Where there is a default, this fails.
    ring::default_provider().install_default().ok();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
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
    use crate::transport::ReqwestTransport;

    // Found: F3
    #[test]
    fn a_client_of_the_program_s_own_is_built_beside_ours() {
        let _ours = ReqwestTransport::new().unwrap();
        let _theirs = reqwest::Client::new();
    }
}
