//! Images and documents in messages of both chat protocols.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::user_message::scheme;
use crate::{Problem, problem::MAX_SHOWN};
use forgeline_llm::private::media;
use forgeline_types::{Part, private::clipped};

/// The members of a part that describe a file; each version of each protocol uses some of them.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileFields {
    #[serde(alias = "mimeType")]
    media_type: Option<Value>,
    /// A URL, or the bytes as a `data:` URL.
    url: Option<Value>,
    /// The bytes in base64.
    data: Option<Value>,
    #[serde(alias = "name")]
    filename: Option<Value>,
    source: Option<Value>,
}

/// The kinds of parts that are files.
const KINDS: [&str; 7] = ["file", "image", "binary", "document", "audio", "video", "input_audio"];

impl FileFields {
    /// Returns the file of a part of this kind; `None` if the kind is not a file.
    pub(crate) fn part(self, kind: &str) -> Option<Result<Part, Problem>> {
        KINDS.contains(&kind).then(|| self.file(kind))
    }

    fn file(self, kind: &str) -> Result<Part, Problem> {
        let Self { media_type, url, data, filename, source } = self;
        let text = |value: Option<Value>| value.and_then(|it| it.as_str().map(str::to_owned));
        let inside = |name: &str| {
            let source = source.as_ref().and_then(|source| source.get(name));
            source.and_then(Value::as_str).map(str::to_owned)
        };
        let told = text(media_type).or_else(|| inside("mimeType")).or_else(|| inside("mediaType"));
        let is_url = |it: &str| scheme(it) == Some(true);
        let missing = || {
            Problem::bad(format!(
                "a part of kind `{kind}` needs its bytes, as a `data:` URL or in base64, or an `https:` URL"
            ))
        };
        let given_as =
            text(url).or_else(|| text(data)).or_else(|| inside("value")).or_else(|| inside("url"));
        let given_as = given_as.filter(|given_as| !given_as.is_empty()).ok_or_else(missing)?;
        let (media_type, data) = match given_as.strip_prefix("data:") {
            Some(rest) => {
                let (head, bytes) = rest.split_once(',').ok_or_else(missing)?;
                if let Some(media_type) = head.strip_suffix(";base64") {
                    (media_type.to_owned(), bytes.to_owned())
                } else {
                    // Text may be written as in other URLs.
                    let kind = head.split(';').next().unwrap_or_default();
                    let kind = if kind.is_empty() { "text/plain" } else { kind };
                    let bytes = unescaped(bytes).filter(|_| media::is_text(kind));
                    (kind.to_owned(), BASE64_STANDARD.encode(bytes.ok_or_else(missing)?))
                }
            }
            None if is_url(&given_as) => (told.unwrap_or_default(), given_as),
            None if told.is_some() && !given_as.contains("://") => {
                (told.unwrap_or_default(), given_as)
            }
            None => return Err(missing()),
        };
        let is = |kind: &str| media_type.starts_with(kind);
        if is("image/") || (media_type.is_empty() && kind == "image") {
            return Ok(Part::image(media_type, data));
        }
        if is("audio/") || is("video/") || media_type.is_empty() {
            let detail = format!(
                "a user may send only texts, images and documents, not `{kind}` of type `{}`",
                clipped(&media_type, MAX_SHOWN)
            );
            return Err(Problem::bad(detail));
        }
        Ok(Part::document(media_type, data, text(filename)))
    }
}

/// Returns the bytes of the data of a URL, in which `%` and two digits stand for a byte; `None` if digits are missing.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_number)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_read_as_each_protocol_writes_them() {
        let picture = |media_type: &str, data: &str| {
            Some(Part::image(media_type.to_owned(), data.to_owned()))
        };
        let document = |data: &str, name: Option<&str>| {
            let (media_type, data) = ("application/pdf".to_owned(), data.to_owned());
            Some(Part::document(media_type, data, name.map(str::to_owned)))
        };
        #[rustfmt::skip]
        let rows = [
            (json!({ "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA" }), picture("image/png", "AAAA")),
            (json!({ "type": "file", "mediaType": "image/png", "url": "https://a.example/b" }), picture("image/png", "https://a.example/b")),
            (json!({ "type": "file", "mediaType": "application/pdf", "filename": "a.pdf", "url": "data:application/pdf;base64,AAAA" }), document("AAAA", Some("a.pdf"))),
            (json!({ "type": "binary", "mimeType": "image/gif", "data": "AAAA" }), picture("image/gif", "AAAA")),
            (json!({ "type": "image", "source": { "type": "data", "value": "AAAA", "mimeType": "image/webp" } }), picture("image/webp", "AAAA")),
            (json!({ "type": "image", "source": { "type": "url", "value": "https://a.example/b" } }), picture("", "https://a.example/b")),
            (json!({ "type": "document", "source": { "type": "data", "value": "AAAA", "mimeType": "application/pdf" } }), document("AAAA", None)),
            (json!({ "type": "file", "mediaType": "audio/wav", "url": "data:audio/wav;base64,AAAA" }), None),
            (json!({ "type": "file", "mediaType": "image/png", "url": "data:image/png,abc" }), None),
            (json!({ "type": "file", "mediaType": "image/png" }), None),
            (json!({ "type": "file", "url": "file:///etc/passwd" }), None),
            // Rows: N-66
            (json!({ "type": "file", "mediaType": "image/png", "url": "http://a.example/b" }), None),
            (json!({ "type": "file", "mediaType": "application/pdf", "url": "HTTP://a.example/b" }), None),
            (json!({ "type": "image", "source": { "type": "url", "value": "http://a.example/b" } }), None),
            (json!({ "type": "binary", "mimeType": "image/gif", "data": "http://a.example/b" }), None),
            (json!({ "type": "file", "mediaType": "image/png", "url": "ftp://a.example/b" }), None),
            (json!({ "type": "image", "source": { "type": "url", "value": "gs://a/b", "mimeType": "image/png" } }), None),
            (json!({ "type": "file", "mediaType": "image/png", "url": 7 }), None),
        ];
        for (part, want) in rows {
            let kind = part["type"].as_str().unwrap().to_owned();
            let fields: FileFields = serde_json::from_value(part.clone()).unwrap();
            assert_eq!(fields.part(&kind).unwrap().ok(), want, "{part}");
        }
        // Rows: N-47
        let text = |kind: &str, data: &str| {
            let (media_type, data) = (kind.to_owned(), BASE64_STANDARD.encode(data));
            Some(Part::document(media_type, data, "f".to_owned()))
        };
        for (url, want) in [
            ("data:text/plain;charset=utf-8,hello%20world", text("text/plain", "hello world")),
            ("data:text/csv,a%2Cb%0A1,2", text("text/csv", "a,b\n1,2")),
            ("data:,%C3%A9", text("text/plain", "é")),
            ("data:application/json,%7B%22a%22%3A1%7D", text("application/json", "{\"a\":1}")),
            ("data:text/plain,100%", None),
            ("data:text/plain,%+1", None),
            ("data:application/pdf,%25PDF", None),
        ] {
            let part =
                json!({ "type": "file", "mediaType": "text/plain", "filename": "f", "url": url });
            let fields: FileFields = serde_json::from_value(part).unwrap();
            assert_eq!(fields.part("file").unwrap().ok(), want, "{url}");
        }
        let fields: FileFields = serde_json::from_value(json!({ "data": { "a": 1 } })).unwrap();
        assert!(fields.part("data-weather").is_none());
    }
}
