//! Made-up answers of models, with what they mean: the same at every run.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::answer::Meaning;

/// A small generator of numbers (xorshift), so that the texts never change.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let at = usize::try_from(self.roll() >> 33).unwrap_or_default() % words.len();
        words.get(at).copied().unwrap_or_default()
    }
}

const WORDS: [&str; 32] = [
    " the", " stream", " ends", " when", " its", " reader", " goes", " away", ", and", " a",
    " café", " bounded", " queue", " holds", " eight", " events", ".", " So", " nothing", " is",
    " lost", "\n", " 日本", " word", " by", " token", " of", " each", " answer", " counts", ";",
    " then",
];

const CODE: [&str; 12] = [
    "a<b", " && ", "c<=d", " Vec<u8>", " x<<2", " <p>", "</p>", "<th", " if ", "<to", "n <m", "; ",
];

/// A part of an answer.
#[derive(Debug)]
pub(crate) enum Part {
    Thinking(String),
    Text(String),
    /// Calls that stand in one block, where the dialect has blocks.
    Calls(Vec<Call>),
}

/// A call of `write_file`.
#[derive(Debug)]
pub(crate) struct Call {
    content: String,
    line: u64,
}

impl Call {
    pub(crate) const NAME: &str = "write_file";

    pub(crate) fn arguments(&self) -> [(&'static str, Value); 3] {
        let Self { content, line } = self;
        [
            ("path", "notes/today.txt".into()),
            ("content", content.as_str().into()),
            ("line", (*line).into()),
        ]
    }

    pub(crate) fn arguments_json(&self) -> Value {
        Value::Object(
            self.arguments().into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        )
    }
}

/// The schema of [`Call::NAME`].
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "line": {"type": "integer"},
        },
        "required": ["path", "content"],
    })
}

/// How a family of models writes calls.
pub(crate) type Dialect = fn(&mut String, &[Call]);

/// What a model wrote, and what it means.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) written: String,
    pub(crate) meaning: Meaning,
}

/// Writes `parts` in `dialect`.
pub(crate) fn write(parts: Vec<Part>, dialect: Dialect) -> Answer {
    let (mut written, mut meaning) = (String::new(), Meaning::default());
    for part in parts {
        match part {
            Part::Thinking(text) => {
                write!(written, "<think>\n{text}\n</think>\n\n").unwrap_or_default();
                meaning.thinking.push(text);
            }
            Part::Text(text) => {
                written.push_str(&text);
                written.push('\n');
                meaning.text.push(text);
            }
            Part::Calls(calls) => {
                dialect(&mut written, &calls);
                let calls = calls.iter();
                meaning.calls.extend(calls.map(|call| (Call::NAME, call.arguments_json())));
            }
        }
    }
    Answer { written, meaning }
}

/// Prose that begins and ends with a word: blanks at the edges are the parsers' own business.
fn prose(dice: &mut Dice, bytes: usize) -> String {
    fill(dice, &WORDS, bytes)
}

fn fill(dice: &mut Dice, words: &[&str], bytes: usize) -> String {
    let mut text = String::from("So");
    while text.len() + 4 < bytes {
        text.push_str(dice.pick(words));
    }
    text.push_str(" end");
    text
}

fn call(dice: &mut Dice, bytes: usize) -> Call {
    Call { content: prose(dice, bytes), line: dice.roll() >> 40 }
}

/// Prose and nothing else.
pub(crate) fn plain(dice: &mut Dice, bytes: usize) -> Vec<Part> {
    vec![Part::Text(prose(dice, bytes))]
}

/// Text full of `<` that opens nothing.
pub(crate) fn angles(dice: &mut Dice, bytes: usize) -> Vec<Part> {
    vec![Part::Text(fill(dice, &CODE, bytes))]
}

/// Half reasoning, half answer.
pub(crate) fn thinking(dice: &mut Dice, bytes: usize) -> Vec<Part> {
    vec![Part::Thinking(prose(dice, bytes / 2)), Part::Text(prose(dice, bytes / 2))]
}

/// A sentence, then one call that fills the answer and ends it.
pub(crate) fn one_call(dice: &mut Dice, bytes: usize) -> Vec<Part> {
    vec![
        Part::Text(prose(dice, 64)),
        Part::Calls(vec![call(dice, bytes.saturating_sub(256).max(64))]),
    ]
}

/// Half reasoning, then a sentence and a call.
pub(crate) fn thinking_and_call(dice: &mut Dice, bytes: usize) -> Vec<Part> {
    let mut parts = vec![Part::Thinking(prose(dice, bytes / 2))];
    parts.extend(one_call(dice, bytes / 2));
    parts
}

/// Calls of about a KiB, a sentence before, between and after them.
pub(crate) fn calls_between_text(dice: &mut Dice, bytes: usize) -> Vec<Part> {
    let mut parts = vec![Part::Text(prose(dice, 64))];
    for _ in 0..bytes / 1280 {
        parts.push(Part::Calls(vec![call(dice, 1024)]));
        parts.push(Part::Text(prose(dice, 64)));
    }
    parts
}

/// A sentence, then three calls in one block.
pub(crate) fn block_of_calls(dice: &mut Dice, bytes: usize) -> Vec<Part> {
    let calls = (0..3).map(|_| call(dice, bytes.saturating_sub(600) / 3)).collect();
    vec![Part::Text(prose(dice, 64)), Part::Calls(calls)]
}

/// `text` in pieces of at most `bytes` bytes that end where a character does.
pub(crate) fn cut(text: &str, bytes: usize) -> Vec<&str> {
    let mut pieces = Vec::with_capacity(text.len() / bytes + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(rest.floor_char_boundary(bytes));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}
