//! The keys that encrypt secrets.

use std::{fmt, fs::File, io::Read as _, path::Path};

use chacha20poly1305::aead::Generate as _;
use secrecy::{ExposeSecret as _, SecretBox, SecretString};
use sha2::{Digest as _, Sha256};

use super::{
    SealingKeyError, SecretError, SecretName, SecretRow, SecretValue,
    seal::{NONCE, SealPlace, open, seal},
};
use forgeline_types::Text;

/// Maximum number of keys.
const MAX_KEYS: usize = 16;

/// Maximum size of a key file, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// The keys that encrypt secrets: the first encrypts, and all decrypt. `Debug` shows their ids.
///
/// A key is 32 random bytes, written as 64 hexadecimal digits, such as `openssl rand -hex 32` prints them. A key file has one a line; empty lines and
/// lines that begin with `#` do not count. To change the key, put a new one before the others, start all processes of the service with that file, call
/// [`SealedSecrets::rotate`](super::SealedSecrets::rotate), and then remove the old ones. Whoever loses all keys has lost the secrets.
///
/// # Examples
///
/// ```
/// use forgeline::store::SealingKeys;
///
/// let keys = SealingKeys::parse(&"0f".repeat(32))?;
/// assert_eq!(keys.ids().count(), 1);
/// assert!(!format!("{keys:?}").contains("0f0f"));
/// # Ok::<(), forgeline::store::SealingKeyError>(())
/// ```
pub struct SealingKeys {
    first: SealingKey,
    others: Vec<SealingKey>,
}

struct SealingKey {
    id: Text,
    key: SecretBox<[u8; 32]>,
}

impl SealingKey {
    fn new(key: Box<[u8; 32]>) -> Self {
        let digest = Sha256::new_with_prefix(b"forgeline secret key").chain_update(*key).finalize();
        Self { id: hex(&digest[..8]).into(), key: SecretBox::new(key) }
    }

    /// Reads a key; `None` for a text that is none.
    fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut key = Box::new([0; 32]);
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self::new(key))
    }
}

impl SealingKeys {
    /// Reads keys from a text: one a line, or separated by commas.
    ///
    /// # Errors
    ///
    /// Returns an error for a line that is not a key, for a key that occurs twice, and for no key or more than 16.
    pub fn parse(text: &str) -> Result<Self, SealingKeyError> {
        let lines = text.lines().flat_map(|line| line.split(',')).map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut keys = Vec::<SealingKey>::new();
        for (number, line) in (1..).zip(lines) {
            let key = SealingKey::parse(line).ok_or(SealingKeyError::Malformed { number })?;
            if keys.iter().any(|known| known.id == key.id) {
                return Err(SealingKeyError::Twice { number });
            }
            keys.push(key);
        }
        let found = keys.len();
        let mut keys = keys.into_iter();
        match keys.next() {
            Some(first) if found <= MAX_KEYS => Ok(Self { first, others: keys.collect() }),
            _ => Err(SealingKeyError::Count { found, most: MAX_KEYS }),
        }
    }

    /// Reads keys from a file, which its owner alone may read.
    ///
    /// # Errors
    ///
    /// Returns [`SealingKeyError::Unreadable`] or [`SealingKeyError::OpenToOthers`], or the errors of [`parse`](Self::parse).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SealingKeyError> {
        let path = path.as_ref();
        let unreadable = |reason: String| {
            let path = path.to_owned();
            SealingKeyError::Unreadable { path, reason }
        };
        let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let about = file.metadata().map_err(|error| unreadable(error.to_string()))?;
        if !about.is_file() {
            return Err(unreadable("it is not a file".to_owned()));
        }
        #[cfg(unix)]
        if std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0 {
            return Err(SealingKeyError::OpenToOthers { path: path.to_owned() });
        }
        let mut text = String::new();
        let read = file.take(MAX_FILE).read_to_string(&mut text);
        let text = SecretString::from(text);
        read.map_err(|error| unreadable(error.to_string()))?;
        Self::parse(text.expose_secret())
    }

    /// Reads keys from an environment variable.
    ///
    /// # Errors
    ///
    /// Returns [`SealingKeyError::Missing`], or the errors of [`parse`](Self::parse).
    pub fn from_variable(name: &str) -> Result<Self, SealingKeyError> {
        let missing = |_| SealingKeyError::Missing { name: name.to_owned() };
        let text = std::env::var(name).map(SecretString::from).map_err(missing)?;
        Self::parse(text.expose_secret())
    }

    /// Returns a new random key, which is lost with the process.
    ///
    /// # Errors
    ///
    /// Returns [`SecretError::NoRandom`] if the operating system gives no random bytes.
    pub fn random() -> Result<Self, SecretError> {
        let key = <[u8; 32]>::try_generate().map_err(|_| SecretError::NoRandom)?;
        Ok(Self { first: SealingKey::new(Box::new(key)), others: Vec::new() })
    }

    /// Returns the ids of the keys, the one that encrypts first. An id says nothing about its key.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.all().map(|key| key.id.as_str())
    }

    fn all(&self) -> impl Iterator<Item = &SealingKey> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Returns the id of the key that encrypts.
    pub(super) fn first_id(&self) -> &str {
        &self.first.id
    }

    /// Encrypts a secret for its place.
    pub(super) fn seal(
        &self,
        container: &str,
        name: &str,
        value: &SecretValue,
    ) -> Result<SecretRow, SecretError> {
        let SealingKey { id, key } = &self.first;
        let nonce = <[u8; NONCE]>::try_generate().map_err(|_| SecretError::NoRandom)?;
        let place = SealPlace { container, name, key: id };
        let sealed = seal(key.expose_secret(), nonce, place, value.expose().as_bytes());
        let too_long = || SecretError::invalid("value of a secret", "a shorter one");
        Ok(SecretRow::new(container, name, id.clone(), sealed.ok_or_else(too_long)?))
    }

    /// Decrypts a row that was asked for by this scope and name.
    pub(super) fn open(
        &self,
        container: &str,
        name: &SecretName,
        row: &SecretRow,
    ) -> Result<SecretValue, SecretError> {
        let Some(SealingKey { id, key }) = self.all().find(|key| key.id == row.key) else {
            // Whatever is stored there is shown: no more than an id has.
            let key: String = row.key.chars().filter(char::is_ascii_hexdigit).take(16).collect();
            return Err(SecretError::UnknownKey { name: name.as_str().into(), key: key.into() });
        };
        let changed = || SecretError::changed(name.as_str());
        let place = SealPlace { container, name: name.as_str(), key: id };
        let value = open(key.expose_secret(), place, &row.sealed).ok_or_else(changed)?;
        let value = String::from_utf8(value).map_err(|_| changed())?;
        SecretValue::new(value).map_err(|_| changed())
    }
}

impl fmt::Debug for SealingKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.ids()).finish()
    }
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}
