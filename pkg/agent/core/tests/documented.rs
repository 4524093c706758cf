//! Texts about calls, as documentation and chats have them: none of them runs.

use super::{
    families::{Family, families},
    harness::{Run, Setup},
    round_trips::{NOT_IN_AUTO, written},
};
use forgeline_parser::ToolDialect;

/// Random calls of each form; `DOCUMENTED` asks for more.
const TIMES: u64 = 5;
/// Sentences about two markers, which stand in place of `@` and `%`.
#[rustfmt::skip]
const SENTENCES: [&str; 24] = [
    "Wrap it in @ and % tags.",
    "The @ tag begins a call, % ends it.",
    "Between @ and % is JSON.",
    "Calls (@ … %) come last.",
    "Calls (@...%) come last.",
    "@/% it is",
    "Never write @; write % instead.",
    "- @: begins a call\n- %: ends it\n",
    "1. @ begins\n2. % ends\n",
    "| marker | meaning |\n|---|---|\n| @ | begins |\n| % | ends |\n",
    "> @ and %, so.\n",
    "<!-- @ and % -->\n<p>@</p>\n",
    "\"@\" and \"%\", '@' too.",
    "“@”, «%», **@**, _%_ .",
    "@ and\n% end it",
    "First @,\nthen text,\nthen %.",
    "What is @? % closes it!",
    "@.\n\nNo more %.",
    "@ = open; % = close;",
    "if (text == @) { return %; }",
    "fn next() -> Option<@> {\n    None\n}\n%.",
    "@{...}% it is",
    "@{{ call | tojson }}%, as a template",
    "@\n<your JSON>\n%.",
];

fn setup(family: Family, dialect: &ToolDialect) -> Setup {
    let mut setup = family.setup();
    setup.options = setup.options.tools(dialect.clone());
    setup
}

/// The family's own dialect, and `auto` where it reads the family.
fn dialects(family: Family) -> impl Iterator<Item = ToolDialect> {
    let auto = Some(ToolDialect::AUTO).filter(|_| !NOT_IN_AUTO.contains(&family.name));
    [family.dialect()].into_iter().chain(auto)
}

/// Special tokens are not typed: code does not hide them (R4).
fn is_special(marker: &str) -> bool {
    marker.contains(['|', '｜']) || marker.starts_with(']') || is_upper(marker)
}

fn is_upper(marker: &str) -> bool {
    marker.strip_prefix('[').is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The markers of the example in their order, with and without attributes.
fn markers(family: Family) -> Vec<String> {
    let example = family.example();
    let mut all: Vec<String> = Vec::new();
    for (at, _) in example.match_indices(['<', '[', ']']) {
        let tail = &example[at..];
        let minimax = "]<]minimax[>[";
        let from = if tail.starts_with(minimax) { minimax.len() } else { 0 };
        let Some(end) = tail[from..].find(['>', ']']).map(|end| from + end + 1) else { continue };
        let marker = &tail[..end];
        let is_inside = example[..at].ends_with(minimax) || example[..at].ends_with("]<]minimax[>");
        let is_other = marker.contains(['{', '(', '\n']) || tail.starts_with("[<");
        if marker.len() < 4 || is_inside || is_other {
            continue;
        }
        match marker.split_once([' ', '=']) {
            Some((name, _)) if !is_special(marker) => {
                all.extend([format!("{name}>"), marker.to_owned()]);
            }
            _ => all.push(marker.to_owned()),
        }
    }
    all.dedup();
    all
}

fn complete(run: &Run) -> usize {
    run.completion.tool_calls.iter().filter(|call| call.is_complete()).count()
}

/// Says what is wrong with what came of a text without a call.
fn unharmed(run: &Run, text: &str) -> Result<(), String> {
    if let Some(call) = run.completion.tool_calls.first() {
        return Err(format!("a call {:?}, {:?}", call.name, call.outcome));
    }
    if run.completion.text != text || !run.completion.thinking.is_empty() {
        return Err(format!("message {:?}", run.completion.text));
    }
    Ok(())
}

fn report(mut wrong: Vec<String>, count: usize) {
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

// Found: M
#[test]
fn a_sentence_about_markers_runs_nothing_and_loses_nothing() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for family in families().filter(|family| !family.is_bare()) {
        let all = markers(family);
        let pairs = all.iter().take(2).enumerate();
        for (a, b) in pairs.flat_map(|(at, a)| all[at..].iter().map(move |b| (a, b))) {
            for sentence in SENTENCES {
                let a = if sentence.contains("<@>") { a.trim_matches(['<', '>']) } else { a };
                let text = sentence.replace('%', b).replace('@', a);
                for dialect in dialects(family) {
                    let run = setup(family, &dialect).run_at_random_cuts(family.name, &text, 1);
                    count += 1;
                    let found = match is_special(a) || is_special(b) {
                        true if complete(&run) > 0 => Err("a call".to_owned()),
                        true => Ok(()),
                        false => unharmed(&run, &text),
                    };
                    if let Err(why) = found {
                        wrong.push(format!("{} by {dialect}: {why} of {text:?}", family.name));
                    }
                }
            }
        }
    }
    report(wrong, count);
}

/// Places where a call is shown, not made: the texts before and after it, in which `~` represents a fence.
#[rustfmt::skip]
const FENCED: [(&str, &str); 10] = [
    ("For example:\n\n~\n",                "\n~\n\nThat is all."),
    ("~json\n",                            "\n~"),
    ("~xml title=\"a call\"\n",            "\n~\nand so on"),
    ("1. Write\n\n   ~text\n",             "\n   ~\n2. Wait\n"),
    ("- Write\n  ~\nit is\n",              "\n  ~\n- Wait\n"),
    ("~\nHere: ",                          " and so on.\n~\n"),
    ("~\n<!-- ",                           " -->\n~\n"),
    ("Some ` tick.\n~\n",                  "\n~\n"),
    ("> Quoted:\n>\n> ~\n> ",              "\n> ~\n\nThat is all."),
    ("~\nfirst\n~\n\n~\n",                 "\n~~\nA word.\n"),
];
/// The same in a line: `#` represents the marks of a span.
#[rustfmt::skip]
const IN_LINE: [(&str, &str); 8] = [
    ("Write #",                      "# to call it."),
    ("#",                            "#"),
    ("- #",                          "#: a call\n- more\n"),
    ("| what | how |\n|---|---|\n| a call | #", "# |\n"),
    ("> As in #",                    "#.\n"),
    ("<!-- #",                       "# -->\n"),
    ("# heading with #x# and #",     "#\n"),
    ("(see #",                       "#), **bold** `x`"),
];

/// The longest row of this mark in a text.
fn longest(text: &str, mark: char) -> usize {
    text.split(|c| c != mark).map(str::len).max().unwrap_or_default()
}

/// Texts that show a call in code.
fn shown(call: &str) -> Vec<String> {
    let fences =
        ["`", "~"].map(|mark| mark.repeat(3.max(longest(call, '`').max(longest(call, '~')) + 1)));
    let in_fences = FENCED.iter().flat_map(|(before, behind)| {
        fences.iter().map(move |fence| {
            let call =
                if before.starts_with('>') { call.replace('\n', "\n> ") } else { call.to_owned() };
            [before.replace('~', fence), call, behind.replace('~', fence)].concat()
        })
    });
    let ticks = "`".repeat(longest(call, '`') + 1);
    let padded = if call.starts_with('`') || call.ends_with('`') {
        format!(" {call} ")
    } else {
        call.to_owned()
    };
    let in_line =
        IN_LINE.iter().filter(|_| !call.contains(['\n', '\r'])).map(|(before, behind)| {
            let first = usize::from(before.starts_with("# "));
            let (head, before) = before.split_at(first);
            [head, &before.replace('#', &ticks), &padded, &behind.replace('#', &ticks)].concat()
        });
    in_fences.chain(in_line).collect()
}

// Found: M
#[test]
fn a_call_that_is_shown_in_code_does_not_run() {
    let asked = std::env::var("DOCUMENTED").ok().and_then(|times| times.parse().ok());
    let (mut wrong, mut count) = (Vec::new(), 0);
    for seed in 0..asked.unwrap_or(TIMES) {
        for (family, call) in written(seed) {
            if call.contains("think") || call.contains('\r') {
                continue;
            }
            let opener = markers(family).into_iter().next().unwrap_or_default();
            let is_special = is_special(&opener);
            // A special token in a value counts in code: it may end the section, and the code with it.
            let has_token =
                ["<|", "｜", "◁", "[TOOL", "[THINK", "ifm|"].map(|it| call.contains(it));
            if !is_special && has_token.contains(&true) {
                continue;
            }
            for text in shown(&call) {
                // The marks of a quotation stand in a call that counts.
                if is_special && text.starts_with('>') {
                    continue;
                }
                for dialect in dialects(family) {
                    let run = setup(family, &dialect).run_at_random_cuts(family.name, &text, 1);
                    count += 1;
                    let found = match is_special {
                        true if complete(&run) == 0 => Err("no call of a special token".to_owned()),
                        true => Ok(()),
                        false => unharmed(&run, &text),
                    };
                    if let Err(why) = found {
                        wrong.push(format!("{} by {dialect}: {why} of {text:?}", family.name));
                    }
                }
            }
        }
    }
    report(wrong, count);
}
