//! The headers of the protocol.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::{Problem, problem::MAX_SHOWN};
use forgeline_types::private::clipped;

pub(crate) const NEXT_OFFSET: HeaderName = HeaderName::from_static("stream-next-offset");
pub(crate) const UP_TO_DATE: HeaderName = HeaderName::from_static("stream-up-to-date");
pub(crate) const CLOSED: HeaderName = HeaderName::from_static("stream-closed");
pub(crate) const CURSOR: HeaderName = HeaderName::from_static("stream-cursor");
pub(crate) const TTL: HeaderName = HeaderName::from_static("stream-ttl");
pub(crate) const EXPIRES_AT: HeaderName = HeaderName::from_static("stream-expires-at");
pub(crate) const SEQ: HeaderName = HeaderName::from_static("stream-seq");
pub(crate) const ENCODING: HeaderName = HeaderName::from_static("stream-sse-data-encoding");
pub(crate) const PRODUCER_ID: HeaderName = HeaderName::from_static("producer-id");
pub(crate) const PRODUCER_EPOCH: HeaderName = HeaderName::from_static("producer-epoch");
pub(crate) const PRODUCER_SEQ: HeaderName = HeaderName::from_static("producer-seq");
pub(crate) const EXPECTED_SEQ: HeaderName = HeaderName::from_static("producer-expected-seq");
pub(crate) const RECEIVED_SEQ: HeaderName = HeaderName::from_static("producer-received-seq");

/// Prefix of the headers that ask for a fork of another stream.
const FORK: &str = "stream-fork";

/// Maximum length of a header value, in bytes.
const MAX_VALUE_BYTES: usize = 1024;

/// Returns the text of a header, if present.
pub(crate) fn text<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let value = value.to_str().ok().filter(|value| value.len() <= MAX_VALUE_BYTES);
    match value {
        Some(value) if values.next().is_none() => Ok(Some(value.trim())),
        _ => Err(Problem::bad(format!(
            "the header `{name}` must be sent once, as plain text of at most {MAX_VALUE_BYTES} bytes"
        ))),
    }
}

/// Returns the integer of a header, written without a sign, leading zeros or a decimal point.
pub(crate) fn number(headers: &HeaderMap, name: &HeaderName) -> Result<Option<u64>, Problem> {
    let Some(text) = text(headers, name)? else { return Ok(None) };
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !has_leading_zero(text);
    let number = text.parse().ok().filter(|_| is_plain);
    number.map(Some).ok_or_else(|| {
        let text = clipped(text, MAX_SHOWN);
        Problem::bad(format!("invalid header `{name}`: `{text}` is not a whole number"))
    })
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

/// Refuses a request to fork another stream: an empty stream is not what was asked for.
pub(crate) fn refuse_forks(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(name) = headers.keys().find(|name| name.as_str().starts_with(FORK)) else {
        return Ok(());
    };
    let name = clipped(name.as_str(), MAX_SHOWN);
    let detail = format!(
        "forking streams is not supported; send the request without `{name}`, and append the data to the new stream"
    );
    Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "no_forks", detail))
}

/// Returns `true` if the request closes the stream.
pub(crate) fn is_closed(headers: &HeaderMap) -> Result<bool, Problem> {
    Ok(text(headers, &CLOSED)?.is_some_and(|value| value.eq_ignore_ascii_case("true")))
}

/// Sets a header to the displayed value, if a header can contain it.
pub(crate) fn set(headers: &mut HeaderMap, name: HeaderName, value: &impl ToString) {
    if let Ok(value) = HeaderValue::from_str(&value.to_string()) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_digits_without_a_sign_or_leading_zeros() {
        for (value, want) in [
            ("0", Some(0)),
            ("10", Some(10)),
            (" 7 ", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("+5", None),
            ("-5", None),
            ("05", None),
            ("00", None),
            ("5.0", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(TTL, HeaderValue::from_static(value));
            assert_eq!(number(&headers, &TTL).ok().flatten(), want, "{value:?}");
        }
        assert_eq!(number(&HeaderMap::new(), &TTL).ok(), Some(None));
    }
}
