use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::PythonCalls;
use crate::grammar::{
    reader::{MarkerGuard, PayloadReader, PlainText},
    schema::KnownTools,
    tests::{read_at_all_cuts, read_cut},
};
use forgeline_types::Text;

fn reader() -> PythonCalls {
    let schema = json!({"properties": {"place": {"type": "string"}, "days": {"type": "integer"}}});
    let schemas: [(Text, Arc<Value>); 1] = [(Text::from("weather"), schema.into())];
    PythonCalls::new(KnownTools::from(Arc::from(schemas)), false)
}

/// A reader that stops at a mistake.
fn reader_to_mistake() -> PythonCalls {
    let schema = json!({"properties": {"place": {"type": "string"}, "days": {"type": "integer"}}});
    let schemas: [(Text, Arc<Value>); 1] = [(Text::from("weather"), schema.into())];
    PythonCalls::new(KnownTools::from(Arc::from(schemas)), true)
}

#[track_caller]
fn check(rows: &[(&str, &str, &str)]) {
    let shown = |text| read_at_all_cuts(text, reader).show();
    let read: Vec<_> = rows.iter().map(|(name, text, _)| (*name, shown(text))).collect();
    let want: Vec<_> = rows.iter().map(|(name, _, want)| (*name, (*want).to_owned())).collect();
    assert_eq!(read, want);
}

/// Rows of one value each.
#[track_caller]
fn check_values(rows: &[(&str, &str, &str)]) {
    for (name, value, want) in rows {
        let reading = read_at_all_cuts(&format!("[f(a={value})]"), reader);
        let shown = reading.show();
        let (_, shown) = shown.split_once(' ').unwrap();
        let (shown, repairs) = shown.split_once(" ~").unwrap_or((shown, ""));
        let shown = shown.strip_prefix("{\"a\":").and_then(|rest| rest.strip_suffix('}'));
        let shown = shown.unwrap_or_else(|| panic!("{name}: {}", reading.show()));
        let shown = [shown, repairs].join(if repairs.is_empty() { "" } else { " ~" });
        assert_eq!(shown, *want, "{name}");
    }
}

#[test]
fn calls_read_as_names_and_json() {
    #[rustfmt::skip]
    let rows = [
        ("one call",             "[look(at='sea')]",                  "look {\"at\":\"sea\"}"),
        ("several arguments",    "[f(a=1, b=\"x\", c=None)]",         "f {\"a\":1,\"b\":\"x\",\"c\":null}"),
        ("no arguments",         "[f()]",                             "f {}"),
        ("blanks everywhere",    " [ f ( a = 1 , b = [ 1 , 2 ] ) ] ", "f {\"a\":1,\"b\":[1,2]}"),
        ("lines",                "[\n  f(\n    a=1,\n  ),\n]",        "f {\"a\":1}"),
        ("several calls",        "[f(a=1), g(), h(b='')]",            "f {\"a\":1} ; g {} ; h {\"b\":\"\"}"),
        ("a trailing comma",     "[f(a=1,), g(),]",                   "f {\"a\":1} ; g {}"),
        ("dots and hyphens",     "[a.b-c.d(x=1)]",                    "a.b-c.d {\"x\":1}"),
        ("no brackets",          "f(a=1)",                            "f {\"a\":1}"),
        ("a call on a line",     "f(a=1)\ng(b=2)\n\nh()\n",           "f {\"a\":1} ; g {\"b\":2} ; h {}"),
        ("commas, no brackets",  "f(a=1), g(); h()",                  "f {\"a\":1} ; g {} ; h {}"),
        ("other scripts",        "[été(ключ='日本')]",                 "été {\"ключ\":\"日本\"}"),
        ("names like literals",  "[f(true=1, r=2, None_=3)]",         "f {\"true\":1,\"r\":2,\"None_\":3}"),
        ("arguments by place",   "[weather('Rome', 3)]",              "weather {\"place\":\"Rome\",\"days\":3}"),
        ("a word by place",      "[weather(None, days = 3)]",         "weather {\"place\":null,\"days\":3}"),
        ("a raw one by place",   "[weather(r'a\\b' , 3)]",            "weather {\"place\":\"a\\\\b\",\"days\":3}"),
        ("a list by place",      "[weather([1])]",                    "weather {\"place\":[1]}"),
    ];
    check(&rows);
}

#[test]
fn literals_read_as_json() {
    #[rustfmt::skip]
    let rows = [
        ("an integer",           "42",                     "42"),
        ("zero",                 "0",                      "0"),
        ("negative",             "-7",                     "-7"),
        ("a plus",               "+7",                     "7"),
        ("underscores",          "1_000_000",              "1000000"),
        ("an exact integer",     "123456789012345678901234567890", "123456789012345678901234567890"),
        ("a float",              "3.25",                   "3.25"),
        ("no fraction",          "1.",                     "1.0"),
        ("no whole",             "-.5",                    "-0.5"),
        ("zero and no fraction", "0.",                     "0.0"),
        ("an exponent",          "1e10",                   "1e10"),
        ("a signed exponent",    "1.5E-1_0",               "1.5E-10"),
        ("a bare exponent",      "1.e5",                   "1.0e5"),
        ("zero to a power",      "0e0",                    "0e0"),
        ("hexadecimal",          "0xFf",                   "255"),
        ("octal",                "-0o17",                  "-15"),
        ("binary",               "0b1_01",                 "5"),
        ("words",                "[True, False, None]",    "[true,false,null]"),
        ("JSON's words",         "[true, false, null]",    "[true,false,null]"),
        ("an empty list",        "[]",                     "[]"),
        ("a list",               "[1, 'a', [2],]",         "[1,\"a\",[2]]"),
        ("an empty tuple",       "()",                     "[]"),
        ("a tuple",              "(1, 2)",                 "[1,2]"),
        ("a tuple of one",       "(1,)",                   "[1]"),
        ("an empty dict",        "{}",                     "{}"),
        ("a dict",               "{'a': 1, \"b\": {'c': (2,)},}", "{\"a\":1,\"b\":{\"c\":[2]}}"),
        ("other keys",           "{1: 'a', -2.5: 'b', True: 'c', None: 'd'}",
                                 "{\"1\":\"a\",\"-2.5\":\"b\",\"true\":\"c\",\"null\":\"d\"}"),
    ];
    check_values(&rows);
}

#[test]
fn a_quote_that_should_be_escaped_is_text() {
    #[rustfmt::skip]
    let rows = [
        ("of a command",         "[f(a='cut -d '1,2' x')]",             "f {\"a\":\"cut -d '1,2' x\"} ~invalid_escape"),
        ("the same, doubled",    "[f(a=\"say \"hi\" to\", b=1)]",         "f {\"a\":\"say \\\"hi\\\" to\",\"b\":1} ~invalid_escape"),
        ("before a parenthesis", "[f(a='p -c \"show('b')\"')]",         "f {\"a\":\"p -c \\\"show('b')\\\"\"} ~invalid_escape"),
        ("around a comma",       "[f(a='IFS=',' read', b='x')]",        "f {\"a\":\"IFS=',' read\",\"b\":\"x\"} ~invalid_escape"),
        ("no brackets",          "f(a='cut '1' x')\ng(b='y')",          "f {\"a\":\"cut '1' x\"} ~invalid_escape ; g {\"b\":\"y\"}"),
        ("in a list",            "[f(a=['b 'c' d', 'e'])]",             "f {\"a\":[\"b 'c' d\",\"e\"]} ~invalid_escape"),
        ("in a dict",            "[f(a={'b': 'c 'd' e', 'g': 1})]",     "f {\"a\":{\"b\":\"c 'd' e\",\"g\":1}} ~invalid_escape"),
        ("one, at the end",      "[f(a='x 'y'), g(b='p 'q')]",          "f {\"a\":\"x 'y\"} ~invalid_escape ; g {\"b\":\"p 'q\"} ~invalid_escape"),
        ("one, then a number",   "[f(a='x 'y', b=2)]",                  "f {\"a\":\"x 'y\",\"b\":2} ~invalid_escape"),
        ("lines of code",        "[f(a='def g():\n    return '<b>'\n')]", "f {\"a\":\"def g():\\n    return '<b>'\\n\"} ~raw_control ~invalid_escape"),
        ("one, then a string",   "[f(a='x 'y', b='z')]",                "f !a quote in a string before is not escaped @15 ~invalid_escape"),
        ("a call taken in",      "[f(a='x' y), g(b='z')]",              "f !a string is not closed before the next call @17 ~invalid_escape"),
        ("never closed",         "[f(a='x 'y' 'z)]",                    "f !a string is not closed before the end of the call @16 ~invalid_escape"),
    ];
    check(&rows);
    let rows = [(
        "a bracket left out",
        "[f(a=[1, 2), g(b={'c': [3})]",
        "f {\"a\":[1,2]} ~missing_bracket ; g {\"b\":{\"c\":[3]}} ~missing_bracket",
    )];
    check(&rows);
    let source = |text| read_at_all_cuts(text, reader).sources().join("|");
    assert_eq!(source("[f(a='x' ) , g(b='y (')' z' )]"), "a='x' |b='y (')' z' ");
}

#[test]
fn strings_read_as_python_reads_them() {
    #[rustfmt::skip]
    let rows = [
        ("single quotes",         r#"'say "x"'"#,                 r#""say \"x\"""#),
        ("double quotes",         r#""it's""#,                    r#""it's""#),
        ("empty",                 "''",                           r#""""#),
        ("escapes",               r"'\n\t\r\b\f\\\'\x22 \a\v'",   r#""\n\t\r\b\f\\'\" \u0007\u000b""#),
        ("characters by number",  r"'\x41\xe9\u00e9\U0001F600\101\0'", r#""Aéé😀A\u0000""#),
        ("a pair of halves",      r"'\ud83d\ude00'",              r#""😀""#),
        ("lone halves",           r"'\ud83dx\ude00\ud83d'",       "\"\u{FFFD}x\u{FFFD}\u{FFFD}\""),
        ("a half before others",  r"'\ud83d\n\ud83d\x41'",        "\"\u{FFFD}\\n\u{FFFD}A\""),
        ("no escapes",            r"'C:\dir\/x'",                 r#""C:\\dir\\/x""#),
        ("a line that goes on",   "'a\\\nb'",                     r#""ab""#),
        ("long",                  "'''a'b''c\n\"d\"'''",          r#""a'b''c\n\"d\"""#),
        ("long, double",          "\"\"\"a\"b\"\"c'\"\"\"",       r#""a\"b\"\"c'""#),
        ("long, empty",           "\"\"\"\"\"\"",                 r#""""#),
        ("raw",                   r"r'\d+\'\\'",                  r#""\\d+\\'\\\\""#),
        ("prefixes",              "[u'b', f'{c}', R'\\d', fR'\\e']",
                                                                  r#"["b","{c}","\\d","\\e"]"#),
        ("side by side",          "'a' \"b\"\n 'c'r'\\d'",        r#""abc\\d""#),
        ("keys side by side",     "{'a' 'b': 'c' 'd'}",           r#"{"ab":"cd"}"#),
        ("a tab",                 "'a\tb'",                       r#""a\tb""#),
        ("a raw newline",         "'a\nb'",                       r#""a\nb" ~raw_control"#),
        ("a false number",        r"'\xg \u12'",                  r#""\\xg \\u12" ~invalid_escape"#),
        ("a number too large",    r"'\U00110000'",                r#""\\U00110000" ~invalid_escape"#),
        ("other scripts",         r"'日本 \é 😀'",                 r#""日本 \\é 😀""#),
        ("brackets and calls",    "'), g(a=1)]'",                 r#""), g(a=1)]""#),
    ];
    check_values(&rows);
}

#[test]
fn what_models_get_wrong_is_mended_and_named() {
    #[rustfmt::skip]
    let rows = [
        ("doubled commas",         "[f(a=1,,b=[2,,3]),,g()]",  "f {\"a\":1,\"b\":[2,3]} ~extra_comma ; g {}"),
        ("no last bracket",        "[f(a=1)",                  "f {\"a\":1} ~missing_bracket"),
        ("a comma, no bracket",    "[f(a=1), ",                "f {\"a\":1} ~missing_bracket"),
        ("no last brackets",       "[f(a=[1, {'b': 2",         "f {\"a\":[1,{\"b\":2}]} ~missing_bracket"),
        ("none behind a string",   "f(a='x'",                  "f {\"a\":\"x\"} ~missing_bracket"),
        ("none behind an empty one", "f(a=''",                 "f {\"a\":\"\"} ~missing_bracket"),
        ("none behind a word",     "f(a=True",                 "f {\"a\":true} ~missing_bracket"),
        ("text behind",            "f(a=1) - that is it",      "f {\"a\":1} ~trailing_text"),
    ];
    check(&rows);
}

#[test]
fn what_cannot_be_mended_is_malformed() {
    #[rustfmt::skip]
    let rows = [
        ("nothing",                "",                     "? !the call is empty @0"),
        ("no call",                "[]",                   "? !the list holds no call @1"),
        ("numbers",                "[1]",                  "? !this begins no call @1"),
        ("no parentheses",         "[f]",                  "? !`(` is missing behind the name of a call @2"),
        ("two words",              "[f g()]",              "? !`(` is missing behind the name of a call @3"),
        ("cut in a name",          "[f",                   "? !the list of calls ends too early @2"),
        ("no comma",               "[f() g()]",            "f !a comma or `]` is missing behind a call @5"),
        ("no name, no schema",     "[f(1)]",               "f !an argument has no name, and no schema gives it one @3"),
        ("a word without a name",  "[f(x)]",               "f !an argument has no name, and no schema gives it one @3"),
        ("too many by place",      "[weather('a', 1, 2)]", "weather !there are more arguments than the schema has @17"),
        ("a place behind a name",  "[weather(days=1, 'a')]", "weather !an argument without a name follows one with a name @17"),
        ("given twice",            "[f(a=1, a=2)]",        "f !duplicate_argument @8"),
        ("by place and by name",   "[weather('a', place='b')]", "weather !duplicate_argument @14"),
        ("unpacked",               "[f(**{})]",            "f !arguments are unpacked @3"),
        ("a call inside",          "[f(a=g(1))]",          "f !a call stands inside an argument @5"),
        ("a name inside",          "[f(a=b)]",             "f !this word is not a Python literal @5"),
        ("a long word",            "[f(a=because)]",       "f !this word is not a Python literal @5"),
        ("not a number",           "[f(a=nan)]",           "f !this word is not a Python literal @5"),
        ("an operator",            "[f(a=1 + 2)]",         "f !a comma or a bracket is missing behind a value @7"),
        ("an operator on strings", "[f(a='x' % 2)]",       "f !a comma or a bracket is missing behind a value @9"),
        ("a comprehension",        "[f(a=[1 for x in y])]", "f !a comma or a bracket is missing behind a value @8"),
        ("a condition",            "[f(a='x' if y)]",      "f !a string is not closed before the end of the call @15 ~invalid_escape"),
        ("a false prefix",         "[f(a=x'1')]",          "f !this word is not a Python literal @5"),
        ("parentheses for nothing", "[f(a=(1))]",          "f !parentheses around one value make no tuple @7"),
        ("the wrong bracket",      "[f(a=[1})]",           "f !this bracket closes another @7"),
        ("a key that is a list",   "[f(a={[1]: 2})]",      "f !a key of a dict is not a string, number or word @6"),
        ("no value",               "[f(a=, b=1)]",         "f !this starts no Python literal @5"),
        ("a comma first",          "[f(,)]",               "f !a value is missing before a comma @3"),
        ("a complex number",       "[f(a=1j)]",            "f !invalid Python number @6"),
        ("two points",             "[f(a=1.2.3)]",         "f !invalid Python number @8"),
        ("a lone point",           "[f(a=.)]",             "f !invalid Python number @6"),
        ("two signs",              "[f(a=--1)]",           "f !invalid Python number @6"),
        ("too large a number",     "[f(a=0x100000000000000000000000000000000)]", "f !a hexadecimal number has more than 128 bits @40"),
        ("an open string",         "[f(a='x)]",            "f !a string is not closed before the end of the call @9"),
        ("cut behind a name",      "[f(a=",                "f !the arguments end too early @5"),
        ("cut in a key",           "[f(a={'b'",            "f !the arguments end too early @9"),
        ("only in the second",     "[f(), g(a=b)]",        "f {} ; g !this word is not a Python literal @10"),
    ];
    check(&rows);
}

#[test]
fn a_list_ends_itself() {
    let reading = read_at_all_cuts("[f(a=']')] and more", reader);
    assert_eq!((reading.taken(), reading.is_whole()), (10, true));
    assert_eq!(reading.show(), "f {\"a\":\"]\"}");
    assert!(!read_at_all_cuts("[f(a=1)", reader).is_whole());
    assert!(read_at_all_cuts("f(a=1)", reader).is_whole());
}

#[test]
fn a_list_without_a_closer_ends_with_its_bracket() {
    #[rustfmt::skip]
    let rows = [
        ("prose",                "[see(this) and that](url)", 20),
        ("a long word",          "[f(a=because, b=1)]",       19),
        ("behind a call",        "[f(a=1) or g()]",           15),
        ("no call",              "[f](url)",                  3),
        ("none",                 "[f(a=1)] (url)",            8),
        ("no brackets",          "f(a=1)\ng()",               6),
    ];
    for (name, text, want) in rows {
        let reading = read_at_all_cuts(text, reader_to_mistake);
        assert_eq!(reading.taken(), want, "{name}: {}", reading.show());
    }
}

#[test]
fn names_and_nesting_are_bounded() {
    let name = "n".repeat(1024);
    assert!(read_at_all_cuts(&format!("[{name}({name}=1)]"), reader).is_complete());
    assert_eq!(
        read_at_all_cuts(&format!("[{name}n()]"), reader).show(),
        "? !a name is longer than 1024 bytes @1025"
    );
    assert_eq!(
        read_at_all_cuts(&format!("[f({name}n=1)]"), reader).show(),
        "f !a name is longer than 1024 bytes @3"
    );
    let nested = |depth| format!("[f(a={}{})]", "[".repeat(depth), "]".repeat(depth));
    assert!(read_at_all_cuts(&nested(127), reader).is_complete());
    assert_eq!(
        read_at_all_cuts(&nested(128), reader).show(),
        "f !the values nest deeper than 128 levels @132"
    );
}

#[test]
fn the_source_is_that_of_the_arguments() {
    let reading = read_at_all_cuts("[f( a='x' ), g(), h(b=[1])]", reader);
    assert_eq!(reading.sources(), [" a='x' ", "", "b=[1]"]);
}

#[test]
fn the_reader_says_where_it_stands() {
    let mut reader = reader();
    #[rustfmt::skip]
    let steps = [
        ("[f(a=",    MarkerGuard::Open,                   PlainText::Nothing),
        ("'",        MarkerGuard::InString("'"),          PlainText::Nothing),
        ("x",        MarkerGuard::InString("'"),          PlainText::PythonString),
        ("\\",       MarkerGuard::InString("'"),          PlainText::Nothing),
        ("n",        MarkerGuard::InString("'"),          PlainText::PythonString),
        ("\\ud83d",  MarkerGuard::InString("'"),          PlainText::Nothing),
        ("' \"",     MarkerGuard::InString("\""),         PlainText::Nothing),
        ("x'",       MarkerGuard::InString("\""),         PlainText::QuotedString),
        ("\" \"\"",   MarkerGuard::Open,                   PlainText::Nothing),
        ("\"",       MarkerGuard::InString("\"\"\""),     PlainText::QuotedString),
        ("\"",       MarkerGuard::InString("\"\"\""),     PlainText::Nothing),
        ("\"\"",     MarkerGuard::Open,                   PlainText::Nothing),
        (", b='''",  MarkerGuard::InString("'''"),        PlainText::PythonString),
        ("''')",     MarkerGuard::Open,                   PlainText::Nothing),
    ];
    for (text, guard, plain) in steps {
        reader.feed(text, &mut |_| {});
        assert_eq!((reader.guard(), reader.plain()), (guard, plain), "{text}");
    }
}

/// JSON values, with strings that need care.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i16>().prop_map(|number| Value::from(f64::from(number) / 64.0)),
        string().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((string(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn string() -> impl Strategy<Value = String> {
    "([ -~]|[\\n\\r\\té日😀\"'\\\\{},:<|>]){0,12}"
}

/// Writes `text` as Python in one of several ways.
fn write_string(text: &str, style: u8, out: &mut String) {
    let quote = if style & 1 == 0 { '\'' } else { '"' };
    let is_long = style & 2 == 0;
    let quotes = quote.to_string().repeat(if is_long { 3 } else { 1 });
    out.push_str(&quotes);
    for character in text.chars() {
        match character {
            '\n' if !is_long => out.push_str("\\n"),
            '\\' => out.push_str("\\\\"),
            '\r' => out.push_str("\\x0d"),
            'é' => out.push_str("\\xe9"),
            '😀' if style & 4 == 0 => out.push_str("\\U0001f600"),
            _ if character == quote => out.extend(['\\', quote]),
            _ => out.push(character),
        }
    }
    out.push_str(&quotes);
}

fn write_value(value: &Value, style: u8, out: &mut String) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => write_string(text, style, out),
        Value::Array(items) => {
            out.push(if style & 8 == 0 { '[' } else { '(' });
            for item in items {
                write_value(item, style.rotate_left(1), out);
                out.push(',');
            }
            out.push(if style & 8 == 0 { ']' } else { ')' });
        }
        Value::Object(members) => {
            out.push('{');
            for (key, value) in members {
                write_string(key, style.rotate_left(2), out);
                out.push_str(": ");
                write_value(value, style.rotate_left(3), out);
                out.push_str(", ");
            }
            out.push('}');
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_value_reads_back_at_any_cut(
        calls in prop::collection::vec(
            prop::collection::btree_map("[a-z_][a-z0-9_]{0,5}", value(), 0..4),
            1..4,
        ),
        style in any::<u8>(),
        is_list in any::<bool>(),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let calls: Vec<Value> =
            calls.into_iter().map(|members| Value::Object(members.into_iter().collect())).collect();
        let mut text = String::from(if is_list { "[" } else { "" });
        for arguments in &calls {
            text.push_str("f(");
            for (name, value) in arguments.as_object().unwrap() {
                text.extend([name, "="]);
                write_value(value, style, &mut text);
                text.push(',');
            }
            text.push_str(if is_list { "), " } else { ")\n" });
        }
        text.push_str(if is_list { "]" } else { "" });
        let reading = read_cut(&text, &cuts, reader);
        let want: Vec<_> = calls.into_iter().map(|arguments| ("f", arguments)).collect();
        prop_assert_eq!(reading.values(), Some(want), "{}", text);
    }

    #[test]
    fn any_text_reads_the_same_at_any_cut(
        parts in prop::collection::vec(
            prop_oneof![
                Just("f("), Just(")"), Just("{"), Just("}"), Just("["), Just("]"), Just("a="),
                Just(","), Just("'"), Just("\""), Just("'''"), Just("\\"), Just("1"), Just("0"),
                Just("x"), Just("r"), Just("_"), Just("-"), Just("."), Just("e"), Just("True"),
                Just(" "), Just("\n"), Just("é"), Just(":"), Just("\\ud83d"), Just("7"), Just("u"),
            ],
            0..24,
        ),
        begins in any::<bool>(),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let text = format!("{}{}", if begins { "[f(a=" } else { "" }, parts.concat());
        read_cut(&text, &cuts, reader);
        read_cut(&text, &cuts, reader_to_mistake);
    }
}
