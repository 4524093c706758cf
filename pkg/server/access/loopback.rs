//! Protection of a loopback service from requests of other machines and of pages of other origins.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, StatusCode, header, request::Parts, uri::Authority},
};

use super::origins;
use crate::Problem;

/// Headers that proxies add.
const PROXIES: [&str; 6] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];

/// Refuses a request from another machine, a request for another host (as DNS rebinding sends), and a request from a page of another origin.
pub(crate) fn check(parts: &Parts) -> Result<(), Problem> {
    check_peer(parts)?;
    let authority = check_host(&parts.headers)?;
    if origins::is_allowed(parts) {
        return Ok(());
    }
    check_origin(&parts.headers, &authority)
}

fn check_peer(parts: &Parts) -> Result<(), Problem> {
    let refused = |detail: &str| Err(Problem::new(StatusCode::FORBIDDEN, "wrong_peer", detail));
    match parts.extensions.get::<ConnectInfo<SocketAddr>>() {
        Some(ConnectInfo(peer)) if peer.ip().to_canonical().is_loopback() => {}
        Some(_) => {
            return refused("without tokens, the service answers requests from this machine only");
        }
        None => {
            return refused(
                "the address of the client is not known; serve with `into_make_service_with_connect_info::<SocketAddr>()`, or set `identify`",
            );
        }
    }
    if PROXIES.iter().any(|name| parts.headers.contains_key(*name)) {
        return refused(
            "without tokens, the service answers requests from this machine only, and not through a proxy",
        );
    }
    Ok(())
}

fn check_host(headers: &HeaderMap) -> Result<Authority, Problem> {
    // With two `Host` headers, another program may have used the other one.
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().filter(|_| hosts.next().is_none()).and_then(|host| host.to_str().ok());
    let authority = host.and_then(|host| host.parse::<Authority>().ok());
    authority.filter(is_own).ok_or_else(|| {
        let detail =
            "without tokens, the service answers requests to 127.0.0.1, [::1] and localhost only";
        Problem::new(StatusCode::FORBIDDEN, "wrong_host", detail)
    })
}

fn check_origin(headers: &HeaderMap, authority: &Authority) -> Result<(), Problem> {
    let detail = "a page from another origin may not send this request";
    let refused = || Problem::new(StatusCode::FORBIDDEN, "wrong_origin", detail);
    // Browsers describe the page in this header; other programs do not send it.
    let site = headers.get("sec-fetch-site").map(axum::http::HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        return Err(refused());
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
    let is_same = origin.is_some_and(|origin| origin.eq_ignore_ascii_case(authority.as_str()));
    is_same.then_some(()).ok_or_else(refused)
}

fn is_own(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_loopback =
        address.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback());
    !authority.as_str().contains('@') && (is_loopback || host.eq_ignore_ascii_case("localhost"))
}
