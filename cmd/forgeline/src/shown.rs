//! Values of settings, as messages show them.

use std::path::Path;

/// Longest value that a message shows whole, in characters.
#[cfg(any(feature = "serve", test))]
const MAX_CHARS: usize = 80;

/// Beginnings of tokens and keys.
const BEGINNINGS: [&str; 8] = ["fl_", "sha256:", "sk-", "sk_", "AIza", "ghp_", "eyJ", "Bearer "];

/// Least length of letters and digits in a row that are taken for a key, in bytes.
const KEY_BYTES: usize = 20;

/// Returns `true` for a text that looks like a token or a key. Parts of a path or of a sentence are looked at one by one.
pub(crate) fn is_secret(text: &str) -> bool {
    let is_key = |part: &str| {
        let has = |is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
        part.len() >= KEY_BYTES && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
    };
    let begins = |part: &str| BEGINNINGS.iter().any(|begin| part.starts_with(begin));
    text.split(['/', ' ', '=']).any(begins)
        || begins(text)
        || text.split(|sign: char| !sign.is_ascii_alphanumeric()).any(is_key)
}

/// Returns a value as a message shows it: quoted, cut, and without the user and the query of an address. One that looks like a
/// secret is not shown.
#[cfg(any(feature = "serve", test))]
pub(crate) fn shown(value: &str) -> String {
    let value = without_secrets(value);
    if is_secret(&value) {
        return "a value that looks like a secret".to_owned();
    }
    let mut start: String = value.chars().take(MAX_CHARS).collect();
    if start.len() < value.len() {
        start.push('…');
    }
    format!("{start:?}")
}

/// Returns the path of a file that cannot be read, as a message shows it; a word for one that looks like a secret.
pub(crate) fn shown_path(path: &Path) -> String {
    let text = path.display().to_string();
    if is_secret(&text) && !path.exists() {
        "the file (its name looks like a secret and is not shown)".to_owned()
    } else {
        text
    }
}

/// Returns an address without the parts that may be secret: user, password and query.
pub(crate) fn without_secrets(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (start, _) = url.split_at(end);
    let Some((scheme, rest)) = start.split_once("://") else { return start.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_an_address_are_not_shown() {
        #[rustfmt::skip]
        let cases = [
            ("http://127.0.0.1:8080/v1",              "http://127.0.0.1:8080/v1"),
            ("https://user:p@ss@host:1/v1?key=k#f",   "https://host:1/v1"),
            ("https://host?api-key=k",                "https://host"),
            ("https://host/a@b",                      "https://host/a@b"),
        ];
        for (url, want) in cases {
            assert_eq!(without_secrets(url), want);
        }
    }

    #[test]
    fn what_looks_like_a_secret_is_not_shown() {
        let token = format!("fl_{}", "1986abcd".repeat(8));
        for secret in [
            &*token,
            &format!("/run/{token}"),
            &format!("sha256:{} ann", "ab".repeat(32)),
            "sk-live-secret123",
            "AIzaSyD4exampleexample",
            "0123456789abcdef0123456789abcdef",
            "Bearer x",
        ] {
            assert!(is_secret(secret), "{secret}");
            assert!(!shown(secret).contains(secret), "{secret}");
            assert!(!shown_path(Path::new(secret)).contains(secret), "{secret}");
        }
        for plain in [
            "127.0.0.1:8787",
            "/var/service-2026-11-26-of-the-team.db",
            "tokens.txt",
            "x",
            "task-list",
        ] {
            assert!(!is_secret(plain), "{plain}");
            assert_eq!(
                (shown(plain), shown_path(Path::new(plain))),
                (format!("{plain:?}"), plain.to_owned())
            );
        }
        assert_eq!(shown("https://ann:pw@h/"), "\"https://h/\"");
        assert!(shown(&"a ".repeat(1_000)).chars().count() < 100);
    }
}
