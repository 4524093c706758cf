use std::{collections::BTreeMap, fmt, io, sync::Arc};

use serde::Serialize;
use serde_json::json;

use super::*;
use crate::tools::{Tool, ToolContext, ToolRegistry, tool_fn};
use forgeline_types::Json;

/// The text of a result, or of an error with a mark before it.
fn text_of<Kind>(returned: impl IntoToolResult<Kind>) -> String {
    match returned.into_tool_result() {
        Ok(output) => output.content,
        Err(error) => format!("! {error}"),
    }
}

#[derive(Serialize)]
struct Weather {
    celsius: f64,
    sky: Option<&'static str>,
}

#[derive(Serialize)]
struct Nothing;

#[derive(Serialize)]
struct Named(String);

#[derive(Serialize)]
enum State {
    Ready,
    Waits(u32),
}

#[derive(Debug)]
struct Outer(io::Error);

impl fmt::Display for Outer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the cache does not exist")
    }
}

impl Error for Outer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Derefs to an error, as that of `anyhow` does, and is none.
struct Anyhow(Box<dyn Error + Send + Sync>);

impl Deref for Anyhow {
    type Target = dyn Error + Send + Sync + 'static;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

// Covers: F5, H-05
#[test]
fn a_tool_may_return_whatever_can_be_written() {
    const DONE: &str = "Done; there is nothing to report.";
    let weather = || Weather { celsius: 21.5, sky: None };
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no such file");
    let parsed = "x".parse::<u32>();
    #[rustfmt::skip]
    let cases = [
        ("a string",              text_of("a \"b\"\n"),                  "a \"b\"\n"),
        ("a string of its own",   text_of(String::from("a")),            "a"),
        ("a named string",        text_of(Named("a".into())),            "a"),
        ("a sign",                text_of('é'),                          "é"),
        ("an empty string",       text_of(""),                           DONE),
        ("unit",                  text_of(()),                           DONE),
        ("a struct of nothing",   text_of(Nothing),                      DONE),
        ("none",                  text_of(None::<u32>),                  DONE),
        ("some",                  text_of(Some("a")),                    "a"),
        ("null",                  text_of(json!(null)),                  DONE),
        ("false",                 text_of(false),                        "false"),
        ("zero",                  text_of(0),                            "0"),
        ("a number",              text_of(0.5),                          "0.5"),
        ("a large number",        text_of(u128::MAX),                    "340282366920938463463374607431768211455"),
        ("a struct",              text_of(weather()),                    r#"{"celsius":21.5,"sky":null}"#),
        ("a list",                text_of(vec!["a", ""]),                r#"["a",""]"#),
        ("an empty list",         text_of([0_u8; 0]),                    "[]"),
        ("a tuple",               text_of((1, "a")),                     r#"[1,"a"]"#),
        ("a map",                 text_of(BTreeMap::from([(1, true)])),  r#"{"1":true}"#),
        ("a variant",             text_of(State::Ready),                 "Ready"),
        ("a variant with more",   text_of(State::Waits(3)),              r#"{"Waits":3}"#),
        ("a value",               text_of(json!({ "a": [1.0, "é"] })),   r#"{"a":[1.0,"é"]}"#),
        ("a value of a string",   text_of(json!("a")),                   "a"),
        ("JSON as it is written", text_of(Json::parse(r#"{"a":1.00}"#).unwrap()), r#"{"a":1.00}"#),
        ("an output",             text_of(ToolOutput::new("")),          ""),
        ("an output, or words",   text_of(Ok::<_, &str>(ToolOutput::new("a"))), "a"),
        ("words, not an output",  text_of(Err::<ToolOutput, _>("a")),    "! a"),
        ("an output, or error",   text_of(Err::<ToolOutput, _>(missing())), "! no such file"),
        ("ok, or words",          text_of(Ok::<_, String>(weather())),   r#"{"celsius":21.5,"sky":null}"#),
        ("words",                 text_of(Err::<(), _>("a".to_owned())), "! a"),
        ("a value as an error",   text_of(Err::<(), _>(json!([1]))),     "! [1]"),
        ("ok, or an error",       text_of(Ok::<_, io::Error>(())),       DONE),
        ("an error",              text_of(parsed),                       "! invalid digit found in string"),
        ("an error in a box",     text_of(Err::<u32, Box<dyn Error + Send + Sync>>("a".into())), "! a"),
        ("a plain box",           text_of(Err::<u32, Box<dyn Error>>("a".into())), "! a"),
        ("as anyhow",             text_of(Err::<u32, _>(Anyhow(Outer(missing()).into()))), "! the cache does not exist: no such file"),
        ("with its cause",        text_of(Err::<u32, _>(Outer(missing()))), "! the cache does not exist: no such file"),
        ("nested",                text_of(Ok::<Result<u32, String>, io::Error>(Err("a".into()))), "! a"),
        ("an error of ours",      text_of(Err::<u32, _>(ToolError::invalid("a", "is old"))), "! `a` is old"),
    ];
    for (name, got, want) in cases {
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn values_that_json_cannot_represent_are_an_error() {
    let error = text_of(BTreeMap::from([(vec![1], 1)]));
    assert!(error.starts_with("! its result cannot be written as JSON (key must be"), "{error}");
}

#[test]
fn an_error_of_a_tool_stays_what_it_is_behind_any_other() {
    let busy = || ToolError::transient("busy");
    let boxed: Box<dyn Error + Send + Sync> = busy().into();
    let results = [
        Err::<(), _>(busy()).into_tool_result(),
        Err::<(), _>(boxed).into_tool_result(),
        Err::<(), _>(io::Error::other(busy())).into_tool_result(),
        Err::<(), _>(Outer(io::Error::other(busy()))).into_tool_result(),
    ];
    for result in results {
        assert_eq!(result, Err(busy()));
    }
}

/// Uses `?` on errors of several types.
fn question_marks(text: &str) -> Result<f64, ToolError> {
    let bytes = std::str::from_utf8(text.as_bytes())?;
    let value: serde_json::Value = serde_json::from_str(bytes)?;
    let number: f64 = value.as_str().unwrap_or_default().parse()?;
    if number < 0.0 {
        return Err("negative".into());
    }
    Ok(number)
}

// Covers: F5
#[tokio::test]
async fn arguments_may_be_nothing_or_any_object() {
    type Any = serde_json::Value;

    let mut tools = ToolRegistry::default();
    let nothing = tool_fn("nothing", "Takes nothing.", async |_: ToolContext, (): ()| 1.5);
    let any = tool_fn("any", "Takes anything.", async |_: ToolContext, any: Any| any);
    let map = tool_fn("map", "Takes a map.", async |_: ToolContext, it: BTreeMap<String, u32>| it);
    let json = tool_fn("number", "Reads.", async |_: ToolContext, any: Any| {
        question_marks(any["text"].as_str().unwrap_or_default())
    });
    for tool in [Arc::new(nothing) as Arc<dyn Tool>, Arc::new(any), Arc::new(map), Arc::new(json)] {
        tools.register(tool).unwrap();
    }
    #[rustfmt::skip]
    let cases = [
        ("nothing", r"{}",                    "1.5"),
        ("nothing", r#"{"a":1}"#,             "! `a` is unknown; there are no fields"),
        ("any",     r#"{"b":1,"a":[]}"#,      r#"{"b":1,"a":[]}"#),
        ("any",     r"[1]",                   "! must be of type object, not array"),
        ("map",     r#"{"b":1,"a":2}"#,       r#"{"a":2,"b":1}"#),
        ("map",     r#"{"b":"x"}"#,           "! `b` must be of type integer, not string"),
        ("number",  r#"{"text":"\"1.5\""}"#,  "1.5"),
        ("number",  r#"{"text":"\"x\""}"#,    "! invalid float literal"),
        ("number",  r#"{"text":"\"-1\""}"#,   "! negative"),
        ("number",  r#"{"text":"["}"#,        "! EOF while parsing a list at line 1 column 1"),
    ];
    for (name, arguments, want) in cases {
        let arguments = Json::parse(arguments).unwrap();
        let entry = tools.find(name).unwrap();
        let result = match entry.check(&arguments.to_value()) {
            Ok(()) => entry.tool.execute(ToolContext::default(), arguments).await,
            Err(error) => Err(error),
        };
        assert_eq!(text_of(result), want, "{name}");
    }
}
