//! Answers that are not valid JSON-RPC: they are repaired, or become errors of their calls.
//!
//! A line that the protocol cannot parse would be dropped, and its call would wait until its time is over.

use std::borrow::Cow;

use rmcp::model::{NumberOrString, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::json_repair::{repair_json, top_level_id};

/// The code of an error that is made from an answer that cannot be read.
const UNREADABLE: i32 = -32_603;

/// The codes of errors about a request whose id the server could not read: parse error, invalid request.
const WITHOUT_ID: [i32; 2] = [-32_700, -32_600];

/// Maximum number of characters of a server's own words in an error.
const MAX_WORDS: usize = 500;

/// The reading of one message of a server.
#[derive(Debug, PartialEq)]
pub(crate) enum MessageReading {
    /// The message is passed on as it is, or is not an answer.
    AsIs,
    /// The message to pass on in its place.
    Repaired(String),
    /// The message is an answer, and it cannot be known to which call.
    Unreadable,
}

/// The members of a message, each as it was written.
#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Reads a message of a server, which is one line or one event.
pub(crate) fn read_message(message: &[u8]) -> MessageReading {
    let message = message.trim_ascii();
    if !message.starts_with(b"{") {
        return MessageReading::AsIs;
    }
    if let Ok(parsed) = serde_json::from_slice::<ServerJsonRpcMessage>(message) {
        return read_parsed(message, &parsed);
    }
    let text = String::from_utf8_lossy(message);
    let repaired = repair_json(&text);
    let is_changed = matches!(repaired, Cow::Owned(_)) || matches!(text, Cow::Owned(_));
    if is_changed && serde_json::from_str::<ServerJsonRpcMessage>(&repaired).is_ok() {
        return MessageReading::Repaired(repaired.into_owned());
    }
    match serde_json::from_str::<RawMessage<'_>>(&repaired) {
        Ok(raw) => raw.answer(),
        Err(error) => read_broken(&repaired, &error),
    }
}

/// Reads a valid message: the id of an answer may be written as a text, and an error may lack it.
fn read_parsed(message: &[u8], parsed: &ServerJsonRpcMessage) -> MessageReading {
    let id = match parsed {
        ServerJsonRpcMessage::Response(answer) => &answer.id,
        ServerJsonRpcMessage::Error(answer) => match &answer.id {
            Some(id) => id,
            None if WITHOUT_ID.contains(&answer.error.code.0) => return MessageReading::Unreadable,
            None => return MessageReading::AsIs,
        },
        ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => {
            return MessageReading::AsIs;
        }
    };
    // Ids of this end are numbers.
    if matches!(id, RequestId::Number(_)) {
        return MessageReading::AsIs;
    }
    match serde_json::from_slice::<RawMessage<'_>>(message) {
        Ok(raw) => raw.answer(),
        Err(_) => MessageReading::AsIs,
    }
}

/// Reads a message that is not JSON, even after repairs.
fn read_broken(message: &str, error: &serde_json::Error) -> MessageReading {
    let is_answer = message.contains("\"jsonrpc\"")
        && (message.contains("\"result\"") || message.contains("\"error\""));
    match top_level_id(message) {
        _ if !is_answer => MessageReading::AsIs,
        Some(id) => unreadable(id, &error.to_string()),
        None => MessageReading::Unreadable,
    }
}

impl RawMessage<'_> {
    /// Returns the answer with the members that the protocol expects.
    fn answer(&self) -> MessageReading {
        if self.method.is_some() {
            return MessageReading::AsIs;
        }
        let Some(id) = self.id.and_then(number) else {
            let is_answer = self.id.is_none() && (self.result.is_some() || self.error.is_some());
            return if is_answer { MessageReading::Unreadable } else { MessageReading::AsIs };
        };
        if let Some(error) = self.error {
            return odd_error(id, error);
        }
        let Some(result) = self.result else {
            return unreadable(id, "it has neither a result nor an error");
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        match serde_json::from_str::<ServerJsonRpcMessage>(&answer) {
            Ok(_) => MessageReading::Repaired(answer),
            Err(error) => unreadable(id, &error.to_string()),
        }
    }
}

/// Returns the number of an id, which some servers write as a text or with a fraction.
fn number(id: &RawValue) -> Option<i64> {
    if let Ok(NumberOrString::Number(number)) = serde_json::from_str(id.get()) {
        return Some(number);
    }
    let text = id.get().trim_matches('"');
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

/// Returns an error whose code or message is not of the expected type, with the words that it has.
fn odd_error(id: i64, error: &RawValue) -> MessageReading {
    let value = serde_json::from_str(error.get()).unwrap_or(Value::Null);
    let code = value.get("code").unwrap_or(&Value::Null);
    let own = code.as_i64().and_then(|code| i32::try_from(code).ok());
    let words = match value.get("message").unwrap_or(&value) {
        Value::String(words) => words.clone(),
        Value::Null => "the server gave no message".to_owned(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    };
    let words: String = words.chars().take(MAX_WORDS).collect();
    let words = match (own, code) {
        (Some(_), _) | (None, Value::Null) => words,
        (None, code) => format!("{words} (code {code})"),
    };
    let mut said = json!({ "code": own.unwrap_or(UNREADABLE), "message": words });
    if let (Some(data), Some(said)) = (value.get("data"), said.as_object_mut()) {
        said.insert("data".to_owned(), data.clone());
    }
    failed(id, &said)
}

/// Returns the error of a call whose answer cannot be read.
fn unreadable(id: i64, problem: &str) -> MessageReading {
    let message = format!("its answer cannot be read: {problem}");
    failed(id, &json!({ "code": UNREADABLE, "message": message }))
}

fn failed(id: i64, error: &Value) -> MessageReading {
    MessageReading::Repaired(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is passed on for the answer with this text after the id.
    fn read(rest: &str) -> MessageReading {
        read_message(format!(r#"{{"jsonrpc":"2.0","id":4,{rest}}}"#).as_bytes())
    }

    fn repaired(reading: MessageReading) -> Value {
        let MessageReading::Repaired(text) = reading else { panic!("{reading:?}") };
        serde_json::from_str::<ServerJsonRpcMessage>(&text).expect("a message");
        serde_json::from_str(&text).unwrap()
    }

    // Rows: N-44
    #[test]
    fn n44_a_text_that_is_not_json_is_repaired() {
        let rows: [(&str, &str); 7] = [
            (r#""a \ud83c b""#, "a \u{fffd} b"),
            (r#""a \uDF55 b""#, "a \u{fffd} b"),
            (r#""\ud83c\ud83c\udf55""#, "\u{fffd}🍕"),
            (r#""\ud83c\n""#, "\u{fffd}\n"),
            ("\"tab\there\"", "tab\there"),
            (r#""a \q b""#, "a \\q b"),
            (r#""NaN, \"Infinity\" \ud83c""#, "NaN, \"Infinity\" \u{fffd}"),
        ];
        for (text, want) in rows {
            let result = format!(r#""result":{{"content":[{{"type":"text","text":{text}}}]}}"#);
            let answer = repaired(read(&result));
            assert_eq!(answer["result"]["content"][0]["text"], want, "{text}");
            assert_eq!(answer["id"], 4);
        }
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"na\xefve\"}]}}";
        assert_eq!(repaired(read_message(line))["result"]["content"][0]["text"], "na\u{fffd}ve");
        let numbers =
            r#""result":{"content":[],"structuredContent":{"a":NaN,"b":[-Infinity,Infinity,-1]}}"#;
        let answer = repaired(read(numbers));
        assert_eq!(
            answer["result"]["structuredContent"],
            json!({ "a": null, "b": [null, null, -1] })
        );
    }

    // Rows: N-44
    #[test]
    fn n44_an_answer_that_stays_unreadable_is_the_error_of_its_call() {
        let deep = format!(
            r#""result":{{"content":[],"structuredContent":{{"a":{}{}}}}}"#,
            "[".repeat(300),
            "]".repeat(300)
        );
        let broken = r#""result":{"content":[{"type":"text","text":"it ends here}]}"#;
        let far = r#""result":{"content":[],"structuredContent":{"n":1e999}}"#;
        for rest in [&deep, broken, far] {
            let answer = repaired(read(rest));
            let words = answer["error"]["message"].as_str().unwrap();
            assert!(words.starts_with("its answer cannot be read: "), "{words}");
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(4), &json!(UNREADABLE)));
        }
        assert_eq!(
            repaired(read(r#""other":1"#))["error"]["message"],
            "its answer cannot be read: it has neither a result nor an error"
        );
    }

    // Rows: N-44
    #[test]
    fn n44_an_odd_error_keeps_its_words() {
        #[rustfmt::skip]
        let rows = [
            (r#"{"code":"busy","message":"later"}"#,         UNREADABLE, "later (code \"busy\")"),
            (r#"{"code":-7.5,"message":"later"}"#,           UNREADABLE, "later (code -7.5)"),
            (r#"{"code":99999999999,"message":"later"}"#,    UNREADABLE, "later (code 99999999999)"),
            (r#"{"code":-32001,"message":null}"#,            -32_001,    "the server gave no message"),
            (r#"{"code":-32001,"message":{"why":"full"}}"#,  -32_001,    r#"{"why":"full"}"#),
            (r#"{"message":"later"}"#,                       UNREADABLE, "later"),
            (r#""later""#,                                   UNREADABLE, "later"),
        ];
        for (error, code, words) in rows {
            let answer = repaired(read(&format!(r#""error":{error}"#)));
            assert_eq!(answer["error"], json!({ "code": code, "message": words }), "{error}");
        }
        let both = r#""error":null,"result":{"content":[]}"#;
        assert_eq!(repaired(read(both))["result"], json!({ "content": [] }));
    }

    // Rows: N-44
    #[test]
    fn n44_an_id_in_another_spelling_is_that_of_the_call() {
        let line = br#"{"jsonrpc":"2.0","id":"4","result":{"content":[]}}"#;
        assert_eq!(repaired(read_message(line))["id"], 4);
        for id in [r#""4""#, "4.0", "4"] {
            let line = format!(r#"{{"id":{id},"result":{{"content":[]}}}}"#);
            assert_eq!(repaired(read_message(line.as_bytes()))["id"], 4, "{id}, without a version");
        }
    }

    // Rows: N-44
    #[test]
    fn n44_an_answer_without_an_id_is_told_and_other_messages_are_left_alone() {
        let rows = [
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":{"content":[{"type":"text","text":"\ud83c"}]}}"#,
            r#"{"jsonrpc":"2.0","result":{"id":4,"text":"it ends he"#,
        ];
        for line in rows {
            assert_eq!(read_message(line.as_bytes()), MessageReading::Unreadable, "{line}");
        }
        let rows = [
            "npm warn deprecated {\"id\":4,\"result\":1}",
            "",
            "{not json}",
            r#"{"level":"info","error":"#,
            r#"{"jsonrpc":"2.0","id":[],"result":7}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"\ud83c","data":1,"id":4}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{"content":[]}}"#,
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#,
        ];
        for line in rows {
            assert_eq!(read_message(line.as_bytes()), MessageReading::AsIs, "{line}");
        }
    }
}
