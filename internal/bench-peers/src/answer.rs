//! What a parser makes of an answer, and whether that is right.

use std::{collections::BTreeMap, hint::black_box};

use serde_json::Value;

/// Takes what a parser gives.
pub(crate) trait Sink {
    fn text(&mut self, text: &str);
    fn thinking(&mut self, text: &str);
    /// A piece of the call of this number: its name, a piece of the JSON of its arguments, or both.
    fn call(&mut self, number: usize, name: Option<&str>, arguments: &str);
    /// The parser said that something failed.
    fn failed(&mut self, why: &str);
}

/// Keeps nothing: for measuring.
#[derive(Debug)]
pub(crate) struct Nowhere;

impl Sink for Nowhere {
    #[inline]
    fn text(&mut self, text: &str) {
        black_box(text);
    }

    #[inline]
    fn thinking(&mut self, text: &str) {
        black_box(text);
    }

    #[inline]
    fn call(&mut self, number: usize, name: Option<&str>, arguments: &str) {
        black_box((number, name, arguments));
    }

    fn failed(&mut self, why: &str) {
        black_box(why);
    }
}

/// What an answer means.
#[derive(Debug, Default)]
pub(crate) struct Meaning {
    /// Stretches of text and of reasoning that neither begin nor end with a blank.
    pub(crate) text: Vec<String>,
    pub(crate) thinking: Vec<String>,
    pub(crate) calls: Vec<(&'static str, Value)>,
}

/// Keeps everything: for comparing.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    text: String,
    thinking: String,
    calls: BTreeMap<usize, KeptCall>,
    failure: Option<String>,
}

#[derive(Debug, Default)]
struct KeptCall {
    name: String,
    arguments: String,
    longest_piece: usize,
}

impl Sink for Kept {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn thinking(&mut self, text: &str) {
        self.thinking.push_str(text);
    }

    fn call(&mut self, number: usize, name: Option<&str>, arguments: &str) {
        let call = self.calls.entry(number).or_default();
        call.name.push_str(name.unwrap_or_default());
        call.arguments.push_str(arguments);
        call.longest_piece = call.longest_piece.max(arguments.len());
    }

    fn failed(&mut self, why: &str) {
        self.failure.get_or_insert_with(|| why.to_owned());
    }
}

/// How a stretch of text compares with what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stretch {
    Right,
    /// Shorter than it should be.
    Lost,
    /// Longer than it should be: markers, or something that belongs elsewhere.
    Extra,
    Different,
}

/// What was right and wrong in all answers of a workload.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    answers: usize,
    calls_due: usize,
    calls_given: usize,
    calls_right: usize,
    pieces: usize,
    whole: usize,
    wrong: BTreeMap<&'static str, usize>,
    failure: Option<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, kept: &Kept, meaning: &Meaning) {
        self.answers += 1;
        self.calls_due += meaning.calls.len();
        self.calls_given += kept.calls.len();
        for (call, (name, arguments)) in kept.calls.values().zip(&meaning.calls) {
            let given: Option<Value> = serde_json::from_str(&call.arguments).ok();
            self.calls_right +=
                usize::from(call.name == *name && given.as_ref() == Some(arguments));
        }
        for call in kept.calls.values().filter(|call| !call.arguments.is_empty()) {
            let is_whole = call.longest_piece * 2 > call.arguments.len();
            *(if is_whole { &mut self.whole } else { &mut self.pieces }) += 1;
        }
        let text = match compare(&kept.text, &meaning.text) {
            Stretch::Right => None,
            Stretch::Lost => Some("text lost"),
            Stretch::Extra => Some("other things in the text"),
            Stretch::Different => Some("text differs"),
        };
        let thinking = match compare(&kept.thinking, &meaning.thinking) {
            Stretch::Right => None,
            Stretch::Lost => Some("thinking lost"),
            Stretch::Extra => Some("other things in the thinking"),
            Stretch::Different => Some("thinking differs"),
        };
        for wrong in [text, thinking].into_iter().flatten() {
            *self.wrong.entry(wrong).or_default() += 1;
        }
        if self.failure.is_none() {
            self.failure.clone_from(&kept.failure);
        }
    }

    /// What is wrong, in a few words; `None` when all is right.
    pub(crate) fn complaint(&self) -> Option<String> {
        let Self { answers, calls_due, calls_given, calls_right, .. } = self;
        let mut words = Vec::new();
        if calls_given != calls_due {
            words.push(format!("{calls_given} of {calls_due} calls"));
        }
        let wrong_calls = calls_given.min(calls_due) - calls_right;
        if wrong_calls > 0 {
            words.push(format!("{wrong_calls} of {calls_given} calls differ"));
        }
        words.extend(self.wrong.iter().map(|(what, times)| {
            if times == answers {
                (*what).to_owned()
            } else {
                format!("{what} in {times} of {answers}")
            }
        }));
        words.extend(self.failure.as_ref().map(|why| format!("says: {}", first_words(why))));
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Whether arguments come while they are written, or in one piece; empty without calls.
    pub(crate) fn arguments(&self) -> &'static str {
        match (self.pieces, self.whole) {
            (0, 0) => "",
            (_, 0) => "stream",
            (0, _) => "one piece",
            (..) => "some stream",
        }
    }
}

/// Compares apart from blanks at the edges of the stretches, which each parser treats as its own.
fn compare(given: &str, due: &[String]) -> Stretch {
    let mut rest = given;
    let is_right = due.iter().all(|stretch| {
        rest.trim_start().strip_prefix(stretch.as_str()).is_some_and(|tail| {
            rest = tail;
            true
        })
    });
    if is_right && rest.trim().is_empty() {
        return Stretch::Right;
    }
    let solid = |text: &str| text.split_whitespace().map(str::len).sum::<usize>();
    let due: usize = due.iter().map(|stretch| solid(stretch)).sum();
    match solid(given).cmp(&due) {
        std::cmp::Ordering::Less => Stretch::Lost,
        std::cmp::Ordering::Greater => Stretch::Extra,
        std::cmp::Ordering::Equal => Stretch::Different,
    }
}

/// The beginning of a message, on one line.
fn first_words(text: &str) -> String {
    text.split_whitespace().take(8).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(give: impl FnOnce(&mut Kept)) -> Tally {
        let meaning = Meaning {
            text: vec!["Let me see.".into(), "Done.".into()],
            thinking: vec!["A plan".into()],
            calls: vec![("add", serde_json::json!({"a": 1, "b": "two"}))],
        };
        let (mut kept, mut tally) = (Kept::default(), Tally::default());
        give(&mut kept);
        tally.add(&kept, &meaning);
        tally
    }

    #[test]
    fn what_is_right_passes_whatever_the_blanks_and_the_order_of_keys() {
        let tally = tally(|kept| {
            kept.thinking("\nA plan\n");
            kept.text("\n\nLet me see.\n");
            kept.call(0, Some("add"), "");
            kept.call(0, None, r#"{"b": "tw"#);
            kept.call(0, None, r#"o", "a": 1}"#);
            kept.text("Done.");
        });
        assert_eq!(tally.complaint(), None);
        assert_eq!(tally.arguments(), "one piece");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let tally = tally(|kept| {
            kept.text("Let me see.<tool>");
            kept.call(0, Some("add"), r#"{"a": 2}"#);
            kept.call(1, Some("add"), "{}");
        });
        let complaint = tally.complaint().unwrap_or_default();
        assert_eq!(
            complaint,
            "2 of 1 calls, 1 of 2 calls differ, other things in the text, thinking lost"
        );
    }

    #[test]
    fn blanks_inside_a_stretch_count() {
        assert_eq!(compare("Let  me", &["Let me".into()]), Stretch::Different);
        assert_eq!(compare("Let", &["Let me".into()]), Stretch::Lost);
    }
}
