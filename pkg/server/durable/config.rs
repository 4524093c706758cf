//! The configuration of a stream.

use axum::http::{HeaderMap, header};
use jiff::{Timestamp, fmt::temporal::Pieces};
use serde::{Deserialize, Serialize};

use super::headers;
use crate::{Problem, problem::MAX_SHOWN};
use forgeline_types::{Text, private::clipped};

/// The content type of a stream that is created without one.
const DEFAULT_TYPE: &str = "application/octet-stream";

/// The configuration of a stream, fixed when it is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamConfig {
    pub(crate) content_type: Text,
    /// The time without a read or write after which the stream expires, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<u64>,
    /// The time at which the stream expires, as the client wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Text>,
}

impl StreamConfig {
    pub(crate) fn parse(headers: &HeaderMap) -> Result<Self, Problem> {
        let content_type =
            headers::text(headers, &header::CONTENT_TYPE)?.unwrap_or(DEFAULT_TYPE).into();
        let ttl = headers::number(headers, &headers::TTL)?;
        let expires_at = headers::text(headers, &headers::EXPIRES_AT)?;
        if let Some(at) = expires_at {
            if moment(at).is_none() {
                let at = clipped(at, MAX_SHOWN);
                return Err(Problem::bad(format!(
                    "invalid header `stream-expires-at`: `{at}` is not an RFC 3339 time"
                )));
            }
            if ttl.is_some() {
                return Err(Problem::bad(
                    "`stream-ttl` and `stream-expires-at` cannot be used together",
                ));
            }
        }
        Ok(Self { content_type, ttl, expires_at: expires_at.map(Into::into) })
    }

    /// Returns `true` for the same configuration; the content type may be spelled differently.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.has_type(&other.content_type)
            && (self.ttl, &self.expires_at) == (other.ttl, &other.expires_at)
    }

    /// Returns `true` if the stream has this media type; parameters are ignored.
    pub(crate) fn has_type(&self, content_type: &str) -> bool {
        essence(&self.content_type).eq_ignore_ascii_case(essence(content_type))
    }

    /// Returns `true` for a stream of JSON values, each of which is a message.
    pub(crate) fn is_json(&self) -> bool {
        self.has_type("application/json")
    }

    /// Returns `true` if the data are text, which a server-sent event can contain unencoded.
    pub(crate) fn is_text(&self) -> bool {
        self.is_json()
            || essence(&self.content_type)
                .get(..5)
                .is_some_and(|it| it.eq_ignore_ascii_case("text/"))
    }

    /// Returns the lifetime of the stream.
    pub(crate) fn life(&self) -> StreamLifetime {
        let end = self.expires_at.as_ref().and_then(|at| moment(at));
        let end = end.map(|end| u64::try_from(end.as_millisecond()).unwrap_or_default());
        StreamLifetime { idle_ms: self.ttl.map(|ttl| ttl.saturating_mul(1_000)), end_ms: end }
    }
}

/// The lifetime of a stream, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamLifetime {
    /// The time without a read or write after which the stream expires.
    pub(crate) idle_ms: Option<u64>,
    /// The time at which the stream expires, since 1970.
    end_ms: Option<u64>,
}

impl StreamLifetime {
    /// Returns `true` once a stream that was last used at `used_ms` has expired.
    pub(crate) fn is_over(self, used_ms: u64, now_ms: u64) -> bool {
        let idle = now_ms.saturating_sub(used_ms);
        self.idle_ms.is_some_and(|most| idle >= most)
            || self.end_ms.is_some_and(|end| now_ms >= end)
    }
}

/// Parses an RFC 3339 time. Times in the last hours of the year 9999, which clients send for "forever", exceed a [`Timestamp`] and become its maximum.
fn moment(text: &str) -> Option<Timestamp> {
    if let Ok(read) = text.parse() {
        return Some(read);
    }
    let pieces = Pieces::parse(text).ok()?;
    let (date, _) = (pieces.date(), pieces.time()?);
    let has_offset = pieces.to_numeric_offset().is_some();
    (has_offset && date.year() == 9_999 && date.month() == 12).then_some(Timestamp::MAX)
}

fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_texts_are_text_however_their_type_is_spelled() {
        for (content_type, want) in [
            ("application/json", (true, true)),
            ("Application/JSON ; charset=utf-8", (true, true)),
            ("text/plain", (false, true)),
            ("TEXT/markdown;charset=utf-8", (false, true)),
            ("application/octet-stream", (false, false)),
            ("application/text/plain", (false, false)),
            ("text", (false, false)),
            ("", (false, false)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
            let config = StreamConfig::parse(&headers).ok().unwrap();
            assert_eq!((config.is_json(), config.is_text()), want, "{content_type}");
        }
    }
}
