//! Styled lines.

use std::fmt::Write as _;

use owo_colors::Style;

use super::escape_controls;

/// The end of the shown text, and the text to append to it.
#[derive(Debug)]
pub(super) struct ScreenText {
    out: String,
    /// Line feeds at the end of the shown text; two at the start, where no empty line is wanted.
    line_feeds: usize,
    /// The style in force at the end of the shown text.
    style: Style,
    /// The columns of the line that was begun.
    column: usize,
    /// The columns of a line; `None` where lines may have any length.
    width: Option<usize>,
}

/// Least columns of a line that is folded, whatever the terminal says of itself.
const MIN_WIDTH: usize = 20;

impl Default for ScreenText {
    fn default() -> Self {
        Self { out: String::new(), line_feeds: 2, style: Style::new(), column: 0, width: None }
    }
}

impl ScreenText {
    /// Returns a screen whose lines have at most n columns, but for what a model says.
    pub(super) fn of_width(width: Option<usize>) -> Self {
        Self { width: width.map(|width| width.max(MIN_WIDTH)), ..Self::default() }
    }

    /// Appends text as [`text`](Self::text) does, in lines that are not too long: words that do not fit begin the next one,
    /// behind `indent`, and words that fit in no line are parted.
    pub(super) fn folded(&mut self, text: &str, indent: &str, style: Style) {
        let Some(width) = self.width else { return self.text(text, indent, style) };
        // What is escaped is longer.
        for piece in escape_controls(text).split_inclusive(['\n', ' ']) {
            let (word, end) = match piece.strip_suffix(['\n', ' ']) {
                Some(word) => (word, if piece.ends_with('\n') { "\n" } else { " " }),
                None => (piece, ""),
            };
            self.word(word, (indent, width), style);
            if end == "\n" {
                self.text(end, "", style);
            } else if !end.is_empty() && self.column < width {
                self.text(end, indent, style);
            }
        }
    }

    /// Appends a word without a line feed.
    fn word(&mut self, word: &str, (indent, width): (&str, usize), style: Style) {
        let columns = columns(word);
        if self.column + columns > width && self.column > indent.len() && columns > 0 {
            let is_short = columns <= width.saturating_sub(indent.len());
            if is_short || self.column >= width {
                self.text("\n", "", style);
                self.line_feeds = 1;
            }
        }
        let mut rest = word;
        while !rest.is_empty() {
            let begun = if self.line_feeds > 0 { indent.len() } else { self.column };
            let room = width.saturating_sub(begun);
            let mut taken = 0;
            let fits = |(_, letter): &(usize, char)| {
                taken += columns_of(*letter);
                taken <= room
            };
            let end = rest.char_indices().take_while(fits).last();
            let end = end.map_or(0, |(at, letter)| at + letter.len_utf8());
            let (head, tail) = rest.split_at(end);
            self.text(head, indent, style);
            if tail.is_empty() {
                break;
            }
            self.text("\n", "", style);
            self.line_feeds = 1;
            rest = tail;
        }
    }

    /// Returns the text that was not taken yet.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Returns `true` when the next text starts a line and has no style yet.
    pub(super) fn is_at_line_start(&self) -> bool {
        self.line_feeds > 0 && self.style == Style::new()
    }

    /// Appends `text`, its control characters escaped, each line indented. The style goes on until text
    /// of another one or the end of the line, so that pieces of a text share one pair of codes.
    pub(super) fn text(&mut self, text: &str, indent: &str, style: Style) {
        for piece in escape_controls(text).split_inclusive('\n') {
            let line = piece.strip_suffix('\n').unwrap_or(piece);
            if !line.is_empty() {
                self.set_style(style);
                if self.line_feeds > 0 {
                    self.out.push_str(indent);
                    self.column = indent.len();
                }
                self.line_feeds = 0;
                self.out.push_str(line);
                if self.width.is_some() {
                    self.column += columns(line);
                }
            }
            if piece.len() > line.len() {
                self.line_feeds += 1;
                self.column = 0;
                self.out.push('\n');
            }
        }
    }

    fn set_style(&mut self, style: Style) {
        if self.style != style {
            // Writing to a string cannot fail.
            let _written =
                write!(self.out, "{}{}", self.style.suffix_formatter(), style.prefix_formatter());
            self.style = style;
        }
    }

    /// Ends a line that was begun, and the style.
    pub(super) fn end_line(&mut self) {
        self.set_style(Style::new());
        if self.line_feeds == 0 {
            (self.line_feeds, self.column) = (1, 0);
            self.out.push('\n');
        }
    }

    /// Ends the line and adds an empty one, unless one exists.
    pub(super) fn empty_line(&mut self) {
        self.end_line();
        if self.line_feeds == 1 {
            self.line_feeds = 2;
            self.out.push('\n');
        }
    }
}

/// Returns the columns that a text without controls takes.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Returns the columns of a letter: those of East Asia and pictures take two.
pub(super) fn columns_of(letter: char) -> usize {
    let is_wide = matches!(letter,
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}');
    if is_wide { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_folded_between_words_and_long_words_in_themselves() {
        let long = "x".repeat(50);
        #[rustfmt::skip]
        let cases = [
            ("one two three four five six", "one two three four \n  five six"),
            (long.as_str(),                 "xxxxxxxxxxxxxxxxxxxx\n  xxxxxxxxxxxxxxxxxx\n  xxxxxxxxxxxx"),
            ("ab\ncd",                      "ab\n  cd"),
            ("日本語日本語日本語日本語",    "日本語日本語日本語日\n  本語"),
            ("",                            ""),
        ];
        for (text, want) in cases {
            for size in [1, 2, 7, 100] {
                let mut screen = ScreenText::of_width(Some(20));
                // The first line has a beginning of its own.
                screen.text("", "", Style::new());
                screen.line_feeds = 0;
                let letters: Vec<_> = text.chars().collect();
                let whole = size == 100;
                for piece in letters.chunks(size) {
                    screen.folded(&piece.iter().collect::<String>(), "  ", Style::new());
                }
                let shown = screen.take();
                assert!(shown.lines().all(|line| columns(line) <= 20), "{shown:?}");
                assert!(!whole || shown == want, "{shown:?}");
                let joined: String = shown.split_whitespace().collect();
                let all: String = text.split_whitespace().collect();
                assert_eq!(joined, all, "nothing is lost");
            }
        }
        let mut screen = ScreenText::of_width(None);
        screen.folded(&long, "", Style::new());
        assert_eq!(screen.take(), long, "without a width nothing is folded");
    }
}
