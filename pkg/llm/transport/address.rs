//! The parts of a URL, as written.

/// Names of query parameters whose values are not secret.
const PUBLIC_VALUES: [&str; 4] = ["alt", "api-version", "version", "beta"];

/// The parts of a URL, without its fragment.
#[derive(Debug, Clone, Copy)]
pub struct UrlAddress<'u> {
    /// The scheme with its `://`; empty in a relative URL.
    #[doc(hidden)]
    pub scheme: &'u str,
    /// The user and password; empty if there are none.
    #[doc(hidden)]
    pub user: &'u str,
    /// The host and port.
    #[doc(hidden)]
    pub host: &'u str,
    /// The path with its leading slash.
    #[doc(hidden)]
    pub path: &'u str,
    query: &'u str,
}

impl<'u> UrlAddress<'u> {
    /// Splits `url` without decoding it.
    #[doc(hidden)]
    pub fn new(url: &'u str) -> Self {
        let url = url.split('#').next().unwrap_or_default();
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, rest) = address.split_at(address.find("://").map_or(0, |at| at + 3));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        Self { scheme, user, host, path, query }
    }

    /// Returns the names and values of the query; a part without `=` is a value without a name.
    fn query(&self) -> impl Iterator<Item = (&'u str, &'u str)> {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or(("", pair)))
    }

    /// Returns the values of the query that may be secret.
    #[doc(hidden)]
    pub fn secret_values(&self) -> impl Iterator<Item = &'u str> {
        self.query().filter(|(name, _)| !PUBLIC_VALUES.contains(name)).map(|(_, value)| value)
    }

    /// Returns the URL without user and password, and with `mark` in place of secret values.
    pub(crate) fn redacted(&self, mark: &str) -> String {
        let mut out = format!("{}{}{}", self.scheme, self.host, self.path);
        for (at, (name, value)) in self.query().enumerate() {
            out.push(if at == 0 { '?' } else { '&' });
            let value = if PUBLIC_VALUES.contains(&name) { value } else { mark };
            out.extend([name, "=", value]);
        }
        out
    }
}

/// Returns `url` for logs: without user and password, and with `…` in place of secret values.
pub fn redact_url(url: &str) -> String {
    UrlAddress::new(url).redacted("…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redacted_url_has_no_password_and_no_secret_value() {
        let rows = [
            ("https://me:pass@h:1/p?key=sk-1&x=2", "https://h:1/p?key=…&x=…"),
            ("https://h/p?api-version=1&sk-1#f", "https://h/p?api-version=1&=…"),
            ("http://h", "http://h"),
            ("/p?token=1", "/p?token=…"),
        ];
        for (url, want) in rows {
            assert_eq!(redact_url(url), want);
        }
    }
}
