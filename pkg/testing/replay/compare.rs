//! Comparison of a request with the recorded one.

use serde_json::Value;

use crate::record::Exchange;
use forgeline_llm::{
    private::{SecretRedactor, UrlAddress},
    transport::HttpRequest,
};
use forgeline_types::Text;

/// Maximum number of characters of a value that an error shows.
const MAX_SHOWN: usize = 60;

/// Maximum relative difference of two spellings of a number: the error of parsing and formatting.
const SAME_NUMBER: f64 = 1e-12;

/// Fails if `request` differs from the one in `exchange`, apart from `ignored`, and names the difference.
pub(super) fn compare(
    exchange: &Exchange,
    request: &HttpRequest,
    redactor: &SecretRedactor,
    ignored: &[String],
) -> Result<(), Text> {
    // The request is compared in the form in which it would be recorded.
    let redactor = redactor.clone().request(request);
    let path = redactor.same_length(UrlAddress::new(&request.url).path);
    let place = if request.method != exchange.request.method {
        format!("the method is {}, not {}", request.method, exchange.request.method)
    } else if path != exchange.path() {
        format!("the path is {path}, not {}", exchange.path())
    } else if exchange.request.cut {
        let message = "the body of the recorded request was too long to be kept";
        return Err(stale(exchange.turn, message, "record it anew with a larger max_body_bytes"));
    } else {
        let mut pointer = String::new();
        let sent = redactor.body(&request.body);
        match differ(&exchange.request.body, &sent, ignored, &mut pointer) {
            Some(difference) if pointer.is_empty() => format!("the body {difference}"),
            Some(difference) => format!("{pointer} {difference}"),
            None => return Ok(()),
        }
    };
    Err(stale(exchange.turn, &place, "record it anew"))
}

/// Formats the message for a recording that no longer matches.
pub(super) fn stale(turn: u32, what: &str, advice: &str) -> Text {
    Text::from(format!("the recording is stale: in turn {turn}, {what}; {advice}"))
}

/// Returns the first difference between `recorded` and `sent`; `pointer` is then set to its place.
fn differ(
    recorded: &Value,
    sent: &Value,
    ignored: &[String],
    pointer: &mut String,
) -> Option<String> {
    if ignored.iter().any(|pattern| is_at(pattern, pointer)) {
        return None;
    }
    let length = pointer.len();
    let mut step = |key: &str, recorded: Option<&Value>, sent: Option<&Value>| {
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let is_ignored = || ignored.iter().any(|pattern| is_at(pattern, pointer));
        let difference = match (recorded, sent) {
            (Some(recorded), Some(sent)) => differ(recorded, sent, ignored, pointer),
            (Some(_), None) if !is_ignored() => Some("is missing".to_owned()),
            (None, Some(_)) if !is_ignored() => Some("is new".to_owned()),
            _ => None,
        };
        if difference.is_none() {
            pointer.truncate(length);
        }
        difference
    };
    match (recorded, sent) {
        (Value::Object(recorded), Value::Object(sent)) => {
            let old = recorded.iter().map(|(key, value)| (key, Some(value), sent.get(key)));
            let new = sent.iter().filter(|(key, _)| !recorded.contains_key(*key));
            let new = new.map(|(key, value)| (key, None, Some(value)));
            old.chain(new).find_map(|(key, recorded, sent)| step(key, recorded, sent))
        }
        (Value::Array(recorded), Value::Array(sent)) => (0..recorded.len().max(sent.len()))
            .find_map(|at| step(&at.to_string(), recorded.get(at), sent.get(at))),
        (Value::Number(one), Value::Number(other)) => {
            let (a, b) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
            // Integers are exact; their floats may not be.
            let is_float = one.is_f64() || other.is_f64();
            let same =
                one == other || is_float && (a - b).abs() <= SAME_NUMBER * a.abs().max(b.abs());
            (!same).then(|| format!("is {other}, not {one}"))
        }
        (recorded, sent) if recorded == sent => None,
        (recorded, sent) => Some(format!("is {}, not {}", start_of(sent), start_of(recorded))),
    }
}

/// Returns `true` if `pattern` matches `pointer`; a `*` in it matches any single step.
fn is_at(pattern: &str, pointer: &str) -> bool {
    let (mut pattern, mut pointer) = (pattern.split('/'), pointer.split('/'));
    loop {
        match (pattern.next(), pointer.next()) {
            (None, None) => return true,
            (Some(want), Some(step)) if want == "*" || want == step => {}
            _ => return false,
        }
    }
}

/// Returns the start of a value.
fn start_of(value: &Value) -> String {
    let text = value.to_string();
    let start: String = text.chars().take(MAX_SHOWN).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_is_found_at_its_pointer() {
        let recorded = json!({"model": "m", "t": 0.7, "messages": [{"id": 1, "a/b": "x"}]});
        #[rustfmt::skip]
        let rows = [
            (json!({"t": 0.7, "messages": [{"a/b": "x", "id": 1}], "model": "m"}), &[][..],           None),
            (json!({"model": "n", "t": 0.7, "messages": [{"id": 1, "a/b": "x"}]}), &[],               Some(("/model", r#"is "n", not "m""#))),
            (json!({"model": "n", "t": 0.7, "messages": [{"id": 1, "a/b": "x"}]}), &["/model"],       None),
            (json!({"model": "m", "t": 0.8, "messages": [{"id": 1, "a/b": "x"}]}), &[],               Some(("/t", "is 0.8, not 0.7"))),
            (json!({"model": "m", "messages": [{"id": 1, "a/b": "x"}]}),           &[],               Some(("/t", "is missing"))),
            (json!({"model": "m", "messages": [{"id": 1, "a/b": "x"}]}),           &["/t"],           None),
            (json!({"model": "m", "t": 0.7, "messages": [{"id": 2, "a/b": "y"}]}), &["/messages/*/id"], Some(("/messages/0/a~1b", r#"is "y", not "x""#))),
            (json!({"model": "m", "t": 0.7, "messages": [{"id": 1, "a/b": "x"}, 1]}), &[],            Some(("/messages/1", "is new"))),
            (json!({"model": "m", "t": 0.7, "messages": []}),                      &[],               Some(("/messages/0", "is missing"))),
            (json!({"model": "m", "t": 0.7, "messages": 4}),                       &["/messages"],    None),
            (json!({"model": "m", "t": 0.7, "messages": 4}),                       &["/messages/0"],  Some(("/messages", r#"is 4, not [{"a/b":"x","id":1}]"#))),
        ];
        for (sent, ignored, want) in rows {
            let ignored: Vec<_> = ignored.iter().map(|pointer| (*pointer).to_owned()).collect();
            let mut pointer = String::new();
            let found = differ(&recorded, &sent, &ignored, &mut pointer);
            let found = found.map(|found| {
                (pointer.clone(), found.replace(r#""id":1,"a/b":"x""#, r#""a/b":"x","id":1"#))
            });
            let want = want.map(|(pointer, what)| (pointer.to_owned(), what.to_owned()));
            assert_eq!(found, want, "{sent} without {ignored:?}");
        }
    }
}
