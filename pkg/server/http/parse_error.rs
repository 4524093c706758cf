//! Messages for requests that cannot be parsed: the position, and what was expected. They contain neither the content of the request nor type names.

use serde_json::error::Category;

use forgeline_types::private::clipped;

/// Maximum length of a name shown from a request, in characters.
const MAX_NAME: usize = 40;

/// Maximum length of a message, in characters.
const MAX_WORDS: usize = 300;

/// Returns the message for a body.
pub(crate) fn of_body(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let what = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    match error.classify() {
        Category::Data => format!("{}, at line {line}, column {column} of the body", reword(what)),
        Category::Syntax | Category::Eof | Category::Io => {
            format!("the body is not JSON: {what}, at line {line}, column {column}")
        }
    }
}

/// Returns a serde error in the service's wording.
pub(crate) fn reword(what: &str) -> String {
    for begin in ["invalid type: ", "invalid value: ", "invalid length: "] {
        let parts = what.strip_prefix(begin).and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((given, wanted)) = parts {
            return format!("expected {}, not {}", expected(wanted), kind(given));
        }
    }
    for begin in ["unknown field `", "unknown variant `"] {
        let Some(rest) = what.strip_prefix(begin) else { continue };
        // The expected values are the service's own, and come last.
        let joints = ["`, expected ", "`, there are no "];
        let joint = joints.iter().filter_map(|joint| rest.rfind(joint)).max();
        let (name, wanted) = rest.split_at(joint.unwrap_or(rest.len()));
        let begin = begin.replace("variant", "value");
        return format!("{begin}{}{wanted}", clipped(name, MAX_NAME));
    }
    clipped(what, MAX_WORDS).into_owned()
}

/// Returns the kind of a value, without the value.
fn kind(given: &str) -> &'static str {
    let names = [
        ("string", "a string"),
        ("char", "a string"),
        ("integer", "a number"),
        ("floating", "a number"),
        ("boolean", "`true` or `false`"),
        ("map", "an object"),
        ("sequence", "an array"),
        ("null", "`null`"),
        ("unit", "`null`"),
    ];
    let name = names.into_iter().find(|(begin, _)| given.starts_with(begin));
    name.map_or("another value", |(_, name)| name)
}

/// Returns what was expected, without type names.
fn expected(wanted: &str) -> &str {
    let names = [
        ("struct ", "an object"),
        ("a map", "an object"),
        ("internally tagged enum", "an object that names its kind"),
        ("enum ", "one of the known values"),
        ("variant identifier", "one of the known values"),
        ("a borrowed string", "a string"),
        ("a sequence", "an array"),
        ("a boolean", "`true` or `false`"),
        ("usize", "a non-negative whole number"),
        ("u64", "a non-negative whole number"),
        ("u32", "a non-negative whole number"),
    ];
    let name = names.into_iter().find(|(begin, _)| wanted.starts_with(begin));
    name.map_or(wanted, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_values_nor_types_are_in_the_words() {
        let long = "planted".repeat(1_000);
        #[rustfmt::skip]
        let rows = [
            ("invalid type: string \"planted, expected x\", expected struct Begin",      "expected an object, not a string"),
            ("invalid type: integer `7`, expected a string, or an array of parts",      "expected a string, or an array of parts, not a number"),
            ("invalid type: null, expected a string",                                   "expected a string, not `null`"),
            ("unknown field `planted`, expected `a` or `b`",                            "unknown field `planted`, expected `a` or `b`"),
            ("unknown field `a`, there are no fields",                                  "unknown field `a`, there are no fields"),
            ("unknown variant `a`, expected one of `bbbbbbbbbbbbbbbbbbbb`, `cccccccccccccccccccc`", "unknown value `a`, expected one of `bbbbbbbbbbbbbbbbbbbb`, `cccccccccccccccccccc`"),
            ("unknown field `a`, expected c`, expected `b`",                            "unknown field `a`, expected c`, expected `b`"),
            ("missing field `input`",                                                   "missing field `input`"),
        ];
        for (what, want) in rows {
            assert_eq!(reword(what), want);
        }
        assert!(reword(&format!("unknown field `{long}`, expected `a`")).len() < 100);
        assert!(reword(&long).chars().count() <= MAX_WORDS + 1);
        let error = serde_json::from_str::<Vec<u8>>("[1,\n\"planted\"]").unwrap_err();
        let words = of_body(&error);
        assert!(
            words.contains("line 2, column 9 of the body") && !words.contains("planted"),
            "{words}"
        );
        let error = serde_json::from_str::<Vec<u8>>("[1").unwrap_err();
        assert!(of_body(&error).starts_with("the body is not JSON: EOF"), "{error}");
    }
}
