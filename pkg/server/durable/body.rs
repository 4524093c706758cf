//! The data of a request, as the records they become.

use axum::{
    body::Bytes,
    extract::{FromRequest as _, Request},
};
use serde_json::value::RawValue;

use super::config::Config;
use crate::server::Problem;

/// Longest record of a stream that is not of JSON values, in bytes. What is longer becomes several.
const MAX_RECORD_BYTES: usize = 64 << 10;

/// Reads the body of a request.
pub(super) async fn read(request: Request) -> Result<Bytes, Problem> {
    Bytes::from_request(request, &()).await.map_err(|rejection| {
        Problem::new(rejection.status(), "body_refused", rejection.body_text())
    })
}

/// Parts the body of a request into the data of records. Of an array of a stream of JSON values each one is its own.
pub(super) fn part(config: &Config, body: &Bytes) -> Result<Vec<Bytes>, Problem> {
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
        return Ok(vec![body.slice_ref(text.as_bytes())]);
    }
    let values: Vec<&RawValue> = serde_json::from_str(text).map_err(wrong)?;
    Ok(values.into_iter().map(|value| body.slice_ref(value.get().as_bytes())).collect())
}
