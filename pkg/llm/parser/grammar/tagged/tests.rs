//! Every dialect's tags, at every split.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ParamsCall, Tags};
use crate::grammar::{
    ToolSchemas,
    reader::{MarkerGuard, PayloadOut, PayloadReader, PlainText, ValueTag},
    schema::KnownTools,
};
use forgeline_json::RepairSet;
use forgeline_types::Text;

static QWEN: Tags =
    Tags::new(["<function", "</function>"], ["<parameter", "</parameter>"], ">").framing();
static SEED: Tags = Tags::new(["<function", "</function>"], ["<parameter", "</parameter>"], ">");
static GLM: Tags = Tags::pairs(["<arg_key>", "</arg_key>"], ["<arg_value>", "</arg_value>"], "");
static HY3: Tags =
    Tags::pairs(["<arg_key>", "</arg_key>"], ["<arg_value>", "</arg_value>"], "<tool_sep>");
static DSML: Tags = Tags::new(
    ["<｜DSML｜invoke", "</｜DSML｜invoke>"],
    ["<｜DSML｜parameter", "</｜DSML｜parameter>"],
    ">",
)
.ends_itself();
static DSML_41: Tags = Tags::new(
    ["<｜DSML｜ invoke", "</｜DSML｜ invoke>"],
    ["<｜DSML｜ parameter", "</｜DSML｜ parameter>"],
    ">",
)
.ends_itself();
static M2: Tags =
    Tags::new(["<invoke", "</invoke>"], ["<parameter", "</parameter>"], ">").ends_itself();
static STEP3: Tags = Tags::new(
    ["<steptml:invoke", "</steptml:invoke>"],
    ["<steptml:parameter", "</steptml:parameter>"],
    ">",
)
.ends_itself();
static MINICPM5: Tags =
    Tags::new(["<function", "</function>"], ["<param", "</param>"], ">").cdata().ends_itself();
static K3: Tags = Tags::new(
    ["<|open|>call", "<|close|>call<|sep|>"],
    ["<|open|>argument", "<|close|>argument<|sep|>"],
    "<|sep|>",
)
.object(["<|open|>json", "<|close|>json<|sep|>"])
.ends_itself();
static IFM: Tags =
    Tags::pairs(["<ifm|arg_key>", "</ifm|arg_key>"], ["<ifm|arg_value>", "</ifm|arg_value>"], "")
        .kind(["<ifm|arg_type>", "</ifm|arg_type>"]);
/// Tags that begin with different bytes, as a user may have them.
static OWN: Tags = Tags::new(["@call", "end."], ["-arg", ";;"], ":").ends_itself();

/// Normal form of a run: what each call gave, joined.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Call {
    name: String,
    arguments: String,
    source: String,
    repairs: RepairSet,
    has_fault: bool,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Run {
    calls: Vec<Call>,
    /// Bytes before each place that was told: names and next calls.
    places: Vec<usize>,
    /// Bytes behind the call, when it ended itself.
    rest: usize,
    is_whole: bool,
    guard: Option<MarkerGuard>,
    fault: Option<(&'static str, usize)>,
}

fn schemas() -> ToolSchemas {
    let schema = json!({"properties": {
        "s": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "boolean"},
        "o": {"type": "object"}, "a": {"type": "array"},
        "sn": {"type": ["string", "number"]}, "so": {"type": ["string", "object"]},
    }});
    Arc::from([(Text::from("f"), schema.into())])
}

fn run<'a>(tags: &Tags, schemas: &ToolSchemas, pieces: impl IntoIterator<Item = &'a str>) -> Run {
    let mut reader = ParamsCall::new(*tags, Arc::clone(schemas).into());
    let mut run = Run { calls: vec![Call::default()], ..Run::default() };
    let mut fed = 0;
    for piece in pieces {
        let plain = reader.plain();
        let is_plain = match plain {
            PlainText::Framed | PlainText::JsonString => {
                !piece.contains(['<', '"', '\\']) && !has_control(piece)
            }
            PlainText::Nothing
            | PlainText::BracketString
            | PlainText::UnmarkedString
            | PlainText::QuotedString
            | PlainText::MarkupRules
            | PlainText::Entities
            | PlainText::MarkupTail
            | PlainText::PythonString
            | PlainText::PythonRaw
            | PlainText::Verbatim
            | PlainText::InBrackets => false,
        };
        let mut json = String::new();
        let is_markup = matches!(plain, PlainText::Framed | PlainText::MarkupTail);
        if is_plain {
            reader.skip(piece.len());
            let call = run.calls.last_mut().unwrap();
            call.arguments.push_str(piece);
            call.source.push_str(piece);
        } else if is_markup
            && let Some(next) = reader.pass_escaped(piece, &mut |text| json.push_str(text))
        {
            reader.skip(piece.len());
            assert_eq!(next, reader.plain(), "{piece:?}");
            let call = run.calls.last_mut().unwrap();
            call.arguments.push_str(&json);
            call.source.push_str(piece);
        } else {
            let taken = reader.feed(piece, &mut |out| run.take(out, fed));
            run.rest += piece.len() - taken;
        }
        fed += piece.len();
    }
    if reader.has_failed() {
        // Who reads calls looks for the next one from there on; all up to it is one body.
        run.rest = 0;
    }
    run.is_whole = reader.is_whole();
    run.guard = Some(reader.guard());
    run.fault = reader.close(&mut |out| run.take(out, fed)).err();
    run.calls.last_mut().unwrap().repairs = reader.repairs();
    run
}

fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte < 0x20)
}

impl Run {
    fn take(&mut self, out: PayloadOut<'_>, fed: usize) {
        let call = self.calls.last_mut().unwrap();
        match out {
            PayloadOut::Name { name, at } => {
                assert!(call.name.is_empty(), "two names: {name}");
                call.name.push_str(name);
                self.places.push(fed + at);
            }
            PayloadOut::Arguments(json) => call.arguments.push_str(json),
            PayloadOut::Source(source) => call.source.push_str(source),
            PayloadOut::NextCall { at, repairs, fault } => {
                call.repairs = repairs;
                call.has_fault = fault.is_some();
                self.calls.push(Call::default());
                self.places.push(fed + at);
            }
            PayloadOut::Id { .. } | PayloadOut::Server { .. } => panic!("{out:?}"),
        }
    }
}

/// The run of the whole text, which every split must give too.
fn run_at_every_split(name: &str, tags: &Tags, with_schema: bool, text: &str) -> Run {
    let schemas = if with_schema { schemas() } else { Arc::from([]) };
    let want = run(tags, &schemas, [text]);
    for (at, _) in text.char_indices() {
        let (head, tail) = text.split_at(at);
        assert_eq!(run(tags, &schemas, [head, tail]), want, "{name}: split at byte {at}");
    }
    let letters = text.split_inclusive(|_| true);
    assert_eq!(run(tags, &schemas, letters), want, "{name}: char by char");
    want
}

#[test]
fn every_dialect_reads_the_same_at_every_split() {
    #[rustfmt::skip]
    let rows = [
        ("qwen", &QWEN, false, "\n<function=f>\n<parameter=s>\nx\n</parameter>\n<parameter=n>\n12\n</parameter>\n</function>\n",
            r#"f {"s":"x","n":12}"#),
        ("qwen, lines and indentation", &QWEN, false, "<function=f>\n<parameter=s>\n    if a < b:\n\n        \"c\\d\"\n\n</parameter>\n</function>",
            r#"f {"s":"    if a < b:\n\n        \"c\\d\"\n"}"#),
        ("qwen on one line", &QWEN, false, "<function=f><parameter=s>x</parameter></function>", r#"f {"s":"x"}"#),
        ("qwen, only framing", &QWEN, false, "<function=f><parameter=s>\n\n</parameter><parameter=t>\n</parameter><parameter=u></parameter></function>",
            r#"f {"s":"","t":"","u":""}"#),
        ("qwen, blank lines", &QWEN, false, "<function=f><parameter=s>\n\n\n</parameter></function>", r#"f {"s":"\n"}"#),
        ("qwen, no parameters", &QWEN, false, "\n<function=f>\n</function>\n", "f {}"),
        ("qwen, things that look like tags", &QWEN, false, "<function=f><parameter=s>\n<div a=1> </tool_call> <parameters> <parameter> <parameter tag> </function >\n</parameter></function>",
            r#"f {"s":"<div a=1> </tool_call> <parameters> <parameter> <parameter tag> </function >"}"#),
        ("qwen, a function's end in a value", &QWEN, false, "<function=f><parameter=s>\na </function> b\n</function>\n</parameter>\n</function>",
            r#"f {"s":"a </function> b\n</function>"}"#),
        ("qwen, entities stay", &QWEN, false, "<function=f><parameter=s>\na &amp; <![CDATA[b]]>\n</parameter></function>",
            r#"f {"s":"a &amp; <![CDATA[b]]>"}"#),
        ("qwen, two functions", &QWEN, false, "\n<function=f>\n<parameter=s>\n1\n</parameter>\n</function>\n<function=g>\n</function>\n",
            r#"f {"s":1} | g {}"#),
        ("qwen, names with quotes", &QWEN, false, "<function=\"f\"><parameter='s'>x</parameter></function>", r#"f {"s":"x"}"#),
        ("qwen, names as attributes", &QWEN, false, "<function name=\"f\">\n<parameter name=\"s\">x</parameter></function>", r#"f {"s":"x"}"#),
        ("qwen, names with blanks", &QWEN, false, "<function= f >\n<parameter= s >x</parameter></function>", r#"f {"s":"x"}"#),
        ("qwen, unicode", &QWEN, false, "<function=früh><parameter=größe>\n日本 ✓ \u{1f600}\n</parameter></function>", r#"früh {"größe":"日本 ✓ 😀"}"#),
        ("qwen, controls", &QWEN, false, "<function=f><parameter=s>\n\ta\r\nb\u{1}\n</parameter></function>", r#"f {"s":"\ta\r\nb\u0001"}"#),
        ("literals", &SEED, false, "<function=f><parameter=a>true</parameter><parameter=b>-1.5e3</parameter><parameter=c>null</parameter><parameter=d>false</parameter></function>",
            r#"f {"a":true,"b":-1.5e3,"c":null,"d":false}"#),
        ("big numbers are exact", &SEED, false, "<function=f><parameter=a>123456789012345678901234567890.10</parameter></function>",
            r#"f {"a":123456789012345678901234567890.10}"#),
        ("no literals", &SEED, false, "<function=f><parameter=a>True</parameter><parameter=b> 1</parameter><parameter=c>1 </parameter><parameter=d>01</parameter><parameter=e>1.</parameter><parameter=g>nul</parameter><parameter=h>2024-05-01</parameter><parameter=i>truely</parameter><parameter=j>-</parameter></function>",
            r#"f {"a":"True","b":" 1","c":"1 ","d":"01","e":"1.","g":"nul","h":"2024-05-01","i":"truely","j":"-"}"#),
        ("objects without a schema are text", &SEED, false, "<function=f><parameter=a>{\"x\":1}</parameter></function>", r#"f {"a":"{\"x\":1}"}"#),
        ("by schema", &SEED, true, "<function=f><parameter=s>5</parameter><parameter=n> 5 </parameter><parameter=b>true</parameter><parameter=o>{\"x\": [1, {}]}</parameter><parameter=a>\n[1,\n2]\n</parameter></function>",
            r#"f {"s":"5","n":5,"b":true,"o":{"x": [1, {}]},"a":[1,
2]}"#),
        ("against the schema", &SEED, true, "<function=f><parameter=n>5.5</parameter><parameter=b>1</parameter><parameter=o>x</parameter><parameter=a></parameter><parameter=z>7</parameter></function>",
            r#"f {"n":"5.5","b":"1","o":"x","a":"","z":7}"#),
        ("unions", &SEED, true, "<function=f><parameter=sn>5</parameter><parameter=so>{}</parameter></function>", r#"f {"sn":5,"so":{}}"#),
        ("a union with blanks", &SEED, true, "<function=f><parameter=sn> 5</parameter></function>", r#"f {"sn":" 5"}"#),
        ("json is mended", &SEED, true, "<function=f><parameter=o>{'x': True,}</parameter><parameter=a>[1, 2</parameter></function>",
            r#"f {"o":{"x": true},"a":[1, 2]} SingleQuotes ExtraComma PythonLiteral MissingBracket"#),
        ("a tag in a json string", &SEED, true, "<function=f><parameter=o>{\"x\": \"<b> </x>\"}</parameter></function>", r#"f {"o":{"x": "<b> </x>"}}"#),
        ("seed keeps its line ends", &SEED, false, "<function=f>\n<parameter=s>\nx\n</parameter>\n</function>", r#"f {"s":"\nx\n"}"#),
        ("no end of a parameter", &QWEN, false, "<function=f>\n<parameter=s>\nx\n<parameter=t>\ny\n</parameter>\n</function>\n", r#"f {"s":"x","t":"y"} ImplicitClose"#),
        ("no end of a parameter without framing", &M2, false, "<invoke name=\"f\">\n<parameter name=\"s\">x\n<parameter name=\"t\">y</parameter></invoke>", r#"f {"s":"x","t":"y"} ImplicitClose"#),
        ("no end of the function", &QWEN, false, "<function=f>\n<parameter=s>\nx\n</parameter>\n", r#"f {"s":"x"} ImplicitClose"#),
        ("text behind the function", &QWEN, false, "<function=f>\n</function> so < much", "f {} TrailingText"),
        ("glm 4.5", &GLM, false, "f\n<arg_key>s</arg_key>\n<arg_value>dark green\n</arg_value>\n<arg_key>n</arg_key>\n<arg_value>2</arg_value>\n",
            r#"f {"s":"dark green\n","n":2}"#),
        ("glm 4.7", &GLM, true, "f<arg_key>o</arg_key><arg_value>{\"w\":3.5}</arg_value><arg_key>s</arg_key><arg_value>a<b</arg_value>", r#"f {"o":{"w":3.5},"s":"a<b"}"#),
        ("glm without parameters", &GLM, false, "f", "f {}"),
        ("glm without parameters, a line", &GLM, false, "\n f \n", "f {}"),
        ("glm, no end of a value", &GLM, false, "f<arg_key>s</arg_key><arg_value>x\n<arg_key>t</arg_key><arg_value>y</arg_value>", r#"f {"s":"x","t":"y"} ImplicitClose"#),
        ("hy3", &HY3, false, "f<tool_sep>\n<arg_key>s</arg_key>\n<arg_value>x</arg_value>\n", r#"f {"s":"x"}"#),
        ("dsml", &DSML, false, "<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"s\" string=\"true\">5 <b>\n</｜DSML｜parameter>\n<｜DSML｜parameter name=\"t\" string=\"false\">[{\"id\":1}]</｜DSML｜parameter>\n</｜DSML｜invoke>\nrest",
            r#"f {"s":"5 <b>\n","t":[{"id":1}]} +5"#),
        ("dsml, values that are no strings", &DSML, false, "<｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"false\">3</｜DSML｜parameter><｜DSML｜parameter name=\"b\" string=\"false\">\"q\"</｜DSML｜parameter><｜DSML｜parameter name=\"c\" string=\"false\"> null </｜DSML｜parameter></｜DSML｜invoke>",
            r#"f {"a":3,"b":"q","c":null}"#),
        ("dsml 4, no parameters", &DSML, false, "<｜DSML｜invoke name=\"f\">\n\n</｜DSML｜invoke>", "f {}"),
        ("dsml 4.1", &DSML_41, false, "<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"n\" string=\"false\">1</｜DSML｜ parameter>\n</｜DSML｜ invoke>", r#"f {"n":1}"#),
        ("minimax m2", &M2, false, "<invoke name=\"f\">\n<parameter name=\"n\">20</parameter>\n<parameter name='s'>to hit & damage</parameter>\n</invoke>\n", r#"f {"n":20,"s":"to hit & damage"} +1"#),
        ("minimax m2, no quotes", &M2, false, "<invoke name=f><parameter name=n>20</parameter></invoke>", r#"f {"n":20}"#),
        ("step3", &STEP3, false, "<steptml:invoke name=\"f\"><steptml:parameter name=\"s\">a.png</steptml:parameter></steptml:invoke><｜tool_call_end｜>", r#"f {"s":"a.png"} +21"#),
        ("minicpm5", &MINICPM5, false, "<function name=\"f\"><param name=\"s\">x</param></function><function", r#"f {"s":"x"} +9"#),
        ("kimi k3", &K3, false, "<|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"s\" type=\"string\"<|sep|>5 \"<|x\" <|close|>argum<|close|>argument<|sep|><|open|>argument key=\"t\" type=\"number\"<|sep|>2<|close|>argument<|sep|><|open|>argument key=\"u\" type=\"object\"<|sep|>{\"r\":12,\"t\":[\"q<|x\"]}<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
            r#"f {"s":"5 \"<|x\" <|close|>argum","t":2,"u":{"r":12,"t":["q<|x"]}} +21"#),
        ("kimi k3, all in one object", &K3, false, "<|open|>call index=\"1\" tool=\"f\"<|sep|><|open|>json type=\"object\"<|sep|> {\"x\": \"<|close|>json<|sep|>\"} <|close|>json<|sep|><|close|>call<|sep|>",
            r#"f {"x": "<|close|>json<|sep|>"}"#),
        ("kimi k3, an empty object", &K3, false, "<|open|>call tool=\"f\"<|sep|><|open|>json<|sep|><|close|>json<|sep|><|close|>call<|sep|>", "f {}"),
        ("a bare object", &DSML, false, "<｜DSML｜invoke name=\"f\">\n{\"x\": \"</｜DSML｜invoke>\", 'y': 1}\n</｜DSML｜invoke>",
            r#"f {"x": "</｜DSML｜invoke>", "y": 1} SingleQuotes"#),
        ("a bare object behind a plain name", &GLM, false, "f\n{\"x\": [1]}\n", r#"f {"x": [1]}"#),
        ("k2 horizon", &IFM, false, "f\n<ifm|arg_key>s</ifm|arg_key>\n<ifm|arg_type>string</ifm|arg_type>\n<ifm|arg_value>007</ifm|arg_value>\n<ifm|arg_key>a</ifm|arg_key><ifm|arg_type>array</ifm|arg_type><ifm|arg_value>[7]</ifm|arg_value><ifm|arg_key>n</ifm|arg_key><ifm|arg_value>7</ifm|arg_value>",
            r#"f {"s":"007","a":[7],"n":7}"#),
        ("minicpm5, cdata", &MINICPM5, false, "<function name=\"f\"><param name=\"s\"><![CDATA[a </param> ]] ]> \n &amp;]]></param><param name=\"t\"> <![CDATA[x]]></param></function>",
            r#"f {"s":"a </param> ]] ]> \n &amp;","t":" <![CDATA[x]]>"}"#),
        ("python's words", &SEED, true, "<function=f><parameter=b>True</parameter><parameter=s>True</parameter><parameter=so>None</parameter></function>",
            r#"f {"b":true,"s":"True","so":"None"} PythonLiteral"#),
        ("own tags", &OWN, false, " @call=f:-arg=s:a - e @c;;-arg=t:1;;end.rest", r#"f {"s":"a - e @c","t":1} +4"#),
    ];
    for (name, tags, with_schema, text, want) in rows {
        let run = run_at_every_split(name, tags, with_schema, text);
        assert_eq!(run.fault, None, "{name}");
        let mut got: Vec<String> = Vec::new();
        for call in &run.calls {
            let arguments: Value = serde_json::from_str(&call.arguments).expect(name);
            assert!(arguments.is_object(), "{name}");
            let mut words = vec![call.name.clone(), call.arguments.clone()];
            words.extend(call.repairs.iter().map(|repair| format!("{repair:?}")));
            got.push(words.join(" "));
        }
        let rest = if run.rest > 0 { format!(" +{}", run.rest) } else { String::new() };
        assert_eq!(got.join(" | ") + &rest, want, "{name}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place_at_every_split() {
    let long_name = format!("{}\n", "n".repeat(1025));
    let long_tag = format!("<function={}>", "n".repeat(600));
    let late_key =
        "<function=f>\n<parameter=s>\n1\n</parameter>\n<parameter>\n2\n</parameter></function>";
    #[rustfmt::skip]
    let rows = [
        ("nothing", &QWEN, "", "the call is empty", 0),
        ("blanks", &QWEN, " \n", "the call is empty", 2),
        ("prose", &QWEN, "\n so what", "the payload begins with no function", 2),
        ("a function without a name", &QWEN, "<function>", "the call names no tool", 0),
        ("another tag", &QWEN, "\n<functions>", "the payload begins with no function", 1),
        ("an unfinished tag", &QWEN, "<function=f", "the payload begins with no function", 0),
        ("no name", &QWEN, "<function=></function>", "the call names no tool", 0),
        ("a tag that is too long", &QWEN, &long_tag, "a tag is longer than 512 bytes", 0),
        ("a parameter without a name", &QWEN, late_key, "a parameter has no name", 42),
        ("a parameter with an empty name", &QWEN, "<function=f><parameter= >", "a parameter has no name", 12),
        ("text between", &QWEN, "<function=f>\nso <parameter=s>x</parameter></function>", "text stands where only parameters can", 13),
        ("a parameter behind an object", &QWEN, "<function=f>{}<parameter=s>x</parameter></function>", "parameters stand beside an object that holds all of them", 14),
        ("a broken object", &QWEN, "<function=f>{1}</function>", "a colon is missing after a key", 14),
        ("glm, no name", &GLM, "\n", "the call names no tool", 1),
        ("glm, no name but a key", &GLM, " <arg_key>s</arg_key>", "the call names no tool", 1),
        ("glm, a long name", &GLM, &long_name, "a name is longer than 1024 bytes", 1024),
        ("glm, an open key", &GLM, "f<arg_key>s", "a key has no value", 11),
        ("glm, no value", &GLM, "f<arg_key>s</arg_key>", "a key has no value", 21),
        ("glm, text behind a key", &GLM, "f<arg_key>s</arg_key> v", "a key has no value", 22),
        ("glm, an empty key", &GLM, "f<arg_key> </arg_key><arg_value>v</arg_value>", "a parameter has no name", 21),
        ("kimi k3, no object", &K3, "<|open|>call tool=\"f\"<|sep|><|open|>json<|sep|>[1]", "the arguments are not a JSON object", 47),
    ];
    for (name, tags, text, reason, offset) in rows {
        let run = run_at_every_split(name, tags, false, text);
        assert_eq!(run.fault, Some((reason, offset)), "{name}");
        assert!(!run.is_whole || tags.ends_itself, "{name}");
    }
}

// Found: PEER
#[test]
fn of_a_duplicate_the_last_counts_without_a_schema_and_with_one_it_is_malformed() {
    let text = "<function=f><parameter=s>x</parameter><parameter=s>y</parameter><parameter=t>1</parameter></function>";
    let run = run_at_every_split("duplicate", &QWEN, true, text);
    assert_eq!(run.fault, Some(("duplicate_argument", 38)));
    assert_eq!(run.calls[0].arguments, r#"{"s":"x","t":1}"#);
    let run = run_at_every_split("duplicate", &QWEN, false, text);
    assert_eq!(run.fault, None);
    assert_eq!(run.calls[0].arguments, r#"{"s":"x","s":"y","t":1}"#);
}

// Found: PEER
#[test]
fn a_value_that_is_not_what_its_schema_says_does_not_lose_the_call() {
    let string = "UnquotedString";
    let decoded = "StringArguments";
    #[rustfmt::skip]
    let rows = [
        ("prose in a brace",        "o", "{not json",               json!("{not json"), string),
        ("an open brace",           "o", "{",                       json!("{"), string),
        ("no number",               "a", "[NaN]",                   json!("[NaN]"), string),
        ("late",                    "a", "[1, {\"x\": \"y\"}, -]",    json!("[1, {\"x\": \"y\"}, -]"), string),
        ("blanks around",           "o", " {\"a\": tru} ",          json!(" {\"a\": tru} "), string),
        ("an open string",          "o", "{\"a\": \"b",             json!("{\"a\": \"b"), string),
        ("escaped quotes",          "o", r#"{\"a\": 1, \"b\": \"\\n\"}"#, json!({"a": 1, "b": "\n"}), decoded),
        ("escaped quotes, no JSON", "o", r#"{\"a\": what}"#,        json!(r#"{\"a\": what}"#), string),
        ("a list in a string",      "a", r#""[1, 2]""#,             json!([1, 2]), decoded),
        ("an object in a string",   "o", r#""{'k': 'v'}""#,         json!({"k": "v"}), "SingleQuotes StringArguments"),
        ("another kind in one",     "o", r#""[1]""#,                json!("\"[1]\""), ""),
        ("a number in a string",    "n", r#""7""#,                  json!(7), decoded),
        ("a word in a string",      "b", r#""true""#,               json!(true), decoded),
        ("prose in quotes",         "n", r#""so""#,                 json!("\"so\""), ""),
        ("an open quote",           "a", r#""so"#,                  json!("\"so"), ""),
        ("a whole fraction",        "n", "3.0",                     json!(3), ""),
        ("no whole number",         "n", "3.05",                    json!("3.05"), ""),
        ("too large for a double",  "x", "1e999",                   json!("huge"), ""),
    ];
    for (name, key, value, want, repairs) in rows {
        let text = format!("<function=f><parameter={key}>{value}</parameter></function>");
        let run = run_at_every_split(name, &SEED, true, &text);
        assert_eq!(run.fault, None, "{name}");
        let call = &run.calls[0];
        let all: Vec<_> = call.repairs.iter().map(|repair| format!("{repair:?}")).collect();
        assert_eq!(all.join(" "), repairs, "{name}");
        if want == json!("huge") {
            assert_eq!(call.arguments, r#"{"x":1e999}"#, "{name}");
            continue;
        }
        let arguments: Value = serde_json::from_str(&call.arguments).expect(name);
        assert_eq!(arguments[key], want, "{name}: {}", call.arguments);
    }
    let text = format!("<function=f><parameter=o>{{\"s\":\"{}\"", "x".repeat(70 << 10));
    let text = text + ", y}</parameter></function>";
    let long = run(&SEED, &schemas(), [text.as_str()]);
    assert_eq!(long.fault.map(|(reason, _)| reason), Some("a colon is missing after a key"));
}

// Found: PEER
#[test]
fn a_parameter_that_holds_all_arguments_is_taken_off() {
    let param = |key: &str, value: &str| format!("<parameter={key}>{value}</parameter>");
    let object = r#"{"s": "x", 'n': 2}"#;
    #[rustfmt::skip]
    let rows = [
        ("alone",             true,  param("arguments", object),  json!({"s": "x", "n": 2}), "SingleQuotes StringArguments"),
        ("input",             true,  param("input", " {\"b\":true} "), json!({"b": true}), "StringArguments"),
        ("without a schema",  false, param("input", "{\"b\":true}"),   json!({"input": "{\"b\":true}"}), ""),
        ("other members",     true,  param("input", "{\"c\":true}"),   json!({"input": "{\"c\":true}"}), ""),
        ("no object",         true,  param("args", "7"),           json!({"args": 7}), ""),
        ("not alone",         true,  param("arguments", object) + &param("n", "1"), json!({"arguments": object, "n": 1}), ""),
        ("not the first",     true,  param("n", "1") + &param("arguments", object), json!({"arguments": object, "n": 1}), ""),
        ("another name",      true,  param("data", object),        json!({"data": object}), ""),
    ];
    for (name, with_schema, parameters, want, repairs) in rows {
        let text = format!("<function=f>{parameters}</function>");
        let run = run_at_every_split(name, &SEED, with_schema, &text);
        assert_eq!(run.fault, None, "{name}");
        let call = &run.calls[0];
        assert_eq!(serde_json::from_str::<Value>(&call.arguments).expect(name), want, "{name}");
        let all: Vec<_> = call.repairs.iter().map(|repair| format!("{repair:?}")).collect();
        assert_eq!(all.join(" "), repairs, "{name}");
    }
}

#[test]
fn a_call_that_failed_still_ends_itself() {
    let text = "<invoke name=\"f\">so</invoke>rest";
    let run = run_at_every_split("failed", &M2, false, text);
    assert_eq!((run.rest, run.fault), (4, Some(("text stands where only parameters can", 17))));
    // Until then it must not count as failed: who reads calls would look for its end elsewhere.
    let mut reader = ParamsCall::new(M2, KnownTools::from(Arc::from([])));
    reader.feed("<invoke name=\"f\">so", &mut |_| {});
    assert!(!reader.has_failed() && !reader.is_whole());
    reader.feed("</invoke>", &mut |_| {});
    assert!(!reader.has_failed() && reader.is_whole());
    let mut reader = ParamsCall::new(M2, KnownTools::from(Arc::from([])));
    reader.feed("<invoke name=\"\">", &mut |_| {});
    assert!(reader.has_failed() && !reader.is_whole());
}

#[test]
fn a_payload_is_whole_behind_the_functions_own_end_only() {
    #[rustfmt::skip]
    let rows = [
        ("a value", &QWEN, "<function=f>\n<parameter=s>\nx\n", false, MarkerGuard::InValue),
        ("the start of a value", &QWEN, "<function=f>\n<parameter=s>", false, MarkerGuard::InValue),
        ("a whole value", &QWEN, "<function=f>\n<parameter=s>\nx\n</parameter>\n", false, MarkerGuard::Open),
        ("a function", &QWEN, "<function=f>\n</function>", true, MarkerGuard::Open),
        ("a function, text behind it", &QWEN, "<function=f>\n</function>\n<fun", true, MarkerGuard::Open),
        ("a function whose value has no end", &QWEN, "<function=f><parameter=s>\nx\n</function>\n", false, MarkerGuard::InValue),
        ("a value's end, and more", &QWEN, "<function=f><parameter=s>\nx\n</parameter> ", false, MarkerGuard::Open),
        ("an attribute", &K3, "<|open|>call tool=\"f\"<|sep|><|open|>argument key=\"a<", false, MarkerGuard::Closed),
        ("a part of a function's end in a value", &QWEN, "<function=f><parameter=s>\nx\n</func", false, MarkerGuard::InValue),
        ("a name", &GLM, "f", false, MarkerGuard::Open),
        ("pairs have no end of their own", &GLM, "f<arg_key>s</arg_key><arg_value>x</arg_value>", false, MarkerGuard::Open),
        ("a string of an object", &DSML, "<｜DSML｜invoke name=\"f\">{\"x\": \"", false, MarkerGuard::InString("\"")),
        ("an invocation", &M2, "<invoke name=\"f\"></invoke>", true, MarkerGuard::Open),
    ];
    for (name, tags, text, is_whole, guard) in rows {
        let run = run_at_every_split(name, tags, false, text);
        assert_eq!((run.is_whole, run.guard), (is_whole, Some(guard)), "{name}");
    }
}

#[test]
fn a_value_ends_at_its_own_tags_only() {
    let reader = ParamsCall::new(QWEN, KnownTools::from(Arc::from([])));
    #[rustfmt::skip]
    let rows = [
        ("a</parameter>", Some(ValueTag::End)), ("\n<parameter=b>", Some(ValueTag::Next)),
        ("<\n<parameter name='b'>", Some(ValueTag::Next)), ("<parameter=b>", None), ("<a></function>", None),
        ("", None), ("a", None), ("</tool_call>", None), ("\n<parameters>", None), ("\n<parameter>", None),
        ("</parameter", None), ("<function=g>", None),
    ];
    for (text, tag) in rows {
        assert_eq!(reader.value_tag(text, false), tag, "{text}");
    }
}

#[test]
fn the_source_is_what_stands_in_the_function() {
    let text = "\n<function=f> <parameter=s>\na < </func\n</parameter>\n</function>\n<function=g>x";
    let run = run_at_every_split("source", &QWEN, false, text);
    assert_eq!(run.calls[0].source, " <parameter=s>\na < </func\n</parameter>\n");
    assert_eq!(run.places, [13, 76, 76]);
    let run = run_at_every_split(
        "source",
        &GLM,
        false,
        "f\n<arg_key>s</arg_key><arg_value>x</arg_value>\n",
    );
    assert_eq!(run.calls[0].source, "<arg_key>s</arg_key><arg_value>x</arg_value>\n");
}

/// The JSON of a value by rules.md R10, for one whole value without a schema.
fn oracle(value: &str) -> String {
    let literal = serde_json::from_str::<Value>(value)
        .is_ok_and(|json| json.is_number() || json.is_boolean() || json.is_null());
    if literal && value.trim() == value { value.to_owned() } else { json!(value).to_string() }
}

fn cut<'t>(text: &'t str, cuts: &[prop::sample::Index]) -> Vec<&'t str> {
    let letters: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut cuts: Vec<_> = cuts.iter().map(|cut| letters[cut.index(letters.len())]).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| text.get(pair[0]..pair[1]).unwrap()).collect()
}

#[rustfmt::skip]
const VALUE_PARTS: [&str; 24] = [
    "<", ">", "/", "\n", "\n", " ", "\"", "\\", "é日", "a", "1", "-", "true", "null", "{", "]", "\u{1}",
    "</param", "<parameter", "<parameters>", "</function", "</tool_call>", "</arg_", "<｜DSML｜",
];
#[rustfmt::skip]
const PAYLOAD_PARTS: [&str; 30] = [
    "<function=f>", "<function=g>", "</function>", "<parameter=s>", "<parameter=n>", "<parameter=o>", "</parameter>",
    "<invoke name=\"f\">", "</invoke>", "<parameter name=\"a\">", "<parameter name=\"s\" string=\"false\">",
    "f", "<arg_key>", "o", "</arg_key>", "<arg_value>", "</arg_value>", "\n", " ", "1", "true", "{\"x\":", "\"", "}",
    "[1,", "]", "<", ">", "é", "</func",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_values_in_any_pieces_meet_the_oracle(
        which in 0..4_usize,
        values in prop::collection::vec(
            prop::collection::vec(prop::sample::select(&VALUE_PARTS[..]), 0..12), 0..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let (mut text, mut want) = (String::new(), Vec::new());
        let tags = [QWEN, SEED, GLM, DSML][which];
        text.push_str(["<function=f>\n", "<function=f>", "f\n", "<｜DSML｜invoke name=\"f\">"][which]);
        for (at, value) in values.iter().enumerate() {
            let value = value.concat();
            let rendered = match which {
                0 => format!("<parameter=k{at}>\n{value}\n</parameter>\n"),
                1 => format!("<parameter=k{at}>{value}</parameter>"),
                2 => format!("<arg_key>k{at}</arg_key>\n<arg_value>{value}</arg_value>\n"),
                _ => format!("<｜DSML｜parameter name=\"k{at}\">{value}</｜DSML｜parameter>\n"),
            };
            text.push_str(&rendered);
            want.push(format!("\"k{at}\":{}", oracle(&value)));
        }
        text.push_str(["</function>", "</function>\n", "", "</｜DSML｜invoke>"][which]);
        let run = run(&tags, &Arc::from([]), cut(&text, &cuts));
        prop_assert_eq!(run.fault, None);
        prop_assert_eq!(run.calls.len(), 1);
        prop_assert_eq!(&run.calls[0].arguments, &format!("{{{}}}", want.join(",")));
    }

    #[test]
    fn any_payload_reads_the_same_in_any_pieces(
        which in 0..4_usize,
        parts in prop::collection::vec(prop::sample::select(&PAYLOAD_PARTS[..]), 0..24),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let tags = [QWEN, SEED, GLM, M2][which];
        let text = parts.concat();
        let whole = run(&tags, &schemas(), [&*text]);
        prop_assert_eq!(&run(&tags, &schemas(), cut(&text, &cuts)), &whole);
        if whole.fault.is_none() {
            for call in whole.calls.iter().filter(|call| !call.has_fault) {
                let json = serde_json::from_str::<Value>(&call.arguments);
                prop_assert!(json.is_ok_and(|json| json.is_object()), "{}", call.arguments);
            }
        }
    }
}
