//! Requests and responses below the routes: extractors, errors of bodies, entity tags, the log of requests.

pub(super) mod etag;
pub(super) mod extract;
pub(super) mod object;
pub(super) mod parse_error;
pub(super) mod request_log;
