//! Random damages of right calls: nothing runs that the undamaged text did not say.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    super::{
        harness::Run,
        round_trips::{Random, calls_in_open_values, plain_texts},
    },
    offered, setup,
};
use forgeline_parser::ToolDialect;
use forgeline_types::CallOutcome;

/// The damaged texts of a test run; `MUTATIONS` asks for more.
const TEXTS: u64 = 6000;
/// The bytes that remain of a cut token at least: fewer can be any text.
const SCRAP_BYTES: usize = 3;

/// Right calls with two arguments, beside the dialects' own examples.
#[rustfmt::skip]
const RIGHT: [(&str, &str); 14] = [
    ("qwen3-coder", "<tool_call>\n<function=save>\n<parameter=body>\nb\n</parameter>\n<parameter=file>\nf\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=bell>\n</function>\n</tool_call>"),
    ("glm",         "<tool_call>save\n<arg_key>body</arg_key>\n<arg_value>b</arg_value>\n<arg_key>file</arg_key>\n<arg_value>f</arg_value>\n</tool_call><tool_call>bell\n</tool_call>"),
    ("poolside",    "<tool_call>save<arg_key>body</arg_key><arg_value>b</arg_value><arg_key>file</arg_key><arg_value>f</arg_value></tool_call>"),
    ("seed-oss",    "<seed:tool_call>\n<function=save>\n<parameter=body>b</parameter>\n<parameter=file>f</parameter>\n</function>\n</seed:tool_call>"),
    ("dsml",        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"save\">\n<｜DSML｜parameter name=\"body\" string=\"true\">b</｜DSML｜parameter>\n<｜DSML｜parameter name=\"file\" string=\"true\">f</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"),
    ("minimax-m2",  "<minimax:tool_call>\n<invoke name=\"save\">\n<parameter name=\"body\">b</parameter>\n<parameter name=\"file\">f</parameter>\n</invoke>\n<invoke name=\"bell\">\n</invoke>\n</minimax:tool_call>"),
    ("minimax-m3",  "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"save\">]<]minimax[>[<body>b]<]minimax[>[</body>]<]minimax[>[<file>f]<]minimax[>[</file>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"),
    ("minicpm5",    "<function name=\"save\"><param name=\"body\">b</param><param name=\"file\">f</param></function>"),
    ("solar-open2", "<|tool_call:start|>save\n<|tool_arg:start|>body<|tool_arg:value|>b<|tool_arg:end|>\n<|tool_arg:start|>file<|tool_arg:value|>f<|tool_arg:end|>\n<|tool_call:end|>"),
    ("k2-horizon",  "<ifm|tool_calls>\n<ifm|tool_call>save\n<ifm|arg_key>body</ifm|arg_key>\n<ifm|arg_value>b</ifm|arg_value>\n<ifm|arg_key>file</ifm|arg_key>\n<ifm|arg_value>f</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>"),
    ("gemma4",      "<|tool_call>call:save{body:<|\"|>b<|\"|>,file:<|\"|>f<|\"|>}<tool_call|>"),
    ("forge",       "<tool>\n<tool_name>save</tool_name>\n<arguments>\n<body>b</body>\n<file>f</file>\n</arguments>\n</tool>\n<tool>\n<tool_name>bell</tool_name>\n<arguments></arguments>\n</tool>"),
    ("forge",       "<tool><tool_name>tide</tool_name><arguments><port>Kiel</port></arguments></tool>\n<tool><tool_name>save</tool_name><arguments><body>b</body><file>f</file></arguments></tool>"),
    ("hermes",      "<tool_call>\n{\"name\": \"save\", \"arguments\": {\"body\": \"b\", \"file\": \"f\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"bell\", \"arguments\": {}}\n</tool_call>"),
];

/// The places of what structures `text`: tags and special tokens, and the punctuation of JSON and of literals.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    const MINIMAX: &str = "]<]minimax[>[";
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let skipped = if rest.starts_with(MINIMAX) { MINIMAX.len() } else { 0 };
        let tag = &rest[skipped..];
        let close = if tag.starts_with('<') { '>' } else { ']' };
        let end = tag.get(1..).and_then(|inside| inside.find(['<', '>', ']', '\n', '{', '"']));
        let end = end.map(|end| end + 2).filter(|end| {
            let has_letter = tag[1..*end].starts_with(|it: char| it.is_ascii_uppercase());
            tag.starts_with('<') && tag[..*end].ends_with('>')
                || tag.starts_with('[') && tag[..*end].ends_with(close) && has_letter
        });
        let length = match (end, tag.starts_with('<').then(|| tag.find('>')).flatten()) {
            (Some(end), _) => end,
            // Its attributes have quotes.
            (None, Some(end)) if !tag[1..=end].contains(['<', '\n']) => end + 1,
            _ if skipped == 0 && "{}[](),:=\"'".contains(first) => 1,
            _ => {
                at += first.len_utf8();
                continue;
            }
        };
        let mut end = at + skipped + length;
        // The tags of Kimi K3 consist of several tokens.
        if ["<|open|>", "<|close|>"].contains(&&text[at..end]) {
            end += text[end..].find("<|sep|>").unwrap() + "<|sep|>".len();
        }
        tokens.push((at, end));
        at = end;
    }
    tokens
}

/// The kinds of damage.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Drop,
    Double,
    DoubleOnLines,
    Swap,
    Front,
    Back,
}

const DAMAGES: [Damage; 6] = [
    Damage::Drop,
    Damage::Double,
    Damage::DoubleOnLines,
    Damage::Swap,
    Damage::Front,
    Damage::Back,
];

/// `text` with one of its tokens damaged.
fn damaged(text: &str, random: &mut Random) -> String {
    let tokens = tokens(text);
    let at = random.below(tokens.len());
    let (start, end) = tokens[at];
    let (front, token, behind) = (&text[..start], &text[start..end], &text[end..]);
    let room = token.len().saturating_sub(2 * SCRAP_BYTES);
    let cut = token.floor_char_boundary(SCRAP_BYTES + random.below(room + 1));
    let (head, tail) = token.split_at(cut.min(token.len()));
    match DAMAGES[random.below(DAMAGES.len())] {
        Damage::Double => format!("{front}{token}{token}{behind}"),
        Damage::DoubleOnLines => format!("{front}{token}\n{token}{behind}"),
        Damage::Swap if let Some(&(next, last)) = tokens.get(at + 1) => {
            let (between, other) = (&text[end..next], &text[next..last]);
            format!("{front}{other}{between}{token}{}", &text[last..])
        }
        Damage::Front if head.len() >= SCRAP_BYTES && !tail.is_empty() => {
            format!("{front}{head}{behind}")
        }
        Damage::Back if tail.len() >= SCRAP_BYTES => format!("{front}{tail}{behind}"),
        Damage::Drop | Damage::Swap | Damage::Front | Damage::Back => format!("{front}{behind}"),
    }
}

/// The complete calls. The line ends around a text are no part of what was said: a tag that was lost had its own.
fn complete(run: &Run) -> Vec<(String, Value)> {
    let calls = run.completion.tool_calls.iter();
    let complete = calls.filter(|call| call.outcome == CallOutcome::Complete);
    complete
        .map(|call| {
            let json = call.arguments.as_ref().map_or("{}", |it| it.as_str());
            let mut arguments: Value = serde_json::from_str(json).unwrap();
            for (_, value) in arguments.as_object_mut().into_iter().flatten() {
                if let Value::String(text) = value {
                    *text = text.trim_matches('\n').to_owned();
                }
            }
            (call.name.to_string(), arguments)
        })
        .collect()
}

/// The calls that run. Others are refused before, with the reason: no tool has the name, or a required argument is
/// missing.
fn runnable(run: &Run) -> Vec<(String, Value)> {
    let runs = |(name, arguments): &(String, Value)| {
        let tools = offered();
        let tool = tools.iter().find(|(offered, _)| offered == name.as_str());
        let required = tool.and_then(|(_, schema)| schema["required"].as_array());
        required
            .is_some_and(|keys| keys.iter().all(|key| !arguments[key.as_str().unwrap()].is_null()))
    };
    complete(run).into_iter().filter(runs).collect()
}

/// The results for the texts of a family.
#[derive(Default)]
struct Share {
    texts: u64,
    right: u64,
    wrong: u64,
}

// Rows: N-30
#[test]
fn a_call_behind_an_open_value_is_read_in_every_form() {
    // Nothing but a bracket begins these calls: in a string it is data.
    const BARE: [&str; 4] = ["llama3-json", "pythonic", "xlam", "guided"];
    for (family, label, text) in calls_in_open_values() {
        let run = setup(family.name).run_at_random_cuts(&label, &text, 3);
        let is_bare = BARE.contains(&family.name);
        let read: Vec<_> = super::calls(&run).into_iter().filter(|call| call != "-").collect();
        assert_eq!(read.len(), usize::from(!is_bare), "{label}: {text}\n{read:?}");
        assert!(read.iter().all(|call| call.starts_with(super::TIDE)), "{label}: {read:?}");
        let is_told = run.completion.tool_calls.iter().any(|call| !call.is_complete());
        assert!(is_told, "{label}: {text}");
    }
}

// Rows: N-30, N-31, N-32
#[test]
#[expect(clippy::print_stdout, reason = "`make mutations` shows the share of each family")]
fn mutated_calls_say_nothing_that_the_right_ones_did_not() {
    let asked = std::env::var("MUTATIONS").ok().and_then(|texts| texts.parse().ok());
    let texts = asked.unwrap_or(TEXTS);
    let examples = ToolDialect::all();
    let examples = examples.iter().map(|dialect| (dialect.name(), dialect.example().to_owned()));
    let rows = RIGHT.map(|(dialect, text)| (dialect, text.to_owned()));
    let sources = examples.chain(rows).chain(plain_texts());
    let sources: Vec<_> = sources
        .filter(|(name, text)| !["auto", "none"].contains(name) && !tokens(text).is_empty())
        .map(|(name, text)| {
            let right = runnable(&setup(name).run([text.as_str()]));
            assert!(!right.is_empty(), "{name}: {text:?}");
            let quoted = |tag: &str| tag.replace('"', "\\\"");
            let tags: Vec<_> = tokens(&text)
                .into_iter()
                .filter(|(start, end)| end - start > 2)
                .map(|(start, end)| quoted(&text[start..end]))
                .collect();
            (name, text, right, tags)
        })
        .collect();
    let mut shares: BTreeMap<&str, Share> = BTreeMap::new();
    let mut wrong = Vec::new();
    for seed in 0..texts {
        let mut random = Random(seed);
        random.below(2);
        let (dialect, text, right, tags) = &sources[usize::try_from(seed).unwrap() % sources.len()];
        let mutated = damaged(text, &mut random);
        let setup = setup(dialect);
        let run = if seed % 4 == 0 {
            setup.run_at_random_cuts(dialect, &mutated, 2)
        } else {
            setup.run([mutated.as_str()])
        };
        let got = runnable(&run);
        let share = shares.entry(dialect).or_default();
        share.texts += 1;
        share.right += u64::from(got == *right);
        let mut said = right.clone();
        for (name, arguments) in complete(&run) {
            let holds_tag =
                tags.iter().any(|tag| name.contains(tag) || arguments.to_string().contains(tag));
            if holds_tag {
                share.wrong += 1;
                wrong.push(format!("{dialect}: {mutated:?}\n  {name} {arguments} holds a tag"));
            }
        }
        for call in got {
            if let Some(at) = said.iter().position(|it| *it == call) {
                said.remove(at);
            } else {
                share.wrong += 1;
                wrong.push(format!("{dialect}: {mutated:?}\n  {} {}", call.0, call.1));
            }
        }
    }
    for (dialect, Share { texts, right, wrong }) in &shares {
        let permille = right * 1000 / texts;
        let (percent, tenth) = (permille / 10, permille % 10);
        println!("{dialect:14} {texts:6} texts, {percent:2}.{tenth} % read right, {wrong} wrong");
    }
    assert!(wrong.is_empty(), "{}\n{} of {texts}", wrong.join("\n"), wrong.len());
}
