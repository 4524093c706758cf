//! The helper of the line editor: it knows whether the user searches the history, where Ctrl-C leaves
//! the search and not the chat, and whether a text goes on in a new line.

use std::{borrow::Cow, cell::RefCell};

use rustyline::{
    Helper,
    completion::Completer,
    highlight::{CmdKind, Highlighter},
    hint::Hinter,
    validate::{ValidationContext, ValidationResult, Validator},
};

/// Watches what the line editor draws: a search has a prompt of its own.
#[derive(Debug, Default)]
pub(super) struct SearchWatcher(RefCell<DrawnLine>);

/// What the line editor drew last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DrawnLine {
    /// `true` while the user searches.
    pub(super) searches: bool,
    /// The line that was drawn last with the usual prompt: the one before a search.
    pub(super) line: String,
}

impl SearchWatcher {
    /// Returns what was drawn last, and forgets it.
    pub(super) fn take(&mut self) -> DrawnLine {
        std::mem::take(self.0.get_mut())
    }
}

impl Highlighter for SearchWatcher {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(
        &'s self,
        prompt: &'p str,
        default: bool,
    ) -> Cow<'b, str> {
        self.0.borrow_mut().searches = !default;
        Cow::Borrowed(prompt)
    }

    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        let mut drawn = self.0.borrow_mut();
        if !drawn.searches {
            line.clone_into(&mut drawn.line);
        }
        Cow::Borrowed(line)
    }

    fn highlight_char(&self, _line: &str, _pos: usize, _kind: CmdKind) -> bool {
        // Every change is drawn whole, so that the line is known.
        true
    }
}

impl Completer for SearchWatcher {
    type Candidate = String;
}

impl Hinter for SearchWatcher {
    type Hint = String;
}

impl Validator for SearchWatcher {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = goes_on(context.input());
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

/// Returns `true` when a text ends with a backslash that no other one escapes: it goes on in a new line.
fn goes_on(text: &str) -> bool {
    text.chars().rev().take_while(|last| *last == '\\').count() % 2 == 1
}
impl Helper for SearchWatcher {}

#[cfg(test)]
mod tests {
    use super::*;

    // Found: F15
    #[test]
    fn a_backslash_at_the_end_asks_for_a_new_line() {
        for (text, want) in
            [("a\\", true), ("a", false), ("a\\\\", false), ("", false), ("\\", true)]
        {
            assert_eq!(goes_on(text), want, "{text}");
        }
    }

    // Found: F15
    #[test]
    fn a_search_is_known_by_its_prompt_and_gives_the_line_back() {
        let mut watcher = SearchWatcher::default();
        let draw = |watcher: &SearchWatcher, line: &str, default| {
            let _prompt = watcher.highlight_prompt("p", default);
            let _line = watcher.highlight(line, 0);
        };
        let drawn = |searches, line: &str| DrawnLine { searches, line: line.to_owned() };
        draw(&watcher, "half a li", true);
        assert_eq!(watcher.take(), drawn(false, "half a li"));
        draw(&watcher, "half a li", true);
        draw(&watcher, "an old line", false);
        assert_eq!(watcher.take(), drawn(true, "half a li"));
        assert_eq!(watcher.take(), DrawnLine::default(), "the search is over");
    }
}
