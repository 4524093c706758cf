//! TLS to the server: rustls, with ring unless the program has chosen.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, pem::PemObject as _},
};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::StoreError;

/// Returns the configuration of secured connections. Trusts the authorities of a file, or those of the system.
pub(crate) fn client_config(roots: Option<&Path>) -> Result<ClientConfig, StoreError> {
    let cryptography = CryptoProvider::get_default().cloned();
    let cryptography = cryptography.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let builder = ClientConfig::builder_with_provider(cryptography)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    let builder = match roots {
        Some(path) => builder.with_root_certificates(read(path)?),
        None => match builder.clone().with_platform_verifier() {
            Ok(builder) => builder,
            // A machine without certificates can still connect by a socket.
            Err(_) => builder.with_root_certificates(RootCertStore::empty()),
        },
    };
    Ok(builder.with_no_client_auth())
}

fn read(path: &Path) -> Result<RootCertStore, StoreError> {
    let failed = |error: &dyn std::fmt::Display| StoreError::Unavailable {
        reason: format!("the certificates in {} cannot be used: {error}", path.display()),
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))? {
        let certificate = certificate.map_err(|error| failed(&error))?;
        roots.add(certificate).map_err(|error| failed(&error))?;
    }
    if roots.is_empty() { Err(failed(&"the file has none")) } else { Ok(roots) }
}

fn unusable(error: &rustls::Error) -> StoreError {
    StoreError::Unavailable { reason: format!("TLS cannot be used: {error}") }
}
