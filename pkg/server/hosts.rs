//! Requests to this machine's own address that a page of someone else sends.

use axum::http::{HeaderMap, StatusCode, header, uri::Authority};

use super::Problem;

/// Refuses a request for another host, which a name that was bound anew sends here, and one from a page of another origin.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Problem> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let authority = host.and_then(|host| host.parse::<Authority>().ok());
    let Some(authority) = authority.filter(|authority| is_own(authority.host())) else {
        let detail = "without tokens the service answers to 127.0.0.1 and localhost only";
        return Err(Problem::new(StatusCode::FORBIDDEN, "wrong_host", detail));
    };
    if ["forwarded", "x-forwarded-for", "x-real-ip"].iter().any(|name| headers.contains_key(*name))
    {
        let detail =
            "without tokens the service answers to this machine only, and not through a proxy";
        return Err(Problem::new(StatusCode::FORBIDDEN, "wrong_host", detail));
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
    if origin.is_some_and(|origin| origin.eq_ignore_ascii_case(authority.as_str())) {
        return Ok(());
    }
    let detail = "a page of another origin may not send this";
    Err(Problem::new(StatusCode::FORBIDDEN, "wrong_origin", detail))
}

fn is_own(host: &str) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|own| host.eq_ignore_ascii_case(own))
}
