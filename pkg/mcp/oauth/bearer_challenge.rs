//! The challenge of a server that refuses a request.

/// The challenge of a server: `WWW-Authenticate: Bearer …`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BearerChallenge {
    /// The URL of the server's metadata as a resource.
    pub(crate) resource_metadata: Option<String>,
    /// The required scopes.
    pub(crate) scope: Option<String>,
    /// The error code, such as `insufficient_scope`.
    pub(crate) error: Option<String>,
}

impl BearerChallenge {
    /// Returns `true` when the token is valid, but more scopes are required.
    pub(crate) fn is_step_up(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Parses the parameters of the scheme `Bearer`; those of other schemes are skipped.
    pub(crate) fn parse(header: &str) -> Self {
        let mut challenge = Self::default();
        let mut is_bearer = false;
        let mut rest = header.trim_start_matches([' ', '\t', ',']);
        while !rest.is_empty() {
            let end = rest.find(['=', ' ', '\t', ',']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let after = after.trim_start_matches([' ', '\t']);
            let Some(value) = after.strip_prefix('=').filter(|_| !word.is_empty()) else {
                // A word without a value is the scheme of the parameters that follow.
                is_bearer = word.eq_ignore_ascii_case("bearer");
                rest = after.trim_start_matches([' ', '\t', ',', '=']);
                continue;
            };
            let (value, after) = value_of(value.trim_start_matches([' ', '\t']));
            let member = match word.to_ascii_lowercase().as_str() {
                "resource_metadata" => Some(&mut challenge.resource_metadata),
                "scope" => Some(&mut challenge.scope),
                "error" => Some(&mut challenge.error),
                _ => None,
            };
            if let Some(member) = member.filter(|_| is_bearer) {
                member.get_or_insert(value);
            }
            rest = after.trim_start_matches([' ', '\t', ',']);
        }
        challenge
    }
}

/// Returns the value at the start, quoted or not, and the rest.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, after) = text.split_at(text.find([',', ' ', '\t']).unwrap_or(text.len()));
        return (value.to_owned(), after);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_bearer_are_read_in_any_order_and_spelling() {
        let cases = [
            ("", None, None, None),
            ("Bearer", None, None, None),
            (
                r#"Bearer scope="a b", resource_metadata="https://h/x""#,
                Some("https://h/x"),
                Some("a b"),
                None,
            ),
            ("bearer error=invalid_token,scope=a", None, Some("a"), Some("invalid_token")),
            (
                r#"Basic realm="scope=b", Bearer realm="x, y", scope="a\"b""#,
                None,
                Some("a\"b"),
                None,
            ),
            (r#"Bearer scope="a", Basic scope="b""#, None, Some("a"), None),
            (r#"Bearer scope="open"#, None, Some("open"), None),
            ("Bearer scope = a , error = e", None, Some("a"), Some("e")),
            ("Bearer abc==", None, None, None),
            ("= , Bearer scope=a", None, Some("a"), None),
        ];
        for (header, metadata, scope, error) in cases {
            let got = BearerChallenge::parse(header);
            let got =
                (got.resource_metadata.as_deref(), got.scope.as_deref(), got.error.as_deref());
            assert_eq!(got, (metadata, scope, error), "{header}");
        }
    }
}
