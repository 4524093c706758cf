//! Conversion of the body of a request into records.

use std::{cell::Cell, fmt};

use axum::{
    body::Bytes,
    extract::{FromRequest as _, Request},
    http::StatusCode,
};
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::config::StreamConfig;
use crate::Problem;

/// Maximum size of a record of a stream that is not JSON, in bytes. Longer data become several records.
const MAX_RECORD_BYTES: usize = 64 << 10;

/// Maximum number of values of an append to a JSON stream: each becomes a record, which takes more memory than a short value.
const MAX_VALUES: usize = 10_000;

/// Reads the body of a request.
pub(crate) async fn read_body(request: Request) -> Result<Bytes, Problem> {
    Bytes::from_request(request, &()).await.map_err(|rejection| {
        Problem::new(rejection.status(), "body_refused", rejection.body_text())
    })
}

/// Splits the body of a request into the data of records. Each element of an array sent to a JSON stream becomes a record of its own.
pub(crate) fn part(config: &StreamConfig, body: &Bytes) -> Result<Vec<Bytes>, Problem> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    if !config.is_json() {
        let pieces = body.chunks(MAX_RECORD_BYTES);
        return Ok(pieces.map(|piece| body.slice_ref(piece)).collect());
    }
    let wrong = |error: serde_json::Error| Problem::bad(format!("the body is not JSON: {error}"));
    let value: &RawValue = serde_json::from_slice(body).map_err(wrong)?;
    let text = value.get();
    if !text.starts_with('[') {
        return Ok(gathered(body, &[value]));
    }
    let is_over = Cell::new(false);
    let mut reader = serde_json::Deserializer::from_str(text);
    let values = ValueRecords(&is_over).deserialize(&mut reader);
    if is_over.get() {
        let detail =
            format!("the array has more than {MAX_VALUES} values; send them in several appends");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_many_values", detail));
    }
    Ok(gathered(body, &values.map_err(wrong)?))
}

/// Returns values as slices of the body, or of a copy if the body is mostly whitespace, which the slices would keep in memory.
fn gathered(body: &Bytes, values: &[&RawValue]) -> Vec<Bytes> {
    let texts = values.iter().map(|value| value.get().as_bytes());
    let length: usize = texts.clone().map(<[u8]>::len).sum();
    if length >= body.len() / 2 {
        return texts.map(|text| body.slice_ref(text)).collect();
    }
    let mut copy = Bytes::from(texts.clone().collect::<Vec<_>>().concat());
    texts.map(|text| copy.split_to(text.len())).collect()
}

/// A deserializer of an array with a limited number of elements.
struct ValueRecords<'c>(&'c Cell<bool>);

impl<'de> DeserializeSeed<'de> for ValueRecords<'_> {
    type Value = Vec<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ValueRecords<'_> {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = from.next_element()? {
            if values.len() >= MAX_VALUES {
                self.0.set(true);
                return Err(A::Error::custom("too many values"));
            }
            values.push(value);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Result<(Bytes, Vec<Bytes>), StatusCode> {
        let body = Bytes::from(text.to_owned());
        let fields = [("content-type", "application/json")];
        let fields = fields.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let config = StreamConfig::parse(&fields.into_iter().collect()).unwrap();
        let parts = part(&config, &body)
            .map_err(|problem| axum::response::IntoResponse::into_response(problem).status())?;
        Ok((body, parts))
    }

    #[test]
    fn an_append_has_a_bound_of_values() {
        let zeros = |count: usize| format!("[{}]", vec!["0"; count].join(","));
        assert_eq!(parts(&zeros(MAX_VALUES)).unwrap().1.len(), MAX_VALUES);
        assert_eq!(parts(&zeros(MAX_VALUES + 1)).unwrap_err(), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(parts(&zeros(9).replace(']', "x")).unwrap_err(), StatusCode::BAD_REQUEST);
        assert_eq!(parts("[1] 2").unwrap_err(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn values_do_not_keep_the_blanks_of_their_body() {
        let is_within = |body: &Bytes, part: &Bytes| body.as_ptr_range().contains(&part.as_ptr());
        let (body, values) = parts(r#"[{"a":1}, [2,3]]"#).unwrap();
        assert_eq!(values, [&br#"{"a":1}"#[..], b"[2,3]"]);
        assert!(values.iter().all(|value| is_within(&body, value)));
        for text in
            [format!("[1,{}\"two\"]", " ".repeat(999)), format!("{}[1,\"two\"]", " ".repeat(999))]
        {
            let (body, values) = parts(&text).unwrap();
            assert_eq!(values, [&b"1"[..], b"\"two\""]);
            assert!(!values.iter().any(|value| is_within(&body, value)), "{text}");
        }
        let (body, values) = parts(&format!("7{}", " ".repeat(999))).unwrap();
        assert!(values == [&b"7"[..]] && !is_within(&body, &values[0]));
    }
}
