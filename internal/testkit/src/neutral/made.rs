//! Texts of kinds of which a build brings few, made up of our own words.

use super::NeutralText;

/// Names of elements, attributes and functions, some as APIs have them.
const NAMES: [&str; 30] = [
    "item",
    "list",
    "Card",
    "section",
    "name",
    "title",
    "href",
    "class",
    "value",
    "entry",
    "tools",
    "parameters",
    "arg",
    "response",
    "answer",
    "result",
    "step",
    "channel",
    "message",
    "action",
    "call",
    "input",
    "reason",
    "thoughts",
    "tool",
    "function",
    "invoke",
    "parameter",
    "param",
    "arguments",
];
const WORDS: [&str; 20] = [
    "river",
    "42",
    "a < b",
    "x > 1",
    "(1, 2)",
    "${x}",
    "true",
    "it's",
    "größe",
    "日本",
    "`code`",
    "&amp;",
    "--",
    "the name",
    "function",
    "Here is my",
    "analysis",
    "to=",
    "call:",
    "null",
];

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    fn words(&mut self) -> String {
        let count = 1 + self.below(6);
        (0..count).map(|_| self.one(&WORDS)).collect::<Vec<_>>().join(" ")
    }
}

/// Makes up so many texts of a kind.
pub(super) fn texts(kind: &'static str, count: usize) -> Vec<NeutralText> {
    let text = |seed: usize| {
        let mut random = Random(u64::try_from(seed).unwrap());
        let text = match kind {
            "Python" | "JavaScript" => code(&mut random, kind == "Python"),
            _ => markup(&mut random, kind, 0),
        };
        NeutralText { kind, place: format!("made up, seed {seed}"), text }
    };
    (0..count).map(text).collect()
}

/// Elements in one another; in JSX with values in braces.
fn markup(random: &mut Random, kind: &str, depth: usize) -> String {
    let mut out = String::new();
    for _ in 0..2 + random.below(5) {
        let name = random.one(&NAMES);
        let attribute = random.one(&NAMES);
        // A function with a name and parameters, or nothing, in it is a call in some dialects.
        let is_function = ["function", "invoke"].contains(&name);
        if is_function && random.below(2) == 0 {
            let (tag, words) = (format!("<{name} name=\"{attribute}\">"), random.words());
            let prose = format!(
                "The {tag} tag, `{tag}` and\n- {tag}: {words}\n~~~\n{tag}</{name}>\n~~~\n<p>{tag}</p>\n"
            );
            out.push_str(&prose);
        }
        let attribute = if is_function { "id" } else { attribute };
        let value = match random.below(3) {
            0 if kind == "JSX" => {
                format!("{{() => {}(\"{}\")}}", random.one(&NAMES), random.words())
            }
            1 if kind == "HTML" => random.one(&NAMES).to_owned(),
            _ => format!("\"{}\"", random.one(&NAMES)),
        };
        let content = match random.below(4) {
            _ if depth < 3 && random.below(2) == 0 => {
                ["\n", &markup(random, kind, depth + 1)].concat()
            }
            0 if kind == "JSX" => format!("{{items.map((item) => <{name} key={{item.id}} />)}}"),
            1 => format!("<!-- {} -->", random.words()),
            2 if kind == "XML" => format!("<![CDATA[{}]]>", random.words()),
            _ => random.words(),
        };
        let element = match random.below(4) {
            0 => format!("<{name} {attribute}={value} />\n"),
            1 => format!("<{name}>{content}</{name}>\n"),
            _ => format!("<{name} {attribute}={value}>{content}</{name}>\n"),
        };
        out.push_str(&element);
    }
    out
}

/// Functions, calls, lists and objects.
fn code(random: &mut Random, is_python: bool) -> String {
    let mut out = String::new();
    for _ in 0..4 + random.below(12) {
        let (name, other, text) = (random.one(&NAMES), random.one(&NAMES), random.words());
        let number = random.below(1000);
        let line = match (random.below(5), is_python) {
            (0, true) => {
                format!("def {name}({other}=None):\n    return [{other}({name}={number})]\n\n")
            }
            (0, false) => format!("function {name}({other}) {{ return [{other}({number})]; }}\n"),
            (1, _) => format!("[{name}, {other}] = [{name}({number}), {other}(\"{text}\")]\n"),
            (2, _) => {
                format!("{{\"id\": \"{name}\", \"{other}\": \"{text}\", \"list\": [{number}]}}\n")
            }
            (3, true) => format!("# {text}\n[{name}({other}={number}), {name}.{other}]\n"),
            (3, false) => format!("// {text}\nconst {name} = <{other} {name}={{{number}}} />;\n"),
            _ => format!("{name}.{other}({number}, `{text}`)\n"),
        };
        out.push_str(&line);
    }
    out
}
