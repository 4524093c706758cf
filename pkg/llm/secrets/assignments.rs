//! Recognition of secrets by the name to which they are assigned: `DB_PASSWORD=…`.

use std::ops::Range;

use forgeline_json::subslice;

/// Name suffixes, without separators, of values that are secret.
const NAMES: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "secretkey",
    "accesskey",
    "accesskeyid",
    "apikey",
    "privatekey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "sessiontoken",
];

/// Minimum length of a value, in bytes.
const MIN_BYTES: usize = 4;
/// Minimum length of an unquoted value after a colon, where prose may continue, in bytes.
const MIN_PROSE_BYTES: usize = 8;
/// Maximum length of a name that is checked, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Returns the ranges in `text` of the values that are assigned to secret names.
pub(crate) fn assigned_secrets(text: &[u8]) -> Vec<Range<usize>> {
    let signs = memchr::memchr2_iter(b'=', b':', text);
    signs.filter_map(|at| value(text, at)).collect()
}

/// Returns `true` for the name of a secret value, such as `db_password`.
pub(super) fn is_secret_name(name: &str) -> bool {
    is_secret(name.as_bytes(), false)
}

/// Returns the range of the value after the sign at `at`, if the name before it is that of a secret.
fn value(text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_equals = text.get(at) == Some(&b'=');
    let is_quote = |byte: &u8| matches!(byte, b'"' | b'\'' | b'\\' | b'`');
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let before = subslice(text, ..at);
    let gap = before.iter().rev().take_while(|byte| is_space(byte) || is_quote(byte)).count();
    let before = subslice(before, ..before.len() - gap);
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = before.iter().rev().take(MAX_NAME_BYTES).take_while(is_name).count();
    let name = subslice(before, before.len() - length..);
    let is_constant = !name.iter().any(u8::is_ascii_lowercase);
    if !is_secret(name, is_equals && is_constant) {
        return None;
    }
    let behind = subslice(text, at + 1..);
    let lead = behind.iter().take_while(|byte| is_space(byte) || is_quote(byte)).count();
    let is_quoted = subslice(behind, ..lead).iter().any(is_quote);
    let rest = subslice(behind, lead..);
    let is_value = |byte: &&u8| {
        let ends_word = is_space(byte) || b",;&<>)}]".contains(byte);
        byte.is_ascii_graphic() && !is_quote(byte) && (is_quoted || !ends_word)
            || !byte.is_ascii()
            || (is_quoted && is_space(byte))
    };
    let length = rest.iter().take_while(is_value).count();
    let value = subslice(rest, ..length);
    // A name or a call in a program, or a placeholder.
    let is_other = value.first().is_some_and(|first| b"${<*[(%".contains(first));
    let is_other = is_other || (!is_quoted && value.contains(&b'('));
    let has_digit = value.iter().any(u8::is_ascii_digit);
    let is_clear = if is_equals {
        is_constant || is_quoted || has_digit
    } else {
        is_quoted || (has_digit && length >= MIN_PROSE_BYTES)
    };
    let start = at + 1 + lead;
    (length >= MIN_BYTES && is_clear && !is_other).then_some(start..start + length)
}

/// Returns `true` for the name of a secret; tokens count only in the form `NAME_TOKEN=`.
fn is_secret(name: &[u8], is_variable: bool) -> bool {
    let letters = || name.iter().rev().filter(|byte| byte.is_ascii_alphanumeric());
    let ends_with = |end: &str| {
        let mut letters = letters().map(u8::to_ascii_lowercase);
        end.bytes().rev().all(|byte| letters.next() == Some(byte))
    };
    NAMES.iter().any(|end| ends_with(end)) || (is_variable && ends_with("token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Found: R7
    #[test]
    fn values_of_secret_names_are_found_and_other_assignments_are_not() {
        #[rustfmt::skip]
        let cases = [
            ("PASSWORD=hunter22",                         "PASSWORD=#"),
            ("export DB_PASSWORD='two words'\nX=1",       "export DB_PASSWORD='#'\nX=1"),
            (r#"{"text":"A_SECRET=abcdef\nPORT=8080"}"#,  r#"{"text":"A_SECRET=#\nPORT=8080"}"#),
            (r#"{\"password\": \"open sesame\"}"#,        r##"{\"password\": \"#\"}"##),
            ("aws_secret_access_key = abc/DEF+12345678",  "aws_secret_access_key = #"),
            ("AWS_ACCESS_KEY_ID=ABCDEFGH",                "AWS_ACCESS_KEY_ID=#"),
            ("secretAccessKey: \"zyx\u{e9}wvut\"",        "secretAccessKey: \"#\""),
            ("https://h/p?api_key=a1b2c3&x=1",            "https://h/p?api_key=#&x=1"),
            ("HF_TOKEN=abcdefgh",                         "HF_TOKEN=#"),
            ("\"max_tokens\":1000, \"token\":\"the\"",    "\"max_tokens\":1000, \"token\":\"the\""),
            ("\"password\":{\"type\":\"string\"}",        "\"password\":{\"type\":\"string\"}"),
            ("password = read_password(file)",            "password = read_password(file)"),
            ("PASSWORD=$OTHER and PASSWORD=${X}",         "PASSWORD=$OTHER and PASSWORD=${X}"),
            ("the password: it is long",                  "the password: it is long"),
            ("next_page_token: \"a1b2\"",                 "next_page_token: \"a1b2\""),
        ];
        for (text, want) in cases {
            let (mut out, mut end) = (Vec::new(), 0);
            for range in assigned_secrets(text.as_bytes()) {
                out.extend_from_slice(&text.as_bytes()[end..range.start]);
                out.push(b'#');
                end = range.end;
            }
            out.extend_from_slice(&text.as_bytes()[end..]);
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
    }
}
