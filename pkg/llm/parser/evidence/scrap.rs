//! The rest of a tag that was cut.

use crate::grammar::is_blank;
use forgeline_json::slice;

/// The minimum length of what remains of a tag, in bytes: fewer can be any text.
const MIN_SCRAP_BYTES: usize = 3;

/// Returns `true` if `value` ends with `tag`, or with at least three bytes of its beginning or of its end, unless these
/// are part of another tag.
pub(super) fn ends_in_scrap(value: &str, tag: &str) -> bool {
    let value = value.trim_end_matches(is_blank);
    let lengths = (MIN_SCRAP_BYTES..=tag.len()).rev();
    let front = |length: usize| tag.get(..length).is_some_and(|front| value.ends_with(front));
    let back = |length: usize| {
        let back = tag.len().checked_sub(length).and_then(|from| tag.get(from..));
        back.is_some_and(|back| value.ends_with(back))
    };
    if lengths.clone().any(front) {
        return true;
    }
    let Some(length) = lengths.clone().find(|length| back(*length)) else { return false };
    let before = value.len() - length;
    !slice(value, ..before).rsplit_once('<').is_some_and(|(_, rest)| {
        let may_be_tag = |letter: char| !letter.is_whitespace() && letter != '>';
        rest.chars().all(may_be_tag)
    })
}

#[cfg(test)]
mod tests {
    use super::ends_in_scrap;

    #[test]
    fn what_remains_of_a_cut_tag_is_found_at_the_end_of_a_value() {
        #[rustfmt::skip]
        let rows = [
            ("its beginning",        "a b\n</par\n",          "</parameter>",        true),
            ("its end",              "a bmeter>",             "</parameter>",        true),
            ("all of it",            "a b</parameter>",       "</parameter>",        true),
            ("a word before it",     "a < b rameter>",        "</parameter>",        true),
            ("two bytes",            "a b r>",                "</parameter>",        false),
            ("another tag",          "<p>a</p><header>",      "</parameter>",        false),
            ("another closing tag",  "<x>a</diameter>",       "</parameter>",        false),
            ("in the middle",        "</par b",               "</parameter>",        false),
            ("two marks",            "ab[>[</port>",          "]<]mark[>[</port>",   true),
            ("a wide bar",           "a b｜call>",            "</｜call>",           true),
            ("nothing",              "",                      "</｜call>",           false),
        ];
        for (name, value, tag, want) in rows {
            assert_eq!(ends_in_scrap(value, tag), want, "{name}");
        }
    }
}
