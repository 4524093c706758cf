//! One recorded exchange.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Failure;
use forgeline_llm::{Protocol, private::UrlAddress};
use forgeline_types::Text;

/// Maximum duration that is recorded, in milliseconds: one day.
const MAX_MS: u64 = 86_400_000;

/// One request and its outcome.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::Protocol, testing::record::Exchange};
///
/// let line = r#"{"turn":1,"request":{"method":"POST","url":"http://h/v1/messages","headers":{},"body":{}},"ended":"dropped"}"#;
/// let exchange: Exchange = serde_json::from_str(line)?;
/// assert_eq!((exchange.path(), exchange.protocol()), ("/v1/messages", Protocol::Anthropic));
/// assert!(exchange.response.is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Exchange {
    /// The number in the recording, from 1, in the order of the requests.
    pub turn: u32,
    /// The request.
    pub request: RecordedRequest,
    /// The response, complete or not; `None` if the exchange failed before it, or its reader stopped
    /// waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<RecordedResponse>,
    /// The cause, if the exchange failed before there was a response.
    #[serde(default, rename = "failed", skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The way in which the exchange ended.
    pub ended: ExchangeEnd,
}

/// A request without its secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The method, such as `POST`.
    pub method: Text,
    /// The URL, without user and password, and without the values of its query.
    pub url: Text,
    /// The headers that contain no secret.
    #[serde(with = "headers")]
    pub headers: Vec<(Text, Text)>,
    /// The body: as JSON if it is JSON, or else as text; null if it was empty.
    pub body: Value,
    /// `true` if the body was too long to be kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A response, as it arrived.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedResponse {
    /// The status code.
    pub status: u16,
    /// The time between the request and the head of the response.
    #[serde(rename = "head_ms", with = "milliseconds")]
    pub head: Duration,
    /// The headers that contain no secret.
    #[serde(with = "headers")]
    pub headers: Vec<(Text, Text)>,
    /// The body, as far as it arrived and was kept.
    #[serde(flatten, with = "body")]
    pub body: Bytes,
    /// The reads in which the body arrived.
    pub reads: Vec<BodyRead>,
    /// `true` if the body continued but was too long to be kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// One read of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, u64)", into = "(usize, u64)")]
#[non_exhaustive]
pub struct BodyRead {
    /// The length, in bytes.
    pub bytes: usize,
    /// The time since the request was sent, to the millisecond.
    pub at: Duration,
}

impl BodyRead {
    /// Creates a read of `bytes` bytes, `at` after the request.
    #[must_use]
    pub fn new(bytes: usize, at: Duration) -> Self {
        Self { bytes, at }
    }
}

impl From<(usize, u64)> for BodyRead {
    fn from((bytes, ms): (usize, u64)) -> Self {
        Self::new(bytes, Duration::from_millis(ms.min(MAX_MS)))
    }
}

impl From<BodyRead> for (usize, u64) {
    fn from(read: BodyRead) -> Self {
        (read.bytes, milliseconds::from_duration(read.at))
    }
}

/// The way in which an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExchangeEnd {
    /// The body was read to its end.
    Whole,
    /// The connection broke, or could not be made.
    Broken,
    /// The reader stopped reading, as providers do if the answer is complete before the body ends.
    Dropped,
}

impl Exchange {
    /// Returns the path of the URL, without its query.
    #[must_use]
    pub fn path(&self) -> &str {
        UrlAddress::new(&self.request.url).path
    }

    /// Returns the protocol of the URL, or else the one that the response looks like.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        let path = self.path();
        let ends = |end: &&str| path.ends_with(end);
        let signs: [(Protocol, &[&str]); 7] = [
            (Protocol::OpenAiChat, &["/chat/completions"]),
            (Protocol::OpenAiResponses, &["/responses"]),
            (Protocol::Anthropic, &["/messages", ":streamRawPredict", ":rawPredict"]),
            (Protocol::Gemini, &[":streamGenerateContent", ":generateContent"]),
            (Protocol::Cohere, &["/v2/chat"]),
            (Protocol::OllamaGenerate, &["/api/generate"]),
            (Protocol::Ollama, &["/api/chat"]),
        ];
        let known = signs.iter().find(|(_, signs)| signs.iter().any(ends));
        known.map_or_else(
            || Protocol::guess(self.response.as_ref().map_or(&[][..], |response| &response.body)),
            |(protocol, _)| *protocol,
        )
    }

    /// Fails if the lengths of the reads do not add up to that of the body.
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(RecordedResponse { body, reads, .. }) = &self.response else { return Ok(()) };
        let total = reads.iter().try_fold(0_usize, |sum, read| sum.checked_add(read.bytes));
        if total == Some(body.len()) {
            return Ok(());
        }
        Err(format!("its body has {} bytes, which its reads do not add up to", body.len()))
    }
}

/// Headers as an object; the first one with each name counts.
mod headers {
    use super::{BTreeMap, Deserialize as _, Deserializer, Serializer, Text};

    pub(super) fn serialize<S: Serializer>(
        headers: &[(Text, Text)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let by_name: BTreeMap<_, _> =
            headers.iter().rev().map(|(name, value)| (name, value)).collect();
        serializer.collect_map(by_name)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(Text, Text)>, D::Error> {
        Ok(BTreeMap::deserialize(deserializer)?.into_iter().collect())
    }
}

/// Times in whole milliseconds, at most a day.
mod milliseconds {
    use super::{Deserialize as _, Deserializer, Duration, MAX_MS, Serializer};

    pub(super) fn from_duration(time: Duration) -> u64 {
        u64::try_from(time.as_millis()).unwrap_or(MAX_MS).min(MAX_MS)
    }

    pub(super) fn serialize<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(from_duration(*time))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        Ok(Duration::from_millis(u64::deserialize(deserializer)?.min(MAX_MS)))
    }
}

/// A body as `body`, or as `body_base64` if it is not UTF-8.
mod body {
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    use serde::de::Error as _;

    use super::{Bytes, Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum CodedBody {
        Body(String),
        BodyBase64(String),
    }

    pub(super) fn serialize<S: Serializer>(body: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        let coded = match std::str::from_utf8(body) {
            Ok(text) => CodedBody::Body(text.to_owned()),
            Err(_) => CodedBody::BodyBase64(BASE64_STANDARD.encode(body)),
        };
        coded.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Bytes, D::Error> {
        match CodedBody::deserialize(deserializer)? {
            CodedBody::Body(text) => Ok(text.into()),
            CodedBody::BodyBase64(text) => {
                let bytes = BASE64_STANDARD.decode(text);
                bytes
                    .map(Bytes::from)
                    .map_err(|_| D::Error::custom("invalid base64 in body_base64"))
            }
        }
    }
}
