//! The bounds of a call: closers in strings and values, and offsets of calls that share a place.

use std::fmt::Write;

use crate::llm::parser::{CallEnd, ParsedContent, ToolCallParser, ToolDialect};

/// Longest text that is held back behind an ambiguous closer, in bytes with the closer.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Reads `pieces` and shows text as it is and each call as `[NAME OUTCOME ARGUMENTS]`.
fn read<'t>(dialect: &str, pieces: impl IntoIterator<Item = &'t str>) -> String {
    read_with(parser(dialect), pieces)
}

fn parser(dialect: &str) -> ToolCallParser {
    ToolCallParser::new(&ToolDialect::by_name(dialect).unwrap())
}

fn read_with<'t>(mut parser: ToolCallParser, pieces: impl IntoIterator<Item = &'t str>) -> String {
    let (mut shown, mut name, mut arguments) = (String::new(), String::new(), String::new());
    let out = &mut |content: ParsedContent<'_>| match content {
        ParsedContent::Text(text) => shown.push_str(text),
        ParsedContent::CallName(text) => name.push_str(text),
        ParsedContent::CallArguments(text) | ParsedContent::CallVerbatim(text) => {
            arguments.push_str(text);
        }
        ParsedContent::CallEnd { outcome, .. } => {
            match outcome {
                CallEnd::Complete => write!(shown, "[{name} {arguments}]").unwrap(),
                CallEnd::Incomplete => write!(shown, "[{name} incomplete]").unwrap(),
                CallEnd::Malformed { offset, .. } => write!(shown, "[{name} @{offset}]").unwrap(),
            }
            name.clear();
            arguments.clear();
        }
        ParsedContent::Marker(_)
        | ParsedContent::CallStart
        | ParsedContent::CallId(_)
        | ParsedContent::CallServer(_)
        | ParsedContent::CallBody(_)
        | ParsedContent::CallSource(_)
        | ParsedContent::OpenerInCode => {}
    };
    pieces.into_iter().for_each(|piece| parser.parse(piece, out));
    parser.flush(true, out);
    shown
}

/// Reads `text` whole and in two pieces, cut at every byte up to `last_cut`; all must agree.
fn read_cut(dialect: &str, text: &str, last_cut: usize) -> String {
    let whole = read(dialect, [text]);
    for cut in (0..last_cut.min(text.len())).filter(|at| text.is_char_boundary(*at)) {
        let (head, tail) = text.split_at(cut);
        assert_eq!(read(dialect, [head, tail]), whole, "cut at {cut}");
    }
    whole
}

#[test]
fn the_offset_of_a_mistake_counts_from_the_start_of_its_own_call() {
    let lone = r#"<tool_call>{"name":"h","arguments":{x y}}</tool_call>"#;
    let array = r#"<tool_call>[{"name":"f"},{"name":"g"}]</tool_call>"#;
    let both = format!("{array}{lone}");
    assert_eq!(read_cut("hermes", lone, usize::MAX), "[h @27]");
    assert_eq!(read_cut("hermes", &both, usize::MAX), "[f {}][g {}][h @27]");
}

#[test]
fn calls_of_one_form_each_have_the_whole_limit() {
    let text = r#"<tool_call>[{"name":"f"},{"name":"g"}]</tool_call>"#.repeat(3);
    let limited = |bytes| read_with(parser("hermes").max_call_bytes(bytes), [text.as_str()]);
    assert_eq!(limited(27), "[f {}][g {}]".repeat(3));
    assert_eq!(limited(26), "[f {}][g @12]");
}

#[test]
fn a_closer_in_a_key_is_data() {
    let text = r#"<tool>{"tool_name":"f","arguments":{"a</tool>b" : 1}}</tool>"#;
    assert_eq!(read_cut("forge", text, usize::MAX), r#"[f {"a</tool>b" : 1}]"#);
}

#[test]
fn a_closer_in_a_string_is_data_once_more_than_64_kib_follow_it() {
    let start = r#"<tool>{"tool_name":"f","arguments":{"a":""#;
    let held = MAX_HELD_BYTES - "</tool>\"".len();
    for (length, is_data) in [(held - 1, false), (held, true)] {
        let inside = "b".repeat(length);
        let text = format!("{start}</tool>{inside}\"z");
        let want = if is_data {
            format!("[f @{}]", 35 + MAX_HELD_BYTES)
        } else {
            format!("[f @35]{inside}\"z")
        };
        let shown = read("forge", [text.as_str()]);
        assert!(shown == want, "{length}: {:.12} … {} bytes", shown, shown.len());
        let pieces = text.as_bytes().chunks(1000).map(|piece| str::from_utf8(piece).unwrap());
        assert!(read("forge", pieces) == want, "{length}: in pieces");
    }
}

#[test]
fn a_closer_in_a_value_is_data_once_more_than_64_kib_follow_it() {
    let start = "<tool_call>\n<function=f>\n<parameter=a>\n";
    let held = MAX_HELD_BYTES - "</tool_call>".len();
    for (length, is_data) in [(held, false), (held + 1, true)] {
        let inside = "b".repeat(length);
        let text = format!("{start}</tool_call>{inside}");
        let want = if is_data {
            "[f incomplete]".to_owned()
        } else {
            format!("[f {{\"a\":\"\"}}]{inside}")
        };
        let shown = read("qwen3-coder", [text.as_str()]);
        assert!(shown == want, "{length}: {:.12} … {} bytes", shown, shown.len());
        let pieces = text.as_bytes().chunks(1000).map(|piece| str::from_utf8(piece).unwrap());
        assert!(read("qwen3-coder", pieces) == want, "{length}: in pieces");
    }
}
