//! The encryption of a secret, as a pure function of key, nonce, place and value.

use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};

/// The first byte of each sealed value: the version of its form.
const VERSION: u8 = 1;

/// Length of a nonce, in bytes: so long that random ones do not repeat.
pub(super) const NONCE: usize = 24;

/// The place of a sealed value, to which it is bound: it opens nowhere else.
#[derive(Debug, Clone, Copy)]
pub(super) struct SealPlace<'a> {
    pub(super) container: &'a str,
    pub(super) name: &'a str,
    /// The id of the key.
    pub(super) key: &'a str,
}

impl SealPlace<'_> {
    /// Returns the associated data: each part after its length, so that no two places have the same.
    fn associated(self) -> Vec<u8> {
        let mut data = b"forgeline secret\x01".to_vec();
        for part in [self.container, self.name, self.key] {
            data.extend_from_slice(&(part.len() as u64).to_le_bytes());
            data.extend_from_slice(part.as_bytes());
        }
        data
    }
}

/// Encrypts a value: version, nonce, ciphertext and tag. `None` for a value of more than 256 GiB.
pub(super) fn seal(
    key: &[u8; 32],
    nonce: [u8; NONCE],
    place: SealPlace<'_>,
    value: &[u8],
) -> Option<Vec<u8>> {
    let associated = place.associated();
    let payload = Payload { msg: value, aad: &associated };
    let nonce = XNonce::from(nonce);
    let sealed = XChaCha20Poly1305::new(&(*key).into()).encrypt(&nonce, payload).ok()?;
    let mut all = vec![VERSION];
    all.extend_from_slice(&nonce);
    all.extend_from_slice(&sealed);
    Some(all)
}

/// Decrypts a value; `None` unless it was sealed with this key, for this place, and is unchanged.
pub(super) fn open(key: &[u8; 32], place: SealPlace<'_>, sealed: &[u8]) -> Option<Vec<u8>> {
    let (version, rest) = sealed.split_first()?;
    let (nonce, sealed) = rest.split_first_chunk::<NONCE>()?;
    if *version != VERSION {
        return None;
    }
    let associated = place.associated();
    let payload = Payload { msg: sealed, aad: &associated };
    XChaCha20Poly1305::new(&(*key).into()).decrypt(&XNonce::from(*nonce), payload).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: SealPlace<'static> =
        SealPlace { container: "user-ann", name: "openai", key: "00" };

    #[test]
    fn a_value_sealed_by_an_earlier_version_of_the_library_opens() {
        let sealed = seal(&[7; 32], [9; NONCE], PLACE, b"sk-1").unwrap();
        let hex: Vec<_> = sealed.iter().map(|byte| format!("{byte:02x}")).collect();
        let known = "01090909090909090909090909090909090909090909090909cd19cfbb4a6f45fa48e8873d9c347aee865eed4f";
        assert_eq!(hex.concat(), known);
        assert_eq!(open(&[7; 32], PLACE, &sealed).unwrap(), b"sk-1");
    }

    #[test]
    fn any_changed_byte_missing_end_or_other_place_is_refused() {
        let sealed = seal(&[7; 32], [9; NONCE], PLACE, b"sk-1").unwrap();
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut changed = sealed.clone();
                changed[at] ^= 1 << bit;
                assert_eq!(open(&[7; 32], PLACE, &changed), None, "byte {at}, bit {bit}");
            }
            assert_eq!(open(&[7; 32], PLACE, &sealed[..at]), None, "cut at {at}");
        }
        let others = [
            SealPlace { container: "user-bob", ..PLACE },
            SealPlace { name: "openai2", ..PLACE },
            SealPlace { key: "01", ..PLACE },
            // The same bytes, cut elsewhere.
            SealPlace { container: "user-annopen", name: "ai", ..PLACE },
        ];
        for other in others {
            assert_eq!(open(&[7; 32], other, &sealed), None, "{other:?}");
        }
        assert_eq!(open(&[8; 32], PLACE, &sealed), None);
    }
}
