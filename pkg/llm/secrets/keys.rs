//! Recognition of API keys by their form.

use std::ops::Range;

use forgeline_json::subslice;

/// Prefixes of vendors' keys, each with the minimum number of letters that follow.
#[rustfmt::skip]
const PREFIXES: [(&str, usize); 23] = [
    ("sk-", 8), ("sk_", 16), ("rk_", 16), ("AIza", 20), ("gsk_", 16), ("xai-", 16), ("hf_", 16),
    ("ghp_", 16), ("gho_", 16), ("ghs_", 16), ("ghu_", 16), ("github_pat_", 16), ("glpat-", 12),
    ("xoxb-", 10), ("xoxp-", 10), ("AKIA", 12), ("ASIA", 12), ("nvapi-", 16), ("pplx-", 16),
    ("tvly-", 12), ("csk-", 16), ("r8_", 16), ("ya29.", 16),
];

/// Minimum number of letters after `Bearer `.
const MIN_BEARER: usize = 8;

/// Calls `found` with the range of each word of `text` that looks like a key.
pub(crate) fn look_alikes(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    let mut at = 0;
    while at < text.len() {
        let rest = subslice(text, at..);
        let length = match rest.first() {
            Some(b'B' | b'b') => bearer(rest),
            Some(b'e') => token(rest),
            Some(_) => prefixed(rest),
            None => None,
        };
        match length.filter(|_| starts_word(text, at)) {
            Some(length) => {
                found(at..at + length);
                at += length;
            }
            None => at += 1,
        }
    }
}

fn prefixed(text: &[u8]) -> Option<usize> {
    let (prefix, least) =
        PREFIXES.iter().find(|(prefix, _)| text.starts_with(prefix.as_bytes()))?;
    let tail = text.get(prefix.len()..)?;
    let length = word(tail);
    // A name in a program, such as `hf_hub_download`, has no digit.
    let has_digit = || tail.iter().take(length).any(u8::is_ascii_digit);
    let is_key = length >= *least && (!prefix.ends_with('_') || has_digit());
    let is_cut = length == tail.len();
    (is_key || is_cut).then_some(prefix.len() + length)
}

/// Returns the length of `Bearer KEY`; a word in prose has no digit.
fn bearer(text: &[u8]) -> Option<usize> {
    let (scheme, key) = text.split_at_checked("Bearer ".len())?;
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    let is_letter = |byte: &&u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b',');
    let length = key.iter().take_while(is_letter).count();
    let has_digit = key.iter().take(length).any(u8::is_ascii_digit);
    (length >= MIN_BEARER && has_digit).then_some(scheme.len() + length)
}

/// Returns the length of a JSON Web Token: three words in base64, two of which are objects.
fn token(text: &[u8]) -> Option<usize> {
    let mut parts = text.split(|byte| *byte == b'.');
    let (head, claims) = (parts.next()?, parts.next()?);
    let is_object = |part: &[u8]| part.starts_with(b"eyJ");
    let whole = |part: &[u8]| word(part) == part.len() && part.len() >= 8;
    if !(is_object(head) && whole(head) && is_object(claims) && word(claims) >= 8) {
        return None;
    }
    let signed = head.len() + 1 + word(claims);
    let signature = text.get(signed..).and_then(|rest| rest.strip_prefix(b"."));
    Some(signed + signature.map_or(0, |signature| 1 + word(signature)))
}

fn word(text: &[u8]) -> usize {
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.iter().take_while(is_letter).count()
}

/// Returns `true` if a word may begin at `at`. The letter before it is not part of the word if an
/// escape ends with that letter, as in `\nsk-…` and `%3Dsk-…`.
fn starts_word(text: &[u8], at: usize) -> bool {
    match subslice(text, ..at) {
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [] | [.., b'\\', _] | [.., b'%', _, _] | [.., b'\\', b'u', _, _, _, _] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        look_alikes(text.as_bytes(), |range| bytes[range].fill(b'x'));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn keys_are_found_and_prose_is_not() {
        // Put together here, so that no scanner takes them for leaked ones.
        let tail = "A1b2C3d4E5f6G7h8I9j0K1l2";
        for prefix in PREFIXES.map(|(prefix, _)| prefix) {
            for (before, after) in
                [("", ""), ("key=", "&"), (r"\n", r"\n"), ("%3D", ""), ("\"", "\"")]
            {
                let text = format!("{before}{prefix}{tail}{after}");
                let want = format!("{before}{}{after}", "x".repeat(prefix.len() + tail.len()));
                assert_eq!(redacted(&text), want);
            }
        }
        let token = format!("a eyJ{tail}.eyJ{tail}.{tail}, b");
        assert_eq!(redacted(&token), format!("a {}, b", "x".repeat(token.len() - 5)));
        assert_eq!(
            redacted("Authorization: bearer abc12345\r\n"),
            "Authorization: xxxxxxxxxxxxxxx\r\n"
        );
        for text in [
            "a task-list-of-things",
            "hf_hub_download_with_retries()",
            "eyJ and so on",
            "Bearer authentication is used",
            "AKIA and ASIA are prefixes",
            "sk-",
            "risk-assessment",
        ] {
            assert!(text == "sk-" || redacted(text) == text, "{text}: {}", redacted(text));
        }
    }

    #[test]
    fn the_start_of_a_key_at_the_end_of_a_cut_body_is_found() {
        assert_eq!(redacted("key: sk-ab"), "key: xxxxx");
    }
}
