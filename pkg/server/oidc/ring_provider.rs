//! The signatures of tokens, checked by ring.

use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// The provider of this crate. It signs nothing.
static RING: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: new_verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes ring check signatures, unless the program has chosen another library.
pub(super) fn install() {
    if CryptoProvider::try_get_default().is_none() {
        // Another thread may have been faster.
        let (Ok(()) | Err(_)) = RING.install_default();
    }
}

/// The check of signatures with one key.
struct RingVerifier {
    algorithm: Algorithm,
    check: KeyCheck,
}

enum KeyCheck {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8>, parameters: &'static RsaParameters },
    Plain(UnparsedPublicKey<Vec<u8>>),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the type of a verifier factory")]
fn new_verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let check = match (rsa_parameters(*algorithm), plain_algorithm(*algorithm), key.kind()) {
        (Some(parameters), _, DecodingKeyKind::RsaModulusExponent { n, e }) => {
            KeyCheck::Rsa { modulus: n.clone(), exponent: e.clone(), parameters }
        }
        (_, Some(plain), DecodingKeyKind::SecretOrDer(bytes)) => {
            KeyCheck::Plain(UnparsedPublicKey::new(plain, bytes.clone()))
        }
        _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
    };
    Ok(Box::new(RingVerifier { algorithm: *algorithm, check }))
}

/// The algorithms with RSA keys.
const RSA: [(Algorithm, &RsaParameters); 6] = [
    (Algorithm::RS256, &RSA_PKCS1_2048_8192_SHA256),
    (Algorithm::RS384, &RSA_PKCS1_2048_8192_SHA384),
    (Algorithm::RS512, &RSA_PKCS1_2048_8192_SHA512),
    (Algorithm::PS256, &RSA_PSS_2048_8192_SHA256),
    (Algorithm::PS384, &RSA_PSS_2048_8192_SHA384),
    (Algorithm::PS512, &RSA_PSS_2048_8192_SHA512),
];

/// The algorithms with keys of other kinds.
const PLAIN: [(Algorithm, &dyn VerificationAlgorithm); 3] = [
    (Algorithm::ES256, &ECDSA_P256_SHA256_FIXED),
    (Algorithm::ES384, &ECDSA_P384_SHA384_FIXED),
    (Algorithm::EdDSA, &ED25519),
];

fn rsa_parameters(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    RSA.iter().find(|(known, _)| *known == algorithm).map(|(_, parameters)| *parameters)
}

fn plain_algorithm(algorithm: Algorithm) -> Option<&'static dyn VerificationAlgorithm> {
    PLAIN.iter().find(|(known, _)| *known == algorithm).map(|(_, plain)| *plain)
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        match &self.check {
            KeyCheck::Rsa { modulus, exponent, parameters } => {
                RsaPublicKeyComponents { n: modulus, e: exponent }
                    .verify(parameters, message, signature)
            }
            KeyCheck::Plain(key) => key.verify(message, signature),
        }
        .map_err(|_| Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
