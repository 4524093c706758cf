//! Calls as the models of each family write them, and what their form cannot say.

use std::fmt::Write as _;

use super::values::{Value, object};
use crate::tests::{
    dialect_properties::markers,
    families::{Family, NAME, VALUE, families},
};

/// A family's own form of a call.
pub(super) struct Form {
    pub(super) family: Family,
    pub(super) markers: Vec<String>,
    /// The markers of all families.
    pub(super) foreign: std::rc::Rc<[String]>,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// The example, with other names and JSON.
    Json,
    /// The example, with other names and a Python dictionary.
    Dictionary,
    /// The example, with keyword arguments of Python.
    Python,
    /// Call syntax, with this mark around strings, which they cannot hold.
    Syntax(&'static str),
    /// A text for a call, and one for a parameter.
    Tags(&'static str, &'static str),
    /// Elements behind a marker.
    Elements,
    /// Forge's XML.
    Xml,
}

/// The forms that are not JSON. `{n}` is a name, `{p}` the parameters, `{k}` a key, `{v}` a value, `{s}`
/// says whether it is a string, `{t}` is its type.
#[rustfmt::skip]
const TAGS: [(&str, &str, &str); 20] = [
    ("qwen3-coder", "<tool_call>\n<function={n}>\n{p}</function>\n</tool_call>", "<parameter={k}>\n{v}\n</parameter>\n"),
    ("glm",         "<tool_call>{n}\n{p}</tool_call>", "<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n"),
    ("glm",         "<tool_call>{n}{p}</tool_call>", "<arg_key>{k}</arg_key><arg_value>{v}</arg_value>"),
    ("kimi-k3",     "<|open|>tools<|sep|><|open|>call tool=\"{n}\" index=\"1\"<|sep|>{p}<|close|>call<|sep|><|close|>tools<|sep|>", "<|open|>argument key=\"{k}\" type=\"{t}\"<|sep|>{v}<|close|>argument<|sep|>"),
    ("dsml",        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"{n}\">\n{p}</｜DSML｜invoke>\n</｜DSML｜function_calls>", "<｜DSML｜parameter name=\"{k}\" string=\"{s}\">{v}</｜DSML｜parameter>\n"),
    ("minimax-m2",  "<minimax:tool_call>\n<invoke name=\"{n}\">\n{p}</invoke>\n</minimax:tool_call>", "<parameter name=\"{k}\">{v}</parameter>\n"),
    ("step3",       "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"{n}\">{p}</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>", "<steptml:parameter name=\"{k}\">{v}</steptml:parameter>"),
    ("seed-oss",    "<seed:tool_call>\n<function={n}>\n{p}</function>\n</seed:tool_call>", "<parameter={k}>{v}</parameter>\n"),
    ("hunyuan",     "<tool_calls>\n<tool_call>{n}<tool_sep>\n{p}</tool_call>\n</tool_calls>", "<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n"),
    ("longcat",     "<longcat_tool_call>{n}\n{p}</longcat_tool_call>", "<longcat_arg_key>{k}</longcat_arg_key>\n<longcat_arg_value>{v}</longcat_arg_value>\n"),
    ("dots",        "<dots_function_call>\n<invoke name=\"{n}\">\n{p}</invoke>\n</dots_function_call>", "<parameter name=\"{k}\">{v}</parameter>\n"),
    ("minicpm5",    "<function name=\"{n}\">{p}</function>", "<param name=\"{k}\">{v}</param>"),
    ("iquest",      "<iquest_tool_call>{n}{p}</iquest_tool_call>", "<arg_key>{k}</arg_key><arg_value>{v}</arg_value>"),
    ("k2-horizon",  "<ifm|tool_calls>\n<ifm|tool_call>{n}\n{p}</ifm|tool_call>\n</ifm|tool_calls>", "<ifm|arg_key>{k}</ifm|arg_key>\n<ifm|arg_value>{v}</ifm|arg_value>\n"),
    ("muse",        "<atem:function_calls>\n<atem:invoke name=\"{n}\">\n{p}</atem:invoke>\n</atem:function_calls>", "<atem:parameter name=\"{k}\">{v}</atem:parameter>\n"),
    ("solar-open2", "<|tool_call:start|>{n}\n{p}<|tool_call:end|>", "<|tool_arg:start|>{k}<|tool_arg:value|>{v}<|tool_arg:end|>\n"),
    ("hyperclovax", "<tool_call>{n}\n{p}</tool_call>", "<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n"),
    ("poolside",    "<tool_call>{n}{p}</tool_call>", "<arg_key>{k}</arg_key><arg_value>{v}</arg_value>"),
    ("hy4",         "<tool_calls><tool_call>{n}<tool_sep>{p}</tool_call></tool_calls>", "<arg_key>{k}</arg_key><arg_value>{v}</arg_value>"),
    ("telechat4",   "<tool_call>{n}{p}</tool_call>", "<param_key>{k}</param_key><param_value>{v}</param_value>"),
];
/// The arguments of the examples that are JSON.
const JSON: &str = r#"{"expression":"6 * 7"}"#;
const SPACED_JSON: &str = r#"{"expression": "6 * 7"}"#;
const MINIMAX: &str = "]<]minimax[>[";

/// Every form of every family.
pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let foreign: std::rc::Rc<[String]> = markers(families().map(|family| family.name)).into();
    for family in families() {
        let mut add = |kind| {
            let foreign = std::rc::Rc::clone(&foreign);
            forms.push(Form { family, kind, markers: markers([family.name]), foreign });
        };
        for (_, call, parameter) in TAGS.iter().filter(|(name, ..)| *name == family.name) {
            add(Kind::Tags(call, parameter));
        }
        match family.name {
            "pythonic" | "olmo3" => add(Kind::Python),
            "sarashina" => add(Kind::Dictionary),
            "gemma4" => add(Kind::Syntax("<|\"|>")),
            "functiongemma" => add(Kind::Syntax("<escape>")),
            "minimax-m3" => add(Kind::Elements),
            "forge" => add(Kind::Xml),
            _ => {}
        }
        let example = family.example();
        if example.contains(JSON) || example.contains(SPACED_JSON) {
            add(Kind::Json);
        }
    }
    forms
}

fn is_word(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

impl Form {
    /// `true` where the types of values are a matter of the schema.
    pub(super) fn needs_schema(&self) -> bool {
        match self.kind {
            Kind::Tags(_, parameter) => !parameter.contains("{s}") && !parameter.contains("{t}"),
            Kind::Elements | Kind::Xml => true,
            _ => false,
        }
    }

    pub(super) fn label(&self) -> String {
        let kind = match self.kind {
            Kind::Json => "JSON",
            Kind::Dictionary => "dictionary",
            Kind::Python => "Python",
            Kind::Syntax(_) => "call syntax",
            Kind::Tags(..) => "tags",
            Kind::Elements => "elements",
            Kind::Xml => "XML",
        };
        format!("{}, {kind}", self.family.name)
    }

    /// A name in the text of a header or a tag has neither quotes nor markup; in JSON it may be anything.
    pub(super) fn admits_name(&self, name: &str) -> bool {
        let is_plain = !name.contains(['"', '\'', '\\', '<']);
        match self.kind {
            Kind::Json => {
                is_plain
                    || self.family.example().contains(&format!("\"{NAME}\""))
                        && self.family.name != "inkling"
            }
            Kind::Dictionary => true,
            Kind::Python => name.split('.').all(is_word),
            _ => is_plain,
        }
    }

    /// A key in the text of a tag has no markup, and no quotes where it is in an attribute.
    pub(super) fn admits_key(&self, key: &str, depth: usize) -> bool {
        match self.kind {
            Kind::Json | Kind::Dictionary => true,
            Kind::Python => depth > 0 || is_word(key),
            Kind::Syntax(_) => {
                !key.is_empty()
                    && key.trim() == key
                    && !key.contains([':', ',', '{', '"', '<', '\n', '\''])
            }
            // Its attributes are written with entities.
            Kind::Tags(..) if self.family.name == "kimi-k3" => true,
            Kind::Tags(..) => {
                depth > 0
                    || !key.is_empty()
                        && key.trim() == key
                        && !key.contains(['<', '>', '"', '\n', '\''])
            }
            Kind::Elements | Kind::Xml => is_word(&key.replace(['-', '.'], "_")) && key != "item",
        }
    }

    /// A text in tags holds neither its own end, nor the next parameter's opener (where people type such
    /// tags, at the start of a line only; where keys are text, with a whole key): these end a value whose
    /// own end is missing. In strings of JSON in tags all of it may stand. A list of strings as JSON is
    /// that list in Forge's XML.
    pub(super) fn admits_text(&self, text: &str, depth: usize) -> bool {
        match self.kind {
            Kind::Json | Kind::Python | Kind::Dictionary => true,
            Kind::Xml => depth == 0 || serde_json::from_str::<Vec<String>>(text).is_err(),
            Kind::Syntax(quote) => !text.contains(quote),
            // In a string of JSON.
            Kind::Tags(..) if depth > 0 => true,
            Kind::Tags(_, parameter) => {
                let end = parameter.split_once("{v}").unwrap().1.trim();
                let opener = parameter.split(['=', ' ', '{']).next().unwrap();
                let is_typed = opener[1..].starts_with(|letter: char| letter.is_ascii_alphabetic());
                let begins = text.match_indices(opener).any(|(at, _)| {
                    let is_at_line_start = at == 0 || text[..at].ends_with('\n');
                    let has_key = parameter.split_once("{k}").is_some_and(|(front, behind)| {
                        let end = behind.split_once('>').unwrap().0;
                        let key = &text[at + opener.len()..];
                        !front.ends_with('>') || key.contains(end)
                    });
                    has_key && (!is_typed || is_at_line_start)
                });
                let is_framed = parameter.contains("\n{v}\n");
                let has_cdata = self.family.name == "minicpm5";
                let is_cut = has_cdata && (text.contains("]]>") || text.contains("<![CDATA["));
                let loses_framing = is_framed && text.ends_with('\r');
                // A tag that repeats the one before it is dropped.
                let front = parameter.split_once("{v}").unwrap().0.trim_end();
                let repeats = text
                    .split_once('>')
                    .is_some_and(|(tag, _)| front.ends_with(&format!("{tag}>")));
                ![text.contains(end), begins, is_cut, loses_framing, repeats].contains(&true)
            }
            Kind::Elements => !text.contains(MINIMAX),
        }
    }

    /// Says if a schema may admit texts in this value's place too. In Forge's XML elements are text
    /// where a text is admitted.
    pub(super) fn may_be_texts(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (Kind::Xml, Value::List(_)) => false,
            (Kind::Xml, Value::Object(members)) => !members.is_empty(),
            _ => true,
        }
    }

    /// Elements have no mixed and no empty lists.
    pub(super) fn lists_of_one_kind(&self) -> bool {
        matches!(self.kind, Kind::Elements | Kind::Xml)
    }

    pub(super) fn write(&self, calls: &[(&str, Vec<(String, Value)>)]) -> String {
        let example = self.family.example();
        let all = |write: &dyn Fn(&str, &[(String, Value)]) -> String| {
            calls.iter().map(|(name, members)| write(name, members)).collect::<Vec<_>>()
        };
        match self.kind {
            Kind::Json => {
                let json = if example.contains(JSON) { JSON } else { SPACED_JSON };
                let texts = calls.iter().map(|(name, members)| (*name, object(members)));
                self.family.block_of(texts, &|one, (name, arguments)| {
                    let quoted = serde_json::json!(name).to_string();
                    let named = one.replace(&format!("\"{NAME}\""), &quoted);
                    let (head, tail) = named.split_once(json).unwrap();
                    [&head.replace(NAME, name), arguments.as_str(), &tail.replace(NAME, name)]
                        .concat()
                })
            }
            Kind::Dictionary => self.family.block_of(calls.iter(), &|one, (name, members)| {
                let one = one.replace(&format!("'{NAME}'"), &python_text(name));
                one.replace(&format!("{{'expression': '{VALUE}'}}"), &dictionary(members))
            }),
            Kind::Python => self.family.block_of(calls.iter(), &|_, (name, members)| {
                let members: Vec<_> =
                    members.iter().map(|(key, value)| format!("{key}={}", python(value))).collect();
                format!("{name}({})", members.join(", "))
            }),
            Kind::Syntax(quote) => {
                let (head, tail) = example.split_once(NAME).unwrap();
                let tail = &tail[tail.rfind('}').unwrap() + 1..];
                let write = |name: &str, members: &[(String, Value)]| {
                    [head, name, &syntax_object(members, quote), tail].concat()
                };
                all(&write).concat()
            }
            Kind::Tags(call, parameter) => all(&|name, members| {
                let members: String = members
                    .iter()
                    .map(|(key, value)| self.parameter(parameter, key, value))
                    .collect();
                fill(call, [("{n}", name), ("{p}", &members)])
            })
            .join("\n"),
            Kind::Elements => {
                let calls = all(&|name, members| {
                    let members = elements(members);
                    format!("{MINIMAX}<invoke name=\"{name}\">{members}{MINIMAX}</invoke>\n")
                });
                format!("{MINIMAX}<tool_call>\n{}{MINIMAX}</tool_call>", calls.concat())
            }
            Kind::Xml => all(&|name, members| {
                let members = xml(members);
                format!(
                    "<tool><tool_name>{name}</tool_name><arguments>{members}</arguments></tool>"
                )
            })
            .join("\n"),
        }
    }

    fn parameter(&self, form: &str, key: &str, value: &Value) -> String {
        let (kind, text) = match value {
            Value::Text(text) => ("string", text.clone()),
            Value::Null => ("null", value.json()),
            Value::Bool(_) => ("boolean", value.json()),
            Value::Number(_) => ("number", value.json()),
            Value::List(_) => ("array", value.json()),
            Value::Object(_) => ("object", value.json()),
        };
        let form = form
            .replace("{t}", kind)
            .replace("{s}", if kind == "string" { "true" } else { "false" });
        let (mut key, mut text) = (key.to_owned(), text);
        if self.family.name == "kimi-k3" {
            key = escaped(&key).replace('"', "&quot;");
        }
        if self.family.name == "hyperclovax" {
            text = value.json();
        }
        if self.family.name == "minicpm5" && kind == "string" && text.contains(['<', '&', '>']) {
            text = format!("<![CDATA[{text}]]>");
        }
        fill(&form, [("{k}", &key), ("{v}", &text)])
    }
}

/// Puts texts in two places that follow one another.
fn fill(form: &str, [(first, one), (second, other)]: [(&str, &str); 2]) -> String {
    let (head, tail) = form.split_once(first).unwrap();
    let (middle, tail) = tail.split_once(second).unwrap();
    [head, one, middle, other, tail].concat()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn python_text(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\\' | '\'' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => write!(out, "\\x{:02x}", u32::from(c)).unwrap(),
            c => out.push(c),
        }
    }
    out + "'"
}

fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(text) => (*text).to_owned(),
        Value::Text(text) => python_text(text),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(python).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => dictionary(members),
    }
}

fn dictionary(members: &[(String, Value)]) -> String {
    let members: Vec<_> = members
        .iter()
        .map(|(key, value)| format!("{}: {}", python_text(key), python(value)))
        .collect();
    format!("{{{}}}", members.join(", "))
}

fn syntax(value: &Value, quote: &str) -> String {
    match value {
        Value::Text(text) => [quote, text, quote].concat(),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| syntax(item, quote)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => syntax_object(members, quote),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.json(),
    }
}

fn syntax_object(members: &[(String, Value)], quote: &str) -> String {
    let members: Vec<_> =
        members.iter().map(|(key, value)| format!("{key}:{}", syntax(value, quote))).collect();
    format!("{{{}}}", members.join(","))
}

fn elements(members: &[(String, Value)]) -> String {
    let element = |key: &str, value: &Value| {
        let text = match value {
            Value::Text(text) => text.clone(),
            Value::List(items) => {
                let items = items.iter().map(|item| ("item".to_owned(), item.clone()));
                elements(&items.collect::<Vec<_>>())
            }
            Value::Object(members) if !members.is_empty() => elements(members),
            _ => value.json(),
        };
        format!("{MINIMAX}<{key}>{text}{MINIMAX}</{key}>")
    };
    members.iter().map(|(key, value)| element(key, value)).collect()
}

fn xml(members: &[(String, Value)]) -> String {
    let element = |key: &str, value: &Value| {
        let text = match value {
            Value::Text(text) if text.contains("</") && !text.contains("]]>") => {
                format!("<![CDATA[{text}]]>")
            }
            Value::Text(text) => escaped(text),
            Value::Object(members) => xml(members),
            Value::List(items) => {
                let items = items.iter().map(|item| (key.to_owned(), item.clone()));
                return xml(&items.collect::<Vec<_>>());
            }
            _ => value.json(),
        };
        format!("<{key}>{text}</{key}>")
    };
    members.iter().map(|(key, value)| element(key, value)).collect()
}
