//! The lines of a recording's file.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, Ended, Exchange, Failure, Read, RecordedResponse, base64};
use crate::types::Text;

/// The version of the format that this library writes and reads.
pub(super) const VERSION: u64 = 1;

/// Longest time that counts, in milliseconds: a day.
const MAX_MS: u64 = 86_400_000;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) forgeline_recording: u64,
    #[serde(default)]
    pub(super) recorded: Text,
}

/// Every other line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    turn: u32,
    request: RequestLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<ResponseLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<Failure>,
    ended: Ended,
}

#[derive(Debug, Serialize, Deserialize)]
struct RequestLine {
    method: Text,
    url: Text,
    headers: BTreeMap<String, String>,
    body: Value,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct ResponseLine {
    status: u16,
    head_ms: u64,
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    reads: Vec<(usize, u64)>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

impl From<Exchange> for Line {
    fn from(exchange: Exchange) -> Self {
        let (response, failed) = match exchange.answer {
            Answer::Response(response) => (Some(response.into()), None),
            Answer::Failed(failure) => (None, Some(failure)),
            Answer::Dropped => (None, None),
        };
        let request = RequestLine {
            method: exchange.method,
            url: exchange.url,
            headers: by_name(exchange.headers),
            body: exchange.body,
            cut: exchange.body_cut,
        };
        Self { turn: exchange.turn, request, response, failed, ended: exchange.ended }
    }
}

impl From<RecordedResponse> for ResponseLine {
    fn from(response: RecordedResponse) -> Self {
        let (body, body_base64) = match std::str::from_utf8(&response.body) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(base64::encode(&response.body))),
        };
        Self {
            status: response.status,
            head_ms: milliseconds(response.head),
            headers: by_name(response.headers),
            body,
            body_base64,
            reads: response.reads.iter().map(|read| (read.bytes, milliseconds(read.at))).collect(),
            cut: response.cut,
        }
    }
}

/// Of headers with one name the first counts, as everywhere else.
fn by_name(headers: Vec<(Text, Text)>) -> BTreeMap<String, String> {
    let headers = headers.into_iter().rev();
    headers.map(|(name, value)| (name.into_string(), value.into_string())).collect()
}

fn as_list(headers: BTreeMap<String, String>) -> Vec<(Text, Text)> {
    headers.into_iter().map(|(name, value)| (Text::from(name), Text::from(value))).collect()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(MAX_MS).min(MAX_MS)
}

impl Line {
    /// The exchange; else what is wrong with it.
    pub(super) fn into_exchange(self) -> Result<Exchange, String> {
        let answer = match (self.response, self.failed) {
            (Some(response), _) => Answer::Response(response.into_response()?),
            (None, Some(failure)) => Answer::Failed(failure),
            (None, None) => Answer::Dropped,
        };
        Ok(Exchange {
            turn: self.turn,
            method: self.request.method,
            url: self.request.url,
            headers: as_list(self.request.headers),
            body: self.request.body,
            body_cut: self.request.cut,
            answer,
            ended: self.ended,
        })
    }
}

impl ResponseLine {
    fn into_response(self) -> Result<RecordedResponse, String> {
        let body = match (self.body, self.body_base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => {
                base64::decode(&text).ok_or("its body_base64 is no base64".to_owned())?
            }
            _ => return Err("it needs a body or a body_base64".to_owned()),
        };
        let total = self.reads.iter().try_fold(0_usize, |sum, (bytes, _)| sum.checked_add(*bytes));
        if total != Some(body.len()) {
            let length = body.len();
            return Err(format!("its body has {length} bytes, which its reads do not add up to"));
        }
        let time = |ms: u64| Duration::from_millis(ms.min(MAX_MS));
        Ok(RecordedResponse {
            status: self.status,
            headers: as_list(self.headers),
            head: time(self.head_ms),
            body: Bytes::from(body),
            reads: self.reads.iter().map(|(bytes, ms)| Read::new(*bytes, time(*ms))).collect(),
            cut: self.cut,
        })
    }
}
