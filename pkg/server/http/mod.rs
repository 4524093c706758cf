//! Requests and responses below the routes: extractors, errors of bodies, entity tags, ids.

pub(super) mod etag;
pub(super) mod extract;
pub(super) mod ids;
pub(super) mod object;
pub(super) mod parse_error;
