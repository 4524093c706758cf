//! The web console: a page, its styles and its modules, served as they are in `assets`.
//!
//! The files are part of the binary, contain no data and contact no other host. Their data comes from the service's routes, with the caller's token.

mod assets;

use std::{fmt::Write as _, sync::LazyLock};

use axum::{
    Router,
    body::Body,
    extract::{OriginalUri, Path},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use sha2::{Digest as _, Sha256};

use self::assets::{ASSETS, ConsoleAsset, PAGE};
use super::{Problem, http::etag};

/// The headers of every response. The page loads, runs and contacts only what this service serves.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    // Revalidated on every request, so that a newer version is used at once.
    (header::CACHE_CONTROL, "no-cache"),
];

/// The placeholder in the page for the path of the service, relative to the page: a proxy may have put something before it.
const BASE: &str = "{base}";

/// The entity tags of the assets, in the same order.
static TAGS: LazyLock<Vec<String>> =
    LazyLock::new(|| ASSETS.iter().map(|asset| tag(asset.text)).collect());

/// Returns the routes of the console.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/", get(page)).route("/console/{name}", get(asset))
}

async fn page(OriginalUri(uri): OriginalUri, headers: HeaderMap) -> Response {
    let page = PAGE.replace(BASE, relative_base(uri.path()));
    let tag = tag(&page);
    answer(&headers, "text/html; charset=utf-8", &tag, page)
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let known = ASSETS.iter().zip(&*TAGS).find(|(asset, _)| asset.name == name);
    let Some((ConsoleAsset { kind, text, .. }, tag)) = known else {
        return Problem::not_found("file of the console", &name).into_response();
    };
    answer(&headers, kind, tag, *text)
}

fn answer(headers: &HeaderMap, kind: &'static str, tag: &str, text: impl Into<Body>) -> Response {
    let mut response = if etag::is_known(headers, tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Response::new(text.into())
    };
    let head = response.headers_mut();
    for (name, value) in HEADERS {
        head.insert(name, HeaderValue::from_static(value));
    }
    head.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        head.insert(header::ETAG, tag);
    }
    response
}

/// Returns the entity tag of a text, for revalidation by browsers.
fn tag(text: &str) -> String {
    let digest = Sha256::digest(text);
    let mut tag = String::from('"');
    for byte in digest.iter().take(12) {
        // Writing to a string cannot fail.
        let _written = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    tag
}

/// Returns the path of the service, relative to the address of its page: the last part of that address, or its folder.
fn relative_base(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~%".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) { "." } else { name }
}

#[cfg(test)]
mod tests;
