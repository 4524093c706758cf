//! Calls as each family writes them come back as they were.

mod values;
mod writers;

pub(super) use self::values::Random;
use self::{
    values::{Value, canonical, object},
    writers::{Form, forms},
};
use super::families::{Family, families};
use forgeline_parser::ToolDialect;
use forgeline_types::{Text, ToolCall};

/// Calls of each form; `ROUND_TRIPS` asks for more.
const TIMES: u64 = 40;
/// Bare forms count in `auto` nowhere, and the headers of Inkling begin with its prompt.
pub(super) const NOT_IN_AUTO: [&str; 12] = [
    "llama3-json",
    "pythonic",
    "xlam",
    "guided",
    "inkling",
    "qwen25-coder",
    "pangu",
    "hyperclovax",
    "rwkv",
    "telechat4",
    "step-audio2",
    "cwm",
];

/// Texts that begin as a tag does.
#[rustfmt::skip]
const TAGGED: [&str; 11] = [
    "<b>x</b>", "<p>", "<p>x", "<!DOCTYPE html>\n<p>x</p>", "<?xml version=\"1.0\"?>\n<a/>", "<br/>",
    "<a href=\"x\">y</a>", "<<EOF\nx\nEOF", "</p> x", "<ul>\n<li></li>\n</ul>", "< a",
];

/// Writes random calls and reads them, whole and in pieces; returns both where they differ.
fn check(form: &Form, seed: u64, dialect: ToolDialect) -> Result<(), String> {
    let mut random = Random(seed);
    let names = [random.name(form), random.name(form)];
    // Two calls of one tool would need one schema for both.
    let length = if names[0] == names[1] { 1 } else { 1 + random.below(2) };
    let names = names.into_iter().take(length);
    let calls: Vec<_> = names.map(|name| (name, random.members(form, 0))).collect();
    let text = form.write(&calls);
    let mut setup = form.family.setup();
    setup.options = setup.options.tools(dialect);
    let mut schemas = Vec::new();
    if form.needs_schema() || random.below(2) == 0 {
        for (name, members) in &calls {
            schemas.push((Text::from(*name), random.schema(form, members)));
        }
        setup.options = setup.options.schemas(schemas.clone());
    }
    let run = setup.run([text.as_str()]);
    let got: Vec<_> = run.completion.tool_calls.iter().map(read_back).collect();
    let mut want = Vec::new();
    for (name, members) in &calls {
        want.push(format!("{name} {}", canonical(&object(members))));
    }
    let rest = run.completion.text.trim();
    if got != want || !rest.is_empty() {
        return Err(format!("{text:?}\n want {want:?}\n got  {got:?}, {rest:?}\n {schemas:?}"));
    }
    assert_eq!(setup.run(text.split_inclusive(|_| true)), run, "char by char: {text:?}");
    setup.run_at_random_cuts(form.family.name, &text, 3);
    Ok(())
}

/// One or two calls of each form, with random values.
pub(super) fn written(seed: u64) -> Vec<(Family, String)> {
    let write = |form: &Form| {
        let mut random = Random(seed);
        let length = 1 + random.below(2);
        let calls: Vec<_> =
            (0..length).map(|_| (random.name(form), random.members(form, 0))).collect();
        (form.family, form.write(&calls))
    };
    forms().iter().map(write).collect()
}

/// Calls with short texts as arguments, in each form.
pub(super) fn plain_texts() -> Vec<(&'static str, String)> {
    let text = |key: &str, value: &str| (key.to_owned(), Value::Text(value.to_owned()));
    let save = || ("save", vec![text("body", "ls -la\nb"), text("file", "a/b c.txt")]);
    let calls = [
        vec![save()],
        vec![("tide", vec![text("port", "Kiel")]), ("bell", Vec::new())],
        vec![save(), ("tide", vec![text("port", "12")]), save()],
    ];
    let write = |form: &Form| calls.clone().map(|calls| (form.family.name, form.write(&calls)));
    forms().iter().flat_map(write).collect()
}

/// In each form, a call that is cut in its first value, and another one on the next line.
pub(super) fn calls_in_open_values() -> Vec<(Family, String, String)> {
    let text = |key: &str, value: &str| (key.to_owned(), Value::Text(value.to_owned()));
    let open = [("save", vec![text("body", "xyz"), text("file", "f")])];
    let whole = [("tide", vec![text("port", "Kiel")])];
    let write = |form: &Form| {
        let saved = form.write(&open);
        let (front, _) = saved.split_once("xyz").unwrap();
        (form.family, form.label(), format!("{front}xyz\n{}", form.write(&whole)))
    };
    forms().iter().map(write).collect()
}

fn read_back(call: &ToolCall) -> String {
    let arguments = call.arguments.as_ref().filter(|_| call.is_complete());
    let json = arguments.map(|json| canonical(json.as_str()));
    format!("{} {}", call.name, json.unwrap_or_else(|| format!("{:?}", call.outcome)))
}

// Found: RT
#[test]
fn every_family_reads_back_the_calls_that_it_writes() {
    let asked = std::env::var("ROUND_TRIPS").ok().and_then(|times| times.parse().ok());
    let times = asked.unwrap_or(TIMES);
    let mut failed = Vec::new();
    for form in forms() {
        let by_name = [("by name", form.family.dialect())];
        let auto = [("auto", ToolDialect::AUTO)];
        let auto = if NOT_IN_AUTO.contains(&form.family.name) { &[][..] } else { &auto };
        for (how, dialect) in by_name.iter().chain(auto) {
            for seed in 0..times {
                let tried = std::panic::AssertUnwindSafe(|| check(&form, seed, dialect.clone()));
                let result =
                    std::panic::catch_unwind(tried).unwrap_or_else(|_| Err("panic".into()));
                if let Err(why) = result {
                    failed.push(format!("{} {how}, seed {seed}: {why}", form.label()));
                }
            }
        }
    }
    let forms = forms();
    assert!(families().all(|family| forms.iter().any(|form| form.family.name == family.name)));
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

// Rows: N-37
#[test]
fn a_text_that_begins_with_a_tag_comes_back_from_every_family() {
    let schema = serde_json::json!({"properties": {"body": {"type": "string"}}});
    let cwm = families().find(|family| family.name == "cwm").unwrap();
    let mut texts = Vec::new();
    for text in TAGGED {
        // Nothing but a tag is what prose has in place of the text.
        if text != "<p>" {
            texts.push((cwm, text, format!("<tool: save>\n{text}\n</tool>")));
        }
        for form in forms().iter().filter(|form| form.admits_text(text, 0)) {
            let members = vec![("body".to_owned(), Value::Text(text.to_owned()))];
            texts.push((form.family, text, form.write(&[("save", members)])));
        }
    }
    let mut wrong = Vec::new();
    for (family, value, text) in texts {
        let mut setup = family.setup();
        setup.options = setup.options.schemas(vec![(Text::from("save"), schema.clone())]);
        let run = setup.run_at_random_cuts(family.name, &text, 3);
        let got: Vec<_> = run.completion.tool_calls.iter().map(read_back).collect();
        let want = object(&[("body".to_owned(), Value::Text(value.to_owned()))]);
        if got != [format!("save {}", canonical(&want))] {
            wrong.push(format!("{}: {text:?}\n  {got:?}", family.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
