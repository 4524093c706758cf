//! Patterns of model names.

/// Letters that make a number a size or a count if they follow it directly: `8b`, `128k`, `8x7b`.
const UNITS: [&str; 6] = ["b", "m", "k", "t", "x", "bit"];

/// The word of a pattern that stands for any number after a dot.
const ANY_NUMBER: &str = "x";

/// Returns `true` if `id` contains `pattern`; both are in lower case.
pub(super) fn fits(pattern: &str, id: &str) -> bool {
    locate(pattern, id).is_some()
}

/// Returns the text of `id` before and after the first match of `pattern`; both are in lower case.
///
/// Every part of the pattern is searched for once, after the part before it, so this takes linear time.
pub fn locate<'a>(pattern: &str, id: &'a str) -> Option<(&'a str, &'a str)> {
    let mut words = PatternWords::new(id);
    let mut parts = pattern.split('*');
    let found = skip_past(parts.next()?, &mut words)?;
    for part in parts {
        skip_past(part, &mut words)?;
    }
    let start = found.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    Some((id.strip_suffix(start)?, words.rest))
}

/// Advances `words` past the first match of `part` and returns the text from there on.
fn skip_past<'a>(part: &str, words: &mut PatternWords<'a>) -> Option<&'a str> {
    loop {
        let mut here = words.clone();
        let begins = here.clone().next().is_some_and(|word| word.joint != WordJoint::None);
        if begins && take_word(part, &mut here) {
            let found = words.rest;
            *words = here;
            return Some(found);
        }
        words.next()?;
    }
}

/// Takes the words of `part` from the front of `words`; nothing that follows may belong to the last one.
fn take_word(part: &str, words: &mut PatternWords<'_>) -> bool {
    for wanted in PatternWords::new(part) {
        let Some(mut word) = words.next() else { return false };
        // Patterns may omit the v of a version: hy-v3, llama-v3p1.
        if word.text == "v" && wanted.is_number() && wanted.joint != WordJoint::Dot {
            let Some(number) = words.next() else { return false };
            word = number;
        }
        let is_any_number = wanted.text == ANY_NUMBER && wanted.joint == WordJoint::Dot;
        let fits_any = is_any_number && word.is_number() && word.joint == WordJoint::Dot;
        if !fits_any && (is_any_number || word.text != wanted.text) {
            return false;
        }
    }
    !words.goes_on()
}

/// The joint between a word and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordJoint {
    /// Letters next to digits.
    None,
    /// A dot, or the `p` of `v3p1`.
    Dot,
    /// Any other separator, or nothing before it.
    Gap,
}

#[derive(Debug, Clone, Copy)]
struct PatternWord<'a> {
    /// Only digits or only other letters.
    text: &'a str,
    joint: WordJoint,
}

impl PatternWord<'_> {
    fn is_number(&self) -> bool {
        self.text.starts_with(|letter: char| letter.is_ascii_digit())
    }
}

/// The words of an id or a pattern.
#[derive(Debug, Clone)]
struct PatternWords<'a> {
    rest: &'a str,
    before: PatternStart,
}

/// The word before the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternStart {
    Nothing,
    Letters,
    Number,
}

impl<'a> PatternWords<'a> {
    fn new(rest: &'a str) -> Self {
        Self { rest, before: PatternStart::Nothing }
    }

    /// Returns `true` if the following text belongs to the previous word: the digits of a name, the next part of a
    /// version, the unit of a size.
    fn goes_on(&self) -> bool {
        let Some(next) = self.clone().next() else { return false };
        match next.joint {
            WordJoint::Gap => false,
            WordJoint::Dot => self.before == PatternStart::Number && next.is_number(),
            WordJoint::None => next.is_number() || UNITS.contains(&next.text),
        }
    }
}

impl<'a> Iterator for PatternWords<'a> {
    type Item = PatternWord<'a>;

    fn next(&mut self) -> Option<PatternWord<'a>> {
        let (separator, rest) = self.rest.split_at(self.rest.find(char::is_alphanumeric)?);
        let mut joint = match separator {
            "" if self.before != PatternStart::Nothing => WordJoint::None,
            "." => WordJoint::Dot,
            _ => WordJoint::Gap,
        };
        let mut rest = rest;
        if let Some(after) = rest.strip_prefix('p')
            && joint == WordJoint::None
            && self.before == PatternStart::Number
            && after.starts_with(|letter: char| letter.is_ascii_digit())
        {
            (joint, rest) = (WordJoint::Dot, after);
        }
        let is_number = rest.starts_with(|letter: char| letter.is_ascii_digit());
        let ends = |letter: char| letter.is_ascii_digit() != is_number || !letter.is_alphanumeric();
        let (text, rest) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        *self = Self {
            rest,
            before: if is_number { PatternStart::Number } else { PatternStart::Letters },
        };
        Some(PatternWord { text, joint })
    }
}

#[cfg(test)]
mod tests {
    use super::{fits, locate};

    #[test]
    fn words_fit_whole_and_separators_do_not_matter() {
        #[rustfmt::skip]
        let cases = [
            ("any spelling",         "llama-3.1",  "llama3.1",            true),
            ("any spelling",         "llama-3.1",  "meta-llama_3_1-8b",   true),
            ("any spelling",         "llama-3.1",  "llama-v3p1-8b",       true),
            ("any spelling",         "gpt-oss",    "openai.gpt oss:20b",  true),
            ("v of a version",       "hy3",        "hy-v3",               true),
            ("v that is a word",     "kimi-vl",    "kimi-vl-a3b",         true),
            ("v of the packaging",   "r3.1",       "r3-v1:0",             false),
            ("v and nothing",        "hy3",        "hy-v",                false),
            ("whole numbers",        "qwen3",      "qwen30",              false),
            ("whole numbers",        "glm-4",      "glm-45",              false),
            ("whole words",          "ring",       "string-7b",           false),
            ("whole words",          "mistral",    "mistralai",           false),
            ("digits go on",         "command-r",  "command-r7b",         false),
            ("version goes on",      "glm-4",      "glm-4.5",             false),
            ("version goes on",      "qwen2",      "qwen2p5",             false),
            ("version ends",         "glm-4.5",    "glm-4.5-air",         true),
            ("version ends",         "glm-4.5",    "glm-4.5.gguf",        true),
            ("no size",              "qwen3.8",    "qwen3-8b",            false),
            ("no size",              "glm-4",      "glm-4bit",            false),
            ("a letter of its own",  "glm-4.5",    "glm-4.5v",            true),
            ("a letter of its own",  "gemma-3",    "gemma3n:e4b",         true),
            ("any number",           "qwen3.x",    "qwen3.12-a",          true),
            ("any number",           "qwen3.x",    "qwen3p7",             true),
            ("any number",           "qwen3.x",    "qwen3-7b",            false),
            ("any number",           "qwen3.x",    "qwen3-7",             false),
            ("any number",           "qwen3.x",    "qwen3.x",             false),
            ("any number",           "qwen3.x",    "qwen3-0.6b",          false),
            ("skips",                "a*c",        "a-b-c",               true),
            ("skips nothing",        "a*c",        "a-c",                 true),
            ("in order",             "a*c",        "c-a",                 false),
            ("begins with a word",   "b*c",        "a2b-c",               false),
            ("after another",        "r1",         "r2-r1",               true),
            ("other scripts",        "qwen3",      "通义-qwen3-千问",      true),
            ("other scripts",        "qwen3",      "通义qwen3",            false),
            ("nothing",              "qwen3",      "",                    false),
            ("only separators",      "qwen3",      "--.",                 false),
        ];
        for (name, pattern, id, want) in cases {
            assert_eq!(fits(pattern, id), want, "{name}: {pattern} in {id}");
        }
    }

    #[test]
    fn what_stands_around_the_place_is_told() {
        #[rustfmt::skip]
        let cases = [
            ("gpt-5",      "gpt-5",                     Some(("", ""))),
            ("gpt-5",      "gpt-5-2025-08-07",          Some(("", "-2025-08-07"))),
            ("claude-3",   "us.anthropic.claude-3-v1",  Some(("us.anthropic.", "-v1"))),
            ("a*c",        "x-a-b-c:d",                 Some(("x-", ":d"))),
            ("llama-3.1",  "--llama3.1",                Some(("--", ""))),
            ("gpt-5",      "gpt-50",                    None),
        ];
        for (pattern, id, want) in cases {
            assert_eq!(locate(pattern, id), want, "{pattern} in {id}");
        }
    }
}
