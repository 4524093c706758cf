//! Conversion of responses with an error status into typed errors.

use std::time::{Duration, SystemTime};

use crate::{
    RefusedContent, StatusError,
    decode::vendor_error::{ErrorBody, kind, parse_error_body, shorten},
    transport::HttpResponse,
};
use forgeline_types::ErrorCode;

/// Returns the error for a response with an error status; `redact` removes secrets from its text.
pub fn status_error(
    response: &HttpResponse,
    body: &str,
    redact: &dyn Fn(&str) -> String,
) -> StatusError {
    let status = response.status;
    // Redacts before parsing, which may cut a secret in two, and after, since JSON may spell it with escapes.
    let mut said = parse_error_body(&redact(body));
    // Headers may have any length.
    let redacted = |text: &str| shorten(&redact(text));
    said.message = redacted(&said.message);
    said.code = said.code.as_deref().map(redacted);
    if (300..400).contains(&status) {
        let target = response.header("location").unwrap_or("an unnamed place");
        let target = target.split(['?', '#']).next().unwrap_or_default();
        said.message = redacted(&format!(
            "a redirect to {target}; redirects are not followed, set the base URL to this address"
        ));
        return StatusError::new(status, ErrorCode::InvalidRequest, said.message);
    }
    let mut error = StatusError::new(status, kind(Some(status), &said), said.message.clone());
    let ids = ["x-request-id", "request-id", "apim-request-id", "x-kong-request-id", "cf-ray"];
    error.request_id = ids.iter().find_map(|name| response.header(name)).map(redacted);
    error.retry_after = retry_after(response, &said);
    error.refused = RefusedContent::of(error.kind, &said);
    error.code = said.code;
    error.should_retry = match response.header("x-should-retry") {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => None,
    };
    error
}

/// Returns the delay that the server asks for: given in milliseconds, in seconds, or as a date.
fn retry_after(response: &HttpResponse, said: &ErrorBody) -> Option<Duration> {
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    let milliseconds = response.header("retry-after-ms").and_then(|text| text.trim().parse().ok());
    if let Some(milliseconds) = milliseconds.filter(|&time: &f64| time > 0.0) {
        return seconds(milliseconds / 1000.0);
    }
    let Some(text) = response.header("retry-after").map(str::trim) else {
        return said.retry_seconds.and_then(seconds);
    };
    if let Ok(number) = text.parse() {
        return seconds(number);
    }
    let then = httpdate::parse_http_date(text).ok()?;
    Some(then.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, headers: &[(&str, &str)]) -> HttpResponse {
        let body = Box::pin(futures_util::stream::empty());
        headers.iter().fold(HttpResponse::new(status, body), |response, (name, value)| {
            response.with_header(*name, *value)
        })
    }

    #[test]
    fn the_wait_is_read_in_every_spelling() {
        type Row = (&'static [(&'static str, &'static str)], Option<u64>);
        #[rustfmt::skip]
        let cases: [Row; 13] = [
            (&[("Retry-After", "4"), ("retry-after-ms", "3890")], Some(3890)),
            (&[("retry-after", "1"), ("retry-after-ms", "0")],    Some(1000)),
            (&[("retry-after", "1.5")],                           Some(1500)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(0)),
            (&[("retry-after", "-1")],                            None),
            (&[("retry-after", "1e300")],                         None),
            (&[("retry-after", "NaN")],                           None),
            (&[("retry-after", "soon")],                          None),
            (&[("retry-after", "Thu, 29 Feb 2024 12:00:00 GMT")], Some(0)),
            (&[("retry-after", "Thu, 00 Jan 1970 00:00:00 GMT")], None),
            (&[("retry-after", "Sun, 06 Nov 1994 9000000000000000:49:37 GMT")], None),
            (&[("retry-after", "Sun, 06 Nov 1994 08:18446744073709551615:37 GMT")], None),
            (&[],                                                 None),
        ];
        for (headers, want) in cases {
            let error = status_error(&response(429, headers), "", &str::to_owned);
            assert_eq!(error.retry_after.map(|wait| wait.as_millis()), want.map(u128::from));
        }
        let google = r#"[{"error":{"message":"m","details":[{"retryDelay":"48s"}]}}]"#;
        let error = status_error(&response(429, &[]), google, &str::to_owned);
        assert_eq!(error.retry_after, Some(Duration::from_secs(48)));
    }

    #[test]
    fn a_key_that_the_server_repeats_is_redacted() {
        let body = r#"{"error":{"message":"no such key: sk-12345"}}"#;
        let redact = |text: &str| text.replace("sk-12345", "[key]");
        let error = status_error(&response(401, &[]), body, &redact);
        assert_eq!(error.message, "no such key: [key]");
        assert_eq!(error.kind, ErrorCode::Auth);
    }

    #[test]
    fn a_redirect_says_where_to_and_hides_the_query() {
        let headers = [("location", "https://other/v1?token=t")];
        let error = status_error(&response(308, &headers), "", &str::to_owned);
        assert!(error.message.contains("https://other/v1;"), "{}", error.message);
    }

    #[test]
    fn a_date_in_the_future_is_a_wait_until_then() {
        let then = SystemTime::now() + Duration::from_secs(90);
        let date = httpdate::fmt_http_date(then);
        let error = status_error(&response(503, &[("retry-after", &date)]), "", &str::to_owned);
        let wait = error.retry_after.unwrap().as_secs();
        assert!((60..=90).contains(&wait), "{wait}");
    }
}
