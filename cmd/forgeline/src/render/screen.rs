//! Styled lines.

use std::fmt::Write as _;

use owo_colors::Style;

use super::escape_controls;

/// The end of the shown text, and the text to append to it.
#[derive(Debug)]
pub(super) struct Screen {
    out: String,
    /// Line feeds at the end of the shown text; two at the start, where no empty line is wanted.
    line_feeds: usize,
    /// The style in force at the end of the shown text.
    style: Style,
}

impl Default for Screen {
    fn default() -> Self {
        Self { out: String::new(), line_feeds: 2, style: Style::new() }
    }
}

impl Screen {
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
                }
                self.line_feeds = 0;
                self.out.push_str(line);
            }
            if piece.len() > line.len() {
                self.line_feeds += 1;
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
            self.line_feeds = 1;
            self.out.push('\n');
        }
    }

    /// Ends the line and adds an empty one, unless one is there.
    pub(super) fn empty_line(&mut self) {
        self.end_line();
        if self.line_feeds == 1 {
            self.line_feeds = 2;
            self.out.push('\n');
        }
    }
}
