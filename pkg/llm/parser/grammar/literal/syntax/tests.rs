use proptest::prelude::*;
use serde_json::Value;

use super::SyntaxCall;
use crate::grammar::{
    reader::{MarkerGuard, PayloadReader, PlainText},
    schema::KnownTools,
    tests::{Reading, read_at_all_cuts, read_cut},
};

const GEMMA: &str = "<|\"|>";
const ESCAPE: &str = "<escape>";

fn gemma() -> SyntaxCall {
    SyntaxCall::new(GEMMA, false, KnownTools::default())
}

fn function_gemma() -> SyntaxCall {
    SyntaxCall::new(ESCAPE, false, KnownTools::default())
}

#[track_caller]
fn check(rows: &[(&str, &str, &str)], reader: impl Fn() -> SyntaxCall) {
    let shown = |text| read_at_all_cuts(text, &reader).show();
    let read: Vec<_> = rows.iter().map(|(name, text, _)| (*name, shown(text))).collect();
    let want: Vec<_> = rows.iter().map(|(name, _, want)| (*name, (*want).to_owned())).collect();
    assert_eq!(read, want);
}

#[test]
fn calls_read_as_names_and_json() {
    #[rustfmt::skip]
    let rows = [
        ("one string",           r#"call:look{at:<|"|>the sea<|"|>}"#,             r#"look {"at":"the sea"}"#),
        ("two members",          r"call:add{a:1,b:-2.5e3}",                      r#"add {"a":1,"b":-2.5e3}"#),
        ("words",                r"call:f{a:true,b:false,c:null}",               r#"f {"a":true,"b":false,"c":null}"#),
        ("an exact integer",     r"call:f{n:123456789012345678901234567890}",    r#"f {"n":123456789012345678901234567890}"#),
        ("nested",               r#"call:f{a:{b:[1,{c:<|"|>x<|"|>}]},d:[]}"#,      r#"f {"a":{"b":[1,{"c":"x"}]},"d":[]}"#),
        ("strings in a list",    r#"call:f{a:[<|"|>x<|"|>,<|"|><|"|>]}"#,          r#"f {"a":["x",""]}"#),
        ("JSON",                 r#"call:run{"command": "ls"}"#,                   r#"run {"command": "ls"}"#),
        ("JSON, a bare key",     r#"call:run{command: "ls"}"#,                     r#"run {"command": "ls"}"#),
        ("JSON's own strings",   r#"call:f{a:"x\ny",b:"<|b|>"}"#,                  r#"f {"a":"x\ny","b":"<|b|>"}"#),
        ("a key in delimiters",  r#"call:f{<|"|>a b<|"|>:1}"#,                     r#"f {"a b":1}"#),
        ("keys of all letters",  r"call:f{a-b:1,a.b:2,$c:3,4d:4,_e:5,é:6}",      r#"f {"a-b":1,"a.b":2,"$c":3,"4d":4,"_e":5,"é":6}"#),
        ("blanks",               "call: f {\n  a : 1 ,\n b : <|\"|> x <|\"|> }",   "f {\n  \"a\" : 1 ,\n \"b\" : \" x \" }"),
        ("no members",           "call:f{}",                                       "f {}"),
        ("no braces",            "call:f",                                         "f {}"),
        ("no braces, a blank",   "call:f \n",                                      "f {}"),
        ("parentheses",          "call:f()",                                       "f {}"),
        ("both",                 "call:f ( ) {a:1}",                               "f {\"a\":1}"),
        ("another case",         "Call:f{}",                                       "f {}"),
        ("a dotted name",        "call:a.b-c/d:e_1{}",                             "a.b-c/d:e_1 {}"),
        ("other scripts",        "call:été{ключ:<|\"|>日本 😀<|\"|>}",              "été {\"ключ\":\"日本 😀\"}"),
    ];
    check(&rows, gemma);
}

#[test]
fn text_between_delimiters_is_verbatim() {
    #[rustfmt::skip]
    let rows = [
        ("backslashes",        r#"call:f{a:<|"|>C:\dir\new "x"<|"|>}"#,          r#"f {"a":"C:\\dir\\new \"x\""}"#),
        ("controls",           "call:f{a:<|\"|>1\n2\t3\r<|\"|>}",                r#"f {"a":"1\n2\t3\r"}"#),
        ("brackets",           r#"call:f{a:<|"|>}, b:{[<|"|>}"#,                 r#"f {"a":"}, b:{["}"#),
        ("a false delimiter",  r#"call:f{a:<|"|><|"<|<<|x|><|"|>}"#,             r#"f {"a":"<|\"<|<<|x|>"}"#),
        ("another delimiter",  r#"call:f{a:<|"|><escape>'<|"|>}"#,               r#"f {"a":"<escape>'"}"#),
        ("another call",       r#"call:f{a:<|"|>call:g{}<|"|>}"#,                r#"f {"a":"call:g{}"}"#),
        ("entities",           r#"call:f{a:<|"|>&lt;<|"|>}"#,                    r#"f {"a":"&lt;"}"#),
    ];
    check(&rows, gemma);
    #[rustfmt::skip]
    let rows = [
        ("escape",             r#"call:f{a:<escape>x "y" <|"|><escape>,b:2}"#,   r#"f {"a":"x \"y\" <|\"|>","b":2}"#),
        ("escape, nearly",     r"call:f{a:<escape><esc<escape>}",              r#"f {"a":"<esc"}"#),
    ];
    check(&rows, function_gemma);
}

#[test]
fn several_calls_are_read_in_order() {
    #[rustfmt::skip]
    let rows = [
        ("side by side",       "call:f{a:1}call:g{b:2}",          "f {\"a\":1} ; g {\"b\":2}"),
        ("on lines",           "call:f{}\ncall:g{}\ncall:h{}\n",  "f {} ; g {} ; h {}"),
        ("without braces",     "call:f call:g() call:h",          "f {} ; g {} ; h {}"),
        ("commas between",     "call:f{},call:g{}",               "f {} ~trailing_text ; g {}"),
        ("text between",       "call:f{} then call:g{}",          "f {} ~trailing_text ; g {}"),
        ("text behind",        "call:f{a:1} recall:x ca",         "f {\"a\":1} ~trailing_text"),
        ("one begun",          "call:f{a:1}\ncall",               "f {\"a\":1} ~trailing_text"),
        ("repairs are apart",  "call:f{a:'x'}call:g{a:1}",        "f {\"a\":\"x\"} ~single_quotes ; g {\"a\":1}"),
    ];
    check(&rows, gemma);
}

#[test]
fn what_models_get_wrong_is_mended_and_named() {
    #[rustfmt::skip]
    let rows = [
        ("single quotes",      "call:f{a:'it'}",                  "f {\"a\":\"it\"} ~single_quotes"),
        ("Python's words",     "call:f{a:True,b:None}",           "f {\"a\":true,\"b\":null}"),
        ("trailing commas",    "call:f{a:[1,],,}",                "f {\"a\":[1]} ~extra_comma"),
        ("a comment",          "call:f{/* x */a:1}",              "f {\"a\":1} ~comment"),
        ("a raw newline",      "call:f{a:\"x\ny\"}",              "f {\"a\":\"x\\ny\"} ~raw_control"),
        ("a false escape",     r#"call:f{a:"C:\dir"}"#,           r#"f {"a":"C:\\dir"} ~invalid_escape"#),
        ("no word before",     ":f{a:1}:g{}",                     "f {\"a\":1} ~trailing_text"),
        ("arguments in ()",    "call:f(a=1, b = <|\"|>x)=y<|\"|>)", "f {\"a\":1, \"b\" : \"x)=y\"}"),
        ("a list in ()",       "call:f( a: [(1)] )",       "f {\"a\": [\"(1)\"] } ~unquoted_string"),
        ("an object in ()",    "call:f({a:1})",            "f {\"a\":1} ~trailing_text"),
        ("no word before it",  "f{a:1}",                   "f {\"a\":1}"),
        ("half the word",      "calls{a:1}",               "calls {\"a\":1}"),
        ("a dash before it",   "-f{a:1}",                  "f {\"a\":1}"),
        ("a group before it",  "ns.group:f{a:1}",          "ns.group:f {\"a\":1}"),
        ("bare strings",       "call:f{a: ls -la ,b:https://x.y,c:~/x,d:#fff}", "f {\"a\": \"ls -la\" ,\"b\":\"https://x.y\",\"c\":\"~/x\",\"d\":\"#fff\"} ~unquoted_string"),
        ("no JSON numbers",    "call:f{a:[0x1F,+1,.5,NaN,07]}",   "f {\"a\":[\"0x1F\",\"+1\",\".5\",\"NaN\",\"07\"]} ~unquoted_string"),
        ("keys with blanks",   "call:f{first name:1, b c : 2}",   "f {\"first name\":1, \"b c\" : 2} ~unquoted_string"),
        // Found: PEER
        ("no values",          "call:f{a:,b: ,c:}",              "f {\"a\":\"\",\"b\": \"\",\"c\":\"\"} ~unquoted_string"),
        ("a point at the end", "call:f{a:108.,b:x.}",            "f {\"a\":108.0,\"b\":\"x.\"} ~unquoted_string"),
        ("no delimiter",       "call:f{a:<|x,b:<b>}",             "f {\"a\":\"<|x\",\"b\":\"<b>\"} ~unquoted_string"),
        ("back-ticks",         "call:f{a:`x, \"y\" } \\`,b:[``]}",  "f {\"a\":\"x, \\\"y\\\" } \\\\\",\"b\":[\"\"]}"),
        ("a word at the end",  "call:f{a:[b c",                   "f {\"a\":[\"b c\"]} ~missing_bracket ~unquoted_string"),
        ("no last brace",      "call:f{a:[1,2",                   "f {\"a\":[1,2]} ~missing_bracket"),
        ("no comma",           "call:f{a:<|\"|>x<|\"|>b: 2}",     "f {\"a\":\"x\",\"b\": 2} ~missing_comma"),
    ];
    check(&rows, gemma);
}

#[test]
fn what_cannot_be_mended_is_malformed() {
    #[rustfmt::skip]
    let rows = [
        ("nothing",            "",                        "? !the payload begins with no `call:` @0"),
        ("another payload",    "{\"name\":\"f\"}",        "? !the payload begins with no `call:` @0"),
        ("no name",            "call:{a:1}",              "? !the call names no tool @5"),
        ("no name at all",     "call: ",                  "? !the call names no tool @6"),
        ("no key",             "call:f{1,2}",             "f !a colon is missing after a key @8"),
        ("a stray word",       "call:f is it",            "f !this belongs in no call @7"),
        ("an open string",     "call:f{a:<|\"|>x",        "f !a string is not closed before the end of the call @15"),
        ("an open JSON string","call:f{a:\"x",            "f !the JSON ends too early @11"),
        ("half a delimiter",   "call:f{a:<|\"",           "f !expected a JSON value @9"),
        ("behind a string",    "call:f{a:<|\"|>xy<|\"|>z}", "f !a colon is missing after a key @22 ~missing_comma"),
        // Found: PEER
        ("only opened",        "call:f{",                 "f !the JSON ends too early @7"),
        ("a parenthesis",      "call:f(",                 "f !the arguments end too early @7"),
    ];
    check(&rows, gemma);
}

#[test]
fn names_and_nesting_are_bounded() {
    let text = format!("call:{}{{}}", "n".repeat(1024));
    assert!(read_at_all_cuts(&text, gemma).is_complete());
    let text = format!("call:{}{{}}", "n".repeat(1025));
    assert_eq!(read_at_all_cuts(&text, gemma).show(), "? !a name is longer than 1024 bytes @1029");
    let text = format!("call:f{{a:{}{}}}", "[".repeat(127), "]".repeat(127));
    assert!(read_at_all_cuts(&text, gemma).is_complete());
    let text = format!("call:f{{a:{}{}}}", "[".repeat(128), "]".repeat(128));
    assert_eq!(
        read_at_all_cuts(&text, gemma).show(),
        "f !the JSON nests deeper than 128 levels @136"
    );
}

#[test]
fn the_source_is_that_of_the_arguments() {
    let text = "call:f {a:<|\"|>x\\<|\"|>} call:g() call:h{ b: 1 }";
    let reading = read_at_all_cuts(text, gemma);
    assert_eq!(reading.sources(), ["{a:<|\"|>x\\<|\"|>}", "", "{ b: 1 }"]);
}

#[test]
fn the_reader_says_where_it_stands() {
    let mut reader = gemma();
    #[rustfmt::skip]
    let steps = [
        ("call:f",       MarkerGuard::Open,                PlainText::Nothing,    false),
        ("{a:",          MarkerGuard::Open,                PlainText::Nothing,    false),
        ("<|\"|>",       MarkerGuard::InString(GEMMA),     PlainText::MarkupRules,    false),
        ("x<|",          MarkerGuard::InString(GEMMA),     PlainText::Nothing,    false),
        ("\"|>,",        MarkerGuard::Open,                PlainText::Nothing,    false),
        ("b:\"",         MarkerGuard::InString("\""),      PlainText::JsonString, false),
        ("\\",           MarkerGuard::InString("\""),      PlainText::Nothing,    false),
        ("n\",c:'",      MarkerGuard::InString("'"),       PlainText::Nothing,    false),
        ("', /*",        MarkerGuard::Closed,              PlainText::Nothing,    false),
        (" */}",         MarkerGuard::Open,                PlainText::Nothing,    true),
        ("call:",        MarkerGuard::Open,                PlainText::Nothing,    false),
        ("g()",          MarkerGuard::Open,                PlainText::Nothing,    true),
    ];
    for (text, guard, plain, is_whole) in steps {
        reader.feed(text, &mut |_| {});
        assert_eq!(
            (reader.guard(), reader.plain(), reader.is_whole()),
            (guard, plain, is_whole),
            "{text}"
        );
    }
}

fn string() -> impl Strategy<Value = String> {
    "([ -~]|[\\n\\té日😀\"\\\\{},:<|>]){0,12}"
}

/// JSON values, with keys and strings that need care.
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
            members(inner).prop_map(Value::Object),
        ]
    })
}

fn members(
    value: impl Strategy<Value = Value>,
) -> impl Strategy<Value = serde_json::Map<String, Value>> {
    let key = prop_oneof!["[a-z0-9_$][a-z0-9_$.-]{0,5}", string()];
    prop::collection::vec((key, value), 0..4).prop_map(|members| members.into_iter().collect())
}

fn write_string(text: &str, out: &mut String) {
    // Only what holds no delimiter can stand between delimiters.
    if text.contains("<|\"|") || text.contains("<|\"") || text.ends_with(['<', '|', '"']) {
        out.push_str(&Value::from(text).to_string());
    } else {
        out.extend([GEMMA, text, GEMMA]);
    }
}

fn is_bare_key(key: &str) -> bool {
    !key.is_empty()
        && !key.starts_with(['-', '.'])
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$.-".contains(&byte))
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                if is_bare_key(key) {
                    out.push_str(key);
                } else {
                    write_string(key, out);
                }
                out.push(':');
                write_value(value, out);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_value_reads_back_at_any_cut(
        calls in prop::collection::vec(members(value()).prop_map(Value::Object), 1..4),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let mut text = String::new();
        for arguments in &calls {
            text.push_str("call:f");
            write_value(arguments, &mut text);
        }
        let reading: Reading = read_cut(&text, &cuts, gemma);
        let want: Vec<_> = calls.into_iter().map(|arguments| ("f", arguments)).collect();
        prop_assert_eq!(reading.values(), Some(want), "{}", text);
    }

    #[test]
    fn any_text_reads_the_same_at_any_cut(
        parts in prop::collection::vec(
            prop_oneof![
                Just("call:"), Just("f"), Just("{"), Just("}"), Just("["), Just("]"), Just(":"),
                Just(","), Just("<|\"|>"), Just("<|"), Just("\""), Just("'"), Just("\\"), Just("1"),
                Just("-"), Just("."), Just("e"), Just("true"), Just("None"), Just(" "), Just("\n"),
                Just("é"), Just("("), Just(")"), Just("/"), Just("*"), Just("ca"), Just("u12"),
            ],
            0..24,
        ),
        begins in any::<bool>(),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let text = format!("{}{}", if begins { "call:f{" } else { "" }, parts.concat());
        read_cut(&text, &cuts, gemma);
    }
}
