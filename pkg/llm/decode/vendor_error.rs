//! Classification of vendors' error bodies and error values.

use serde_json::{Value, value::RawValue};

use super::{JsonEntries, says};
use crate::ProviderError;
use forgeline_json::slice;
use forgeline_types::{ErrorCode, Json, Text};

/// Maximum length of a message that is kept, in characters.
const MAX_MESSAGE: usize = 500;

/// Maximum length of the text that is searched for the kind of an error, in characters.
const MAX_WORDS: usize = 4096;

/// Maximum length of an error that is parsed as JSON, in bytes; values take many times the memory of their text.
const MAX_READ_BYTES: usize = 64 << 10;

/// Maximum depth of the values in a body that are searched.
const MAX_DEPTH: usize = 6;

/// The contents of an error body.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody {
    pub(crate) message: Text,
    pub(crate) code: Option<Text>,
    /// The delay that the body asks for, in seconds.
    pub(crate) retry_seconds: Option<f64>,
    /// The status code in the body itself.
    status: Option<u16>,
    /// The vendor's names for the kind, such as codes and types, in lower case.
    labels: Vec<String>,
    /// The number of tokens that the model may read, and that of the request, from members of their own.
    pub(crate) window: Option<u64>,
    pub(crate) tokens: Option<u64>,
    /// The labels and messages in lower case, without what the body repeats of the request.
    pub(crate) words: String,
}

/// Returns the error that a server reported in a stream.
///
/// `raw` is the vendor's error value; without one, only `text` is known.
pub(crate) fn in_stream(raw: Option<&str>, text: &str) -> ProviderError {
    let said = parse_error_body(text);
    let kind = kind(None, &said);
    let kind = if kind == ErrorCode::Status { ErrorCode::InStream } else { kind };
    ProviderError::InStream {
        kind,
        code: said.code,
        message: said.message,
        raw: raw.and_then(|raw| Json::parse(raw).ok()),
    }
}

/// Returns the JSON of an error member that reports an error; servers that send the member with every
/// event leave it empty otherwise.
pub(crate) fn reported(raw: Option<&RawValue>) -> Option<&str> {
    raw.map(RawValue::get).filter(|raw| !matches!(*raw, "\"\"" | "{}" | "false"))
}

/// Returns `true` for an object that reports an error in some vendor's form. The caller must know that it
/// is not part of an answer, which may have such members too.
pub(crate) fn is_error(json: &str) -> bool {
    let said = JsonEntries::parse(json);
    said.get("detail").is_some_and(is_failure_value)
        || said.present_members().any(|(name, value)| names_error(name) && is_failure_value(value))
        || said.get("base_resp").is_some_and(is_failure)
        || !said.text("message").is_empty()
        || ["object", "type"].iter().any(|key| said.text(key) == "error")
}

/// Returns `true` for the name of a member that reports errors: `error`, `error_code`, `error parsing tool call`.
fn names_error(name: &str) -> bool {
    name.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("error"))
}

/// Returns `true` if `MiniMax`'s response state reports a failure.
pub(crate) fn is_failure(base: &RawValue) -> bool {
    JsonEntries::from_raw(Some(base)).get("status_code").is_some_and(is_failure_value)
}

fn is_failure_value(raw: &RawValue) -> bool {
    says(raw) && !matches!(raw.get(), "0" | "\"0\"" | "false")
}

/// Parses an error body or error value of any vendor.
pub(crate) fn parse_error_body(body: &str) -> ErrorBody {
    let body = body.trim_start_matches('\u{FEFF}').trim();
    let read = slice(body, ..body.floor_char_boundary(MAX_READ_BYTES));
    let value = Some(body).filter(|body| body.len() == read.len());
    let Some(value) = value.and_then(|body| serde_json::from_str::<Value>(body).ok()) else {
        let body = read;
        return ErrorBody { message: summary(body), words: lower(body), ..ErrorBody::default() };
    };
    let root = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
    let own = root.get("error").filter(|error| error.is_object() || error.is_string());
    let places = ["/errors/0", "/base_resp"];
    let error = own.or_else(|| places.iter().find_map(|place| root.pointer(place))).unwrap_or(root);
    let message = message(error).or_else(|| message(root)).unwrap_or_else(|| body.to_owned());
    let message = match upstream(error) {
        Some(detail) => format!("{message}: {detail}"),
        None => message,
    };
    let (mut labels, mut words) = (Vec::new(), lower(&message));
    collect(root, 0, &mut labels, &mut words);
    let number = |key: &str| error.get(key).or_else(|| root.get(key)).and_then(Value::as_u64);
    let status = |value: &Value| {
        let fields = ["code", "status"];
        fields.iter().find_map(|key| u16::try_from(value.get(key)?.as_u64()?).ok())
    };
    ErrorBody {
        message: shorten(&message),
        code: code(error).or_else(|| code(root)).map(|code| shorten(&code)),
        retry_seconds: retry_seconds(error),
        status: status(error).or_else(|| status(root)),
        window: number("n_ctx"),
        tokens: number("n_prompt_tokens"),
        labels,
        words,
    }
}

fn lower(text: &str) -> String {
    text.chars().take(MAX_WORDS).collect::<String>().to_ascii_lowercase()
}

/// Collects the words that may show the kind. Validators also repeat the request, under other keys.
fn collect(value: &Value, depth: usize, labels: &mut Vec<String>, words: &mut String) {
    if depth > MAX_DEPTH || words.len() > MAX_WORDS {
        return;
    }
    match value {
        Value::Array(items) => {
            for item in items {
                collect(item, depth + 1, labels, words);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value.as_str()) {
                    (
                        "code" | "type" | "error_type" | "status" | "reason" | "error_code",
                        Some(label),
                    ) => {
                        let label = lower(label);
                        words.push(' ');
                        words.push_str(&label);
                        labels.push(label);
                    }
                    ("message" | "detail" | "msg" | "title" | "error" | "reasons", Some(text)) => {
                        words.push(' ');
                        words.push_str(&lower(text));
                    }
                    ("error" | "errors" | "detail" | "details" | "metadata" | "message", None) => {
                        collect(value, depth + 1, labels, words);
                    }
                    _ => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn message(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let candidates =
        ["message", "detail", "error", "msg", "error_msg", "error_message", "status_msg", "title"];
    let words = candidates.iter().find_map(|key| match value.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(details) => details.first().map(detail),
        inner @ Value::Object(_) => message(inner),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    });
    // A name that says what went wrong is part of the words.
    words.or_else(|| {
        let mut named = value.as_object()?.iter().filter(|(name, _)| names_error(name));
        named.find_map(|(name, value)| Some(format!("{name}: {}", value.as_str()?)))
    })
}

/// Returns one entry of a validator's list: location and message.
fn detail(entry: &Value) -> String {
    let Some(what) = message(entry) else { return entry.to_string() };
    let place = entry.get("loc").and_then(Value::as_array).into_iter().flatten();
    let place: Vec<_> =
        place.map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned)).collect();
    if place.is_empty() { what } else { format!("{}: {what}", place.join(".")) }
}

/// Returns the upstream error behind a router's "Provider returned error".
fn upstream(error: &Value) -> Option<String> {
    let raw = error.pointer("/metadata/raw")?;
    let text = raw.as_str().map_or_else(|| raw.to_string(), str::to_owned);
    let inner = serde_json::from_str::<Value>(&text).ok();
    Some(inner.and_then(|value| message(value.get("error").unwrap_or(&value))).unwrap_or(text))
}

fn code(value: &Value) -> Option<String> {
    let keys = ["code", "type", "error_type", "status"];
    let mut words = keys.iter().filter_map(|key| value.get(key)?.as_str());
    let word = words.find(|word| !word.is_empty()).map(str::to_owned);
    let numbers = ["code", "error_code", "status_code"];
    let number = || numbers.iter().find_map(|key| value.get(key)?.as_i64());
    word.or_else(|| Some(number()?.to_string()))
}

/// Reads Google's `RetryInfo`.
fn retry_seconds(error: &Value) -> Option<f64> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    delay.strip_suffix('s')?.parse().ok()
}

/// Describes a body that is not JSON in one line.
fn summary(body: &str) -> Text {
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let end = start + lower.get(start..)?.find("</title>")?;
        body.get(start..end)
    });
    match title {
        Some(title) => shorten(&format!("a web page titled {:?}", title.trim())),
        None if lower.starts_with('<') => Text::from("a web page"),
        None if body.is_empty() => Text::from("no further information"),
        None => shorten(body),
    }
}

/// Returns a text of at most [`MAX_MESSAGE`] characters.
pub(crate) fn shorten(text: &str) -> Text {
    if text.chars().nth(MAX_MESSAGE).is_none() {
        return Text::from(text);
    }
    let kept: String = text.chars().take(MAX_MESSAGE - 1).collect();
    Text::from(kept + "…")
}

/// The signs of a kind of failure: status codes, exact labels, and substrings of the words.
type FailureSigns = (ErrorCode, &'static [u16], &'static [&'static str], &'static [&'static str]);

/// The signs of each kind; the first row that matches counts.
#[rustfmt::skip]
const SIGNS: [FailureSigns; 6] = [
    (ErrorCode::QuotaExhausted, &[402], &[], &[
        "insufficient_quota", "spend_limit", "spend limit", "billing_error", "insufficient balance",
        "credit balance", "included credits", "insufficient credits", "out of credits",
    ]),
    (ErrorCode::ContextExceeded, &[413], &[], &[
        "context_length_exceeded", "exceed_context_size", "context size", "context length",
        "maximum context", "context window", "context limit", "too many tokens", "too_many_tokens",
        "prompt is too long", "prompt too long", "input is too long", "maximum prompt length",
        "prompt token count", "model token limit", "maximum model length", "`max_new_tokens` must be",
        "exceeds the maximum number of tokens", "request_too_large", "request too large",
    ]),
    (ErrorCode::ContentFiltered, &[], &[], &[
        "content_filter", "content_policy", "safety_check", "usage guidelines", "moderation",
    ]),
    (ErrorCode::Auth, &[401], &["unauthenticated", "permission_denied"], &[
        "invalid_api_key", "authentication_error", "api_key_invalid", "api key not valid",
    ]),
    (ErrorCode::RateLimited, &[429], &["resource_exhausted"], &[
        "rate_limit", "ratelimit", "rate limit", "rate-limited", "too many requests",
    ]),
    (ErrorCode::Overloaded, &[503, 529], &["unavailable"], &[
        "overloaded", "service unavailable", "at capacity",
    ]),
];

/// Returns the kind of failure; [`ErrorCode::Status`] if neither words nor status show it.
pub(crate) fn kind(status: Option<u16>, said: &ErrorBody) -> ErrorCode {
    let told = || said.code.as_deref().and_then(|code| code.parse().ok());
    let status = status.or(said.status).or_else(told);
    if said.words.contains("exceeded your current quota") && said.retry_seconds.is_none() {
        return ErrorCode::QuotaExhausted;
    }
    let row = SIGNS.iter().find(|(_, statuses, labels, words)| {
        status.is_some_and(|status| statuses.contains(&status))
            || said.labels.iter().any(|label| labels.contains(&label.as_str()))
            || words.iter().any(|word| said.words.contains(word))
    });
    if let Some((kind, ..)) = row {
        return *kind;
    }
    match status {
        Some(403) => ErrorCode::Auth,
        Some(408 | 409 | 425) => ErrorCode::Status,
        Some(400..=499) => ErrorCode::InvalidRequest,
        _ if said.labels.iter().any(|label| blames_the_request(label)) => ErrorCode::InvalidRequest,
        _ => ErrorCode::Status,
    }
}

/// Returns `true` for a vendor's label that blames the request, whatever the status.
fn blames_the_request(label: &str) -> bool {
    label.starts_with("invalid_")
        || matches!(label, "failed_precondition" | "not_found" | "not_found_error" | "out_of_range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_request_do_not_tell_the_kind_and_vendors_words_do() {
        use ErrorCode::{Auth, ContextExceeded, InStream, InvalidRequest, Overloaded, RateLimited};
        #[rustfmt::skip]
        let cases = [
            (r#"{"detail":[{"loc":["body","messages"],"msg":"Field required","type":"missing","input":{"content":"overloaded? rate limit? moderation? context length!"}}]}"#, InStream),
            (r#"{"code":400,"status":"INVALID_ARGUMENT","message":"bad"}"#,                      InvalidRequest),
            (r#"{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}"#,         InvalidRequest),
            (r#"{"error":{"message":"failed","type":"invalid_request_error","code":"tool_use_failed"}}"#, InvalidRequest),
            (r#"{"code":"invalid_prompt","message":"bad"}"#,                                     InvalidRequest),
            (r#"{"error":{"code":"invalid_api_key","message":"bad"}}"#,                          Auth),
            (r#"{"error":{"status":"PERMISSION_DENIED","message":"bad"}}"#,                      Auth),
            (r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,                  Overloaded),
            (r#"{"error":{"code":429,"message":"slow"}}"#,                                       RateLimited),
            (r#"{"error":{"code":502,"message":"bad gateway"}}"#,                                InStream),
            (r#"{"error":{"code":400,"message":"maximum context length is 5"}}"#,                ContextExceeded),
        ];
        for (body, want) in cases {
            let ProviderError::InStream { kind, .. } = in_stream(Some(body), body) else {
                panic!("{body}");
            };
            assert_eq!(kind, want, "{body}");
        }
    }
}
