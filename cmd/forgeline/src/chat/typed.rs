//! What is typed while an answer is given: it steers the run.

use std::{collections::VecDeque, mem};

use forgeline::agent::steering::Steering;

use super::command::ChatCommand;
use crate::{
    approve::{RequestHandles, UserPrompter},
    terminal::TypedLines,
};

/// Most lines that are read in one look, and most that wait for the end of an answer; others stay in
/// the terminal.
const MAX_LINES: usize = 64;

/// Reads from the terminal without a wait: `None` when no line has arrived, an empty piece at its end.
type Source = Box<dyn FnMut() -> Option<Vec<u8>>>;

/// The lines that are typed while an answer is given.
pub(super) struct TypedAhead {
    source: Source,
    /// A text that goes on in its next line.
    begun: Vec<u8>,
    /// What is served after the answer.
    later: VecDeque<String>,
    /// What was typed, for the history.
    heard: Vec<String>,
    /// `true` once the user has nothing more to say.
    has_ended: bool,
}

/// The text of a line, and how soon it is said.
#[derive(Debug, PartialEq, Eq)]
enum TypedMessage<'a> {
    /// After the calls under way.
    Soon(&'a str),
    /// At once.
    Now(&'a str),
    /// A command, which is not for the model.
    Command(&'a str),
    Nothing,
}

impl<'a> TypedMessage<'a> {
    fn parse(line: &'a str) -> Self {
        let line = line.trim();
        match line.strip_prefix('!').map(str::trim_start) {
            Some("") => Self::Nothing,
            Some(text) => Self::Now(text),
            None if line.is_empty() => Self::Nothing,
            None if ChatCommand::parse(line).is_some() => Self::Command(line),
            None => Self::Soon(line),
        }
    }
}

impl TypedAhead {
    /// Returns what hears the terminal.
    pub(super) fn at_terminal() -> Self {
        let mut lines = TypedLines::of_stdin();
        Self::new(Box::new(move || lines.take()))
    }

    /// Returns what hears nothing.
    pub(super) fn nowhere() -> Self {
        Self::new(Box::new(|| None))
    }

    fn new(source: Source) -> Self {
        let (later, heard) = (VecDeque::new(), Vec::new());
        Self { source, begun: Vec::new(), later, heard, has_ended: false }
    }

    /// Hands what was typed to the run, as an answer while it asks; returns the text to show.
    pub(super) fn listen(
        &mut self,
        steering: &Steering,
        ends: &RequestHandles,
        asking: &mut UserPrompter,
    ) -> Vec<String> {
        let mut shown: Vec<_> = asking.question(ends).into_iter().collect();
        shown.extend(self.read_lines(Some((steering, ends, asking))));
        if self.has_ended {
            asking.leave(ends);
        }
        shown
    }

    /// Reads what was typed at the very end of an answer: it comes next.
    pub(super) fn read_rest(&mut self) {
        self.read_lines(None);
    }

    fn read_lines(
        &mut self,
        mut run: Option<(&Steering, &RequestHandles, &mut UserPrompter)>,
    ) -> Vec<String> {
        let mut shown = Vec::new();
        for _ in self.later.len()..MAX_LINES {
            if self.has_ended {
                break;
            }
            let Some(piece) = (self.source)() else { break };
            self.has_ended = piece.is_empty();
            for line in self.lines(&piece) {
                shown.extend(match &mut run {
                    Some((_, ends, asking)) if asking.is_open(ends) => asking.answer(&line, ends),
                    Some((steering, ..)) => self.say(&line, Some(steering)),
                    None => self.say(&line, None),
                });
                self.heard.push(line);
            }
        }
        shown
    }

    fn say(&mut self, line: &str, steering: Option<&Steering>) -> Option<String> {
        let (text, said) = match TypedMessage::parse(line) {
            TypedMessage::Nothing => return None,
            TypedMessage::Soon(text) => {
                (text, steering.map(|steering| ("sent", steering.steer(text))))
            }
            TypedMessage::Now(text) => {
                (text, steering.map(|steering| ("sent at once", steering.steer_now(text))))
            }
            TypedMessage::Command(text) => (text, None),
        };
        if let Some((word, Ok(()))) = said {
            return Some(format!("({word}: {text})"));
        }
        // A command, or the run hears no more.
        self.later.push_back(text.to_owned());
        Some(format!("(next: {text})"))
    }

    /// Returns the lines that `piece` ends; one with a `\` at its end goes on in the next.
    fn lines(&mut self, piece: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for byte in piece {
            if !matches!(byte, b'\n' | b'\r') {
                self.begun.push(*byte);
            } else if let Some(last @ b'\\') = self.begun.last_mut() {
                *last = b'\n';
            } else {
                lines.push(self.begun());
            }
        }
        lines
    }

    fn begun(&mut self) -> String {
        String::from_utf8_lossy(&mem::take(&mut self.begun)).into_owned()
    }

    /// Takes back the messages that the run did not accept: they are asked next, or can be changed when the
    /// user stopped the answer.
    pub(super) fn hand_back(&mut self, texts: Vec<String>, was_stopped: bool) {
        if was_stopped {
            let begun = mem::take(&mut self.begun);
            self.begun = texts.join("\n").into_bytes();
            self.begun.extend(begun);
        } else {
            for text in texts.into_iter().rev() {
                self.later.push_front(text);
            }
        }
    }

    /// Takes the next line that is served after an answer.
    pub(super) fn next(&mut self) -> Option<String> {
        self.later.pop_front()
    }

    /// Takes the text that the user can go on with.
    pub(super) fn draft(&mut self) -> String {
        self.begun().replace('\n', "\\\n")
    }

    /// Takes what was typed.
    pub(super) fn heard(&mut self) -> Vec<String> {
        mem::take(&mut self.heard)
    }

    /// Returns `true` once the user has nothing more to say.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }
}

#[cfg(test)]
mod tests {
    use forgeline::{
        agent::Agent,
        testing::{ScriptedProvider, ScriptedTurn},
    };

    use super::*;

    fn typed(pieces: &[&str]) -> TypedAhead {
        let mut pieces: VecDeque<_> =
            pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect();
        TypedAhead::new(Box::new(move || pieces.pop_front()))
    }

    #[test]
    fn exclamation_mark_sends_at_once_and_commands_are_not_sent() {
        #[rustfmt::skip]
        let cases = [
            (" shorter ",       TypedMessage::Soon("shorter")),
            ("! stop that",     TypedMessage::Now("stop that")),
            ("!",               TypedMessage::Nothing),
            ("  ",              TypedMessage::Nothing),
            ("/clear",          TypedMessage::Command("/clear")),
            ("/etc/hosts, too", TypedMessage::Soon("/etc/hosts, too")),
        ];
        for (line, want) in cases {
            assert_eq!(TypedMessage::parse(line), want, "{line}");
        }
    }

    #[tokio::test]
    async fn lines_are_whole_however_they_come_and_what_is_not_said_comes_next() {
        let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hi")]);
        let mut stream = Agent::builder(provider).build().unwrap().run_stream("Hi");
        let (steering, ends) = (stream.steering(), RequestHandles::for_stream(&stream));
        let mut typed = typed(&["on", "e\rtwo\\\n", "lines\n/usage\n\n", "!now\nhalf"]);
        let want = ["(sent: one)", "(sent: two\nlines)", "(next: /usage)", "(sent at once: now)"];
        assert_eq!(typed.listen(&steering, &ends, &mut UserPrompter::default()), want);
        assert_eq!(typed.heard(), ["one", "two\nlines", "/usage", "", "!now"]);
        assert_eq!((typed.draft().as_str(), typed.next().as_deref()), ("half", Some("/usage")));
        assert!(!typed.has_ended());
        while stream.next().await.is_some() {}
        drop(stream);
    }

    #[tokio::test]
    async fn ended_run_takes_no_lines_and_the_terminal_keeps_them() {
        let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hi")]);
        let mut stream = Agent::builder(provider).build().unwrap().run_stream("Hi");
        let (steering, ends) = (stream.steering(), RequestHandles::for_stream(&stream));
        while stream.next().await.is_some() {}
        let lines = vec!["a\n"; 70];
        let mut typed = typed(&[&lines[..], &[""]].concat());
        assert_eq!(
            typed.listen(&steering, &ends, &mut UserPrompter::default()),
            vec!["(next: a)"; MAX_LINES]
        );
        typed.read_rest();
        assert!(
            typed.listen(&steering, &ends, &mut UserPrompter::default()).is_empty()
                && !typed.has_ended()
        );
        assert_eq!(typed.later.len(), MAX_LINES);
        for _ in 0..10 {
            assert_eq!(typed.next().as_deref(), Some("a"));
        }
        assert_eq!(typed.listen(&steering, &ends, &mut UserPrompter::default()).len(), 6);
        assert!(typed.has_ended(), "the end of the terminal is the end");
    }

    #[test]
    fn returned_lines_are_asked_next_or_can_be_edited() {
        let texts = || vec!["one".to_owned(), "two".to_owned()];
        let mut typed = typed(&[]);
        typed.later.push_back("/usage".to_owned());
        typed.hand_back(texts(), false);
        assert_eq!(typed.later, ["one", "two", "/usage"]);
        typed.lines(b" and half");
        typed.hand_back(texts(), true);
        assert_eq!((typed.draft().as_str(), typed.later.len()), ("one\\\ntwo and half", 3));
    }
}
