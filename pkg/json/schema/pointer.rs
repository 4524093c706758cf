//! The member at which a text stopped fitting a type, as a JSON pointer.

use super::describe_mismatch;

/// An object or array that is open at some byte.
enum OpenValue<'t> {
    /// An object, with the key of its current member as it is spelled, quotes included.
    Object(Option<&'t str>),
    /// An array, with the index of its current item.
    Array(usize),
}

/// Describes why the JSON `text` could not be read as a type, like [`describe_mismatch`], after the JSON pointer of the member that does not fit:
/// `at /lines/0/count: invalid type: string "x", expected an integer`. The outermost value has none.
///
/// serde reports some members only as a part of what contains them, such as those of an untagged enum: the pointer is then that of the
/// object or array.
pub fn locate_mismatch(text: &str, error: &serde_json::Error) -> String {
    let pointer = pointer_at(text, offset_of(text, error));
    let problem = describe_mismatch(error);
    if pointer.is_empty() { problem } else { format!("at {pointer}: {problem}") }
}

/// Returns the number of bytes before the position of the error; 0 for an error without one.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let Some(before) = error.line().checked_sub(1) else { return 0 };
    let lines = text.split_inclusive('\n').take(before);
    lines.map(str::len).sum::<usize>() + error.column()
}

/// Returns the pointer of the value that ends at `offset`, or before which it is, in a text that is JSON up to there.
fn pointer_at(text: &str, offset: usize) -> String {
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at).filter(|_| at < offset) {
        let start = at;
        at += 1;
        match byte {
            b'{' => open.push(OpenValue::Object(None)),
            b'[' => open.push(OpenValue::Array(0)),
            b'}' | b']' => drop(open.pop()),
            b',' => match open.last_mut() {
                Some(OpenValue::Object(key)) => *key = None,
                Some(OpenValue::Array(index)) => *index += 1,
                None => {}
            },
            b'"' => {
                at = end_of_string(text, at);
                if let Some(OpenValue::Object(key @ None)) = open.last_mut() {
                    *key = text.get(start..at);
                }
            }
            _ => {}
        }
    }
    open.iter().map_while(step).collect()
}

/// Returns the offset after the string whose content begins at `at`.
fn end_of_string(text: &str, mut at: usize) -> usize {
    while let Some(byte) = text.as_bytes().get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    text.len()
}

/// Returns the step of a pointer to the current member; `None` before the first member of an object.
fn step(open: &OpenValue<'_>) -> Option<String> {
    match open {
        OpenValue::Object(key) => {
            let key: String = serde_json::from_str((*key)?).ok()?;
            Some(format!("/{}", key.replace('~', "~0").replace('/', "~1")))
        }
        OpenValue::Array(index) => Some(format!("/{index}")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, de::DeserializeOwned};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors matter")]
    struct Order {
        lines: Vec<Line>,
        #[serde(default)]
        notes: BTreeMap<String, u8>,
        either: Option<Either>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its errors matter")]
    struct Line {
        count: u32,
        name: Option<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its errors matter")]
    enum Either {
        Whole(u64),
        List(Vec<u64>),
    }

    fn located<T: DeserializeOwned>(text: &str) -> String {
        locate_mismatch(text, &serde_json::from_str::<T>(text).err().unwrap())
    }

    #[test]
    fn a_mismatch_has_the_pointer_of_its_member() {
        #[rustfmt::skip]
        let rows = [
            (r#"{"lines":[{"count":1},{"count":"x"}]}"#,         r#"at /lines/1/count: invalid type: string "x", expected an integer from 0 to 4294967295"#),
            (r#"{"lines":[{"count":-1}]}"#,                      "at /lines/0/count: invalid value: integer `-1`, expected an integer from 0 to 4294967295"),
            ("{\"lines\":[\n {\"name\":\"}\\\",\",\n  \"count\":[2]}]}", "at /lines/0/count: invalid type: array, expected an integer from 0 to 4294967295"),
            (r#"{"lines":[{"count":{"a":1}}]}"#,                 "at /lines/0/count: invalid type: object, expected an integer from 0 to 4294967295"),
            (r#"{"lines":[{"count":1},{"name":"tea"}]}"#,        "at /lines/1: missing field `count`"),
            (r#"{"lines":[],"notes":{"a/b~\u0063":true}}"#,      "at /notes/a~1b~0c: invalid type: boolean `true`, expected an integer from 0 to 255"),
            (r#"{"lines":[],"notes":{"é":1, "ü":null}}"#,        "at /notes/ü: invalid type: null, expected an integer from 0 to 255"),
            (r#"{"lines":[],"other":1}"#,                        "at /other: unknown field `other`, expected one of `lines`, `notes`, `either`"),
            (r#"{"lines":[],"either":["x"]}"#,                   "fits none of the allowed forms"),
            (r#"{"lines":7}"#,                                   "at /lines: invalid type: integer `7`, expected an array"),
            (r#"{"notes":{}}"#,                                  "missing field `lines`"),
            ("[7]",                                              "at /0: invalid type: integer `7`, expected an array"),
            ("7",                                                "invalid type: integer `7`, expected an object"),
        ];
        for (text, want) in rows {
            assert_eq!(located::<Order>(text), want, "{text}");
        }
        assert_eq!(
            pointer_at(r#"{"a":[{"b":1"#, 99),
            "/a/0/b",
            "a text that ends early has one too"
        );
    }
}
